"""Read the table of URLs, and find the routes to which they lead."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from django.urls import Resolver404, ResolverMatch, URLPattern, URLResolver, get_resolver, resolve

from tests.security.crawl_table import GROUPS, Group
from tests.security.crawl_world import APP, ROLES

NOWHERE = "nowhere"


@dataclass(frozen=True)
class Row:
    """One URL, and the status that each role gets for GET and for POST."""

    address: str
    group: Group
    get: dict[str, int]
    post: dict[str, int]
    # Whether it is the first row of a line for several models or pages. Code that they share is only checked there.
    is_first: bool = True

    @property
    def route(self) -> str:
        """The pattern of the resolver to which the URL leads, NOWHERE if there is none."""
        try:
            return self.match.route
        except Resolver404:
            return NOWHERE

    @property
    def match(self) -> ResolverMatch:
        """The match of the URL, with any values for its words. Raises Resolver404."""
        return resolve(re.sub(r"\{\w+\}", "1", self.address))


def roles_of(columns: str) -> list[list[str]]:
    """Return the roles of each column."""
    named = columns.split()
    rest = [role for role in ROLES if role not in named]
    return [rest if name in ("others", "everyone") else [name] for name in named]


def rows_of(group: Group) -> Iterator[Row]:
    """Yield the rows of a group, with one row for each of its models."""
    columns = roles_of(group.columns)
    assert {role for roles in columns for role in roles} - {APP} == set(ROLES), group.title
    for line in group.rows.strip().splitlines():
        address, statuses = line.split(maxsplit=1)
        get, post = ([int(status) for status in cells.split()] for cells in statuses.split("|"))
        assert len(get) == len(post) == len(columns), line
        for place, model in enumerate(group.models.split() if "*" in address else [""]):
            by_role = _by_role(columns, get), _by_role(columns, post)
            yield Row(address.replace("*", model), group, *by_role, is_first=place == 0)


def _by_role(columns: list[list[str]], statuses: list[int]) -> dict[str, int]:
    return {role: status for roles, status in zip(columns, statuses, strict=True) for role in roles}


ROWS = [row for group in GROUPS for row in rows_of(group)]
# The rows of the console, by the names of their routes.
CONSOLE = {str(row.match.url_name): row for row in ROWS if row.address.startswith("/console/")}


def routes(patterns: "list[URLPattern | URLResolver] | None" = None, outer: str = "") -> Iterator[str]:
    """Yield every pattern of the resolver, in the form of `ResolverMatch.route`."""
    for pattern in get_resolver().url_patterns if patterns is None else patterns:
        spelled = str(pattern.pattern)
        route = outer + (spelled.removeprefix("^") if outer else spelled)
        if isinstance(pattern, URLResolver):
            yield from routes(pattern.url_patterns, route)
        else:
            yield route
