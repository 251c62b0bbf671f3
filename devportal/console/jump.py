"""The console's jump box, which searches a person's projects, their contents and pages, and the docs."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.db.models import Case, CharField, ExpressionWrapper, F, IntegerField, Q, QuerySet, Value, When
from django.db.models.expressions import Combinable
from django.db.models.functions import Cast
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse

from accounts.models import Account
from accounts.sessions.authentication import account_of
from api.models import ApiKey, RequestLog
from devportal.console.models import SignInEvent
from devportal.console.navigation import (
    CLIENT_PAGES,
    CONSOLE_PAGES,
    PROJECT_PAGES,
    Page,
    console_page,
    render_page,
)
from devportal.docs.search import clean, docs_index, query_words, words_of
from oidc.models import Client, Project, ProjectDomain, ProjectMember
from oidc.projects.roles import Role, is_at_least

# The maximum number of rows of each kind: first the current ones, then those whose names match most of the query, then
# the newest.
MOST_PROJECTS = 50
MOST_CLIENTS = 100
MOST_CONTENTS = 50  # keys, members and domains
MOST_RESULTS = 12
LEAST_NAMED = 6  # results for names that contain the query, if there are as many, even if many pages match better
MOST_ENTRIES = 3  # of each log, for one request id
MOST_PARTS = 8
# With this few projects and clients, all their pages are searched even if the query names none of them.
FEW = 2
# The format of ids, including request ids chosen by a proxy.
_ID = re.compile(r"[A-Za-z0-9._-]{8,64}")
# Added to the score of the current client, of the current project, and of what the current project contains. The
# difference between a whole word and the beginning of one is greater.
_NEAREST, _NEAR, _NEARBY = 1.2, 1.0, 0.8
# Added to the score of a name that is exactly the query.
_EXACT = 3
# Only apps on a server have secrets.
_PAGES_WITHOUT_SECRETS = tuple(page for page in CLIENT_PAGES if "secret" not in page.label.casefold())
# Subtracted from the score of pages that the query does not name, so that everything that it names comes first.
_EXTRA = 100


@dataclass(frozen=True)
class Here:
    """The ids of the project and client whose page the person is on, as sent by the browser, or empty.

    They only change the order of results, so they may be any text.
    """

    project: str = ""
    client: str = ""

    @property
    def parameters(self) -> dict[str, str]:
        """The ids as parameters of the jump page."""
        return {name: value for name, value in (("project", self.project), ("client", self.client)) if value}


@dataclass(frozen=True)
class Query:
    """A query: its text, its parts as typed, and its words in the form in which the docs compare them."""

    text: str
    parts: tuple[str, ...]
    words: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> "Query":
        """Return the query of a text."""
        folded = text.casefold()
        return cls(folded, tuple(dict.fromkeys(folded.split()))[:MOST_PARTS], tuple(query_words(text)))


@dataclass(frozen=True)
class Target:
    """A result of the jump box: a page, and the project or client that it belongs to."""

    title: str
    of: str
    address: str


@dataclass(frozen=True)
class _Scored:
    """A result with its score, and whether it is the main page of something whose name contains the query."""

    score: float
    target: Target
    is_named: bool


@dataclass(frozen=True)
class _Thing:
    """A project, a client, or something else with a name: its pages, the main one first, and the person's role.

    `near` is what is added to the score of its pages because the person is there.
    """

    name: str
    kind: str
    pages: tuple[Page, ...]
    arguments: tuple[str, ...]
    role: str
    of: str = ""
    identifier: str = ""
    near: float = 0

    def score(self, word: str) -> float:
        """Return how well a word matches the name, the beginning of the id, or (half as much) the project's name."""
        starts = bool(self.identifier) and self.identifier.casefold().startswith(word)
        return max(_score(word, self.name, 1), _score(word, self.of, 1) / 2, 2 * starts)

    def is_named_by(self, query: Query) -> bool:
        """Return whether the name contains each part of the query, as typed."""
        name = self.name.casefold()
        return all(part in name for part in query.parts)


def find_targets(account: Account, text: str, here: Here | None = None) -> list[Target]:
    """Return pages of the person's projects and what they contain that match every word of a query, best first.

    A name that contains the letters of the query always matches. Takes three statements, however many projects there
    are. Without a query: the current project and client, then the newest projects and clients.
    """
    here = here or Here()
    query = Query.parse(text)
    things = [*_projects(account, query, here), *_clients(account, query, here)]
    if not query.parts:
        things.sort(key=lambda thing: -thing.near)
        return [_target(thing, thing.pages[0]) for thing in things][:MOST_RESULTS]
    named = sum(all(map(thing.score, query.words)) for thing in things)
    things.append(_Thing("Console", "All your projects", CONSOLE_PAGES, (), Role.VIEWER))
    scored = [
        _Scored(score, _target(thing, page), page == thing.pages[0] and thing.is_named_by(query))
        for thing in things
        for score, page in _fitting(query, thing, with_all=named <= FEW)
        if is_at_least(thing.role, page.role)
    ]
    return _best([*scored, *_contents(account, query, here)])


def _best(scored: Sequence["_Scored"]) -> list[Target]:
    """Return the best results. Of several with one URL, the best one is listed."""
    ordered = sorted(scored, key=lambda one: -one.score)  # stable sort: newer ones stay first
    by_url = {one.target.address: one for one in reversed(ordered)}
    found = [one for one in ordered if by_url[one.target.address] is one]
    shown, rest = found[:MOST_RESULTS], found[MOST_RESULTS:]
    missing = max(LEAST_NAMED - sum(one.is_named for one in shown), 0)
    named = [one for one in rest if one.is_named][:missing]
    while len(shown) + len(named) > MOST_RESULTS:
        shown.remove(next(one for one in reversed(shown) if not one.is_named))
    return [one.target for one in (*shown, *named)]


def _projects(account: Account, query: Query, here: Here) -> list[_Thing]:
    live = ProjectMember.objects.filter(account=account, project__deleted_at=None).select_related("project")
    current = Q(project__public_id=here.project)
    match = _match(query, "project__name", identifier="project__public_id", current=current)
    return [
        _Thing(
            name=row.project.name,
            kind="Project",
            pages=PROJECT_PAGES,
            arguments=(row.project.public_id,),
            role=row.role,
            identifier=row.project.public_id,
            near=_NEAR if row.project.public_id == here.project else 0,
        )
        for row in live.order_by(match.desc(), "-pk")[:MOST_PROJECTS]
    ]


def _clients(account: Account, query: Query, here: Here) -> list[_Thing]:
    own = (
        Client.objects.filter(project__members__account=account, project__deleted_at=None)
        .annotate(role=F("project__members__role"))
        .select_related("project")
    )
    match = _match(query, "name", "project__name", identifier="client_id", current=Q(client_id=here.client))
    return [
        _Thing(
            name=row.name,
            kind=f"App in {row.project.name}",
            pages=CLIENT_PAGES if row.has_secret else _PAGES_WITHOUT_SECRETS,
            arguments=(row.project.public_id, row.client_id),
            role=row.role,
            of=row.project.name,
            identifier=row.client_id,
            near=_nearness(row.project.public_id, here, _NEAREST if row.client_id == here.client else _NEARBY),
        )
        for row in own.order_by(match.desc(), "-pk")[:MOST_CLIENTS]
    ]


def _nearness(project_id: str, here: Here, near: float) -> float:
    return near if project_id == here.project else 0


def _match(
    query: Query, *columns: str, identifier: str = "", current: Q | None = None
) -> "ExpressionWrapper[Combinable]":
    """Return an expression by which rows are ordered: the number of matching words in the names.

    Whole words count more than parts, a name with all parts of the query more than others, and the current row most.
    `columns` are the name and other names that count, such as the one of the project.
    Ids match only from their beginning, because most ids contain the letters of a short word somewhere.
    """
    held: Combinable = Value(0)
    if current is not None:
        held = _points(current, 1000)
    if query.parts:
        whole_name = r"\s+".join(map(_pattern, query.parts))
        held = held + _points(_any_of(columns[:1], f"^{whole_name}$"), 200)
        held = held + _points(_all_parts(query, columns[:1]), 100) + _points(_all_parts(query, columns), 50)
    for word in dict.fromkeys((*query.parts, *query.words)):
        whole = _any_of(columns, rf"(^|\W){_pattern(word)}(\W|$)")
        within = _any_of(columns, _pattern(word))
        if identifier:
            within |= Q((f"{identifier}__istartswith", word))
        held = held + Case(When(whole, then=2), When(within, then=1), default=0, output_field=IntegerField())
    return ExpressionWrapper(held, output_field=IntegerField())


def _pattern(text: str) -> str:
    """Return a regular expression for a text in any case.

    `icontains` on SQLite and `iregex` on PostgreSQL with the locale C ignore the case of ASCII letters only.
    """
    return "".join(
        f"[{letter}{letter.upper()}]" if letter > "\x7f" and len(letter.upper()) == 1 else re.escape(letter)
        for letter in text
    )


def _points(condition: Q, points: int) -> Case:
    return Case(When(condition, then=points), default=0, output_field=IntegerField())


def _all_parts(query: Query, columns: Sequence[str]) -> Q:
    return Q(*(_any_of(columns, _pattern(part)) for part in query.parts))


def _any_of(columns: Sequence[str], pattern: str) -> Q:
    return Q(*((f"{column}__iregex", pattern) for column in columns), _connector=Q.OR)


def _fitting(query: Query, thing: _Thing, *, with_all: bool) -> Iterator[tuple[float, Page]]:
    """Yield the matching pages with their scores. Each word must match the page, its client or its project.

    If the name contains the query's letters, the main page matches in any case.
    """
    is_named = thing.is_named_by(query)
    of_thing = [2 * thing.score(word) for word in query.words]
    for place, page in enumerate(thing.pages):
        of_page = [max(2 * _score(word, page.label), _score(word, page.search_words)) for word in query.words]
        best = [max(pair) for pair in zip(of_thing, of_page, strict=True)]
        is_main = place == 0
        is_meant = any(of_page) or (is_main and bool(best))
        is_extra = not is_meant and with_all and page.in_menu and any(of_thing) and all(of_thing)
        if (all(best) and (is_meant or is_extra)) or (is_main and is_named):
            bonus = thing.near - place / 100 - _EXTRA * is_extra
            if is_main:
                bonus += 0.5 + _EXACT * (thing.name.casefold() == query.text)
            yield sum(max(one, is_named) for one in best) + sum(of_thing) / 10 + bonus, page


def _score(word: str, text: str, shortest_part: int = 3) -> float:
    """Return how well a word matches a text: as a whole word, as a prefix, anywhere, or not at all (0).

    Only words with `shortest_part` letters or more match anywhere.
    """
    forms = words_of(text)
    if word in forms:
        return 3
    if any(form.startswith(word) for form in forms):
        return 2
    return 1 if len(word) >= shortest_part and word in text.casefold() else 0


def _target(thing: _Thing, page: Page) -> Target:
    title = thing.name if page == thing.pages[0] else f"{thing.name}: {page.label}"
    return Target(title, thing.kind, page.url(thing.arguments))


# --- API keys, members and domains ---

# The page of each kind, and the text below a result.
_PAGE_OF = {page.url_name: page for page in PROJECT_PAGES if page.in_menu}
_KINDS = {
    "keys": "API key in {project}",
    "members": "Member of {project}",
    "domains": "Domain of {project}",
}


def _contents(account: Account, query: Query, here: Here) -> list[_Scored]:
    """Return the API keys, members and domains whose names match, with their scores. Takes one statement."""
    rows = [
        _named_rows(ApiKey.objects.all(), account, query, here, kind="keys", name="name", identifier="public_id"),
        _named_rows(ProjectMember.objects.all(), account, query, here, kind="members", name="account__email"),
        _named_rows(ProjectDomain.objects.all(), account, query, here, kind="domains", name="name"),
    ]
    found = rows[0].union(*rows[1:], all=True).order_by("-match", "-row")[:MOST_CONTENTS]
    scored = []
    for kind, name, project, project_id, identifier, _, _ in found:
        thing = _Thing(
            name=name,
            kind=_KINDS[kind].format(project=project),
            pages=(_PAGE_OF[kind],),
            arguments=(project_id,),
            role=Role.VIEWER,
            of=project,
            identifier=identifier,
            near=_nearness(project_id, here, _NEARBY),
        )
        # Lists of keys can be filtered by id.
        chosen = f"?{urlencode({'q': identifier})}" if identifier else ""
        target = Target(name, thing.kind, thing.pages[0].url(thing.arguments) + chosen)
        if _is_meant(query, thing):
            is_named = thing.is_named_by(query)
            scored += [_Scored(score, target, is_named) for score, _ in _fitting(query, thing, with_all=False)]
    return scored


def _is_meant(query: Query, thing: _Thing) -> bool:
    """Return whether a word of the query matches the name or id, and not only the kind or the project."""
    starts = bool(thing.identifier) and thing.identifier.casefold().startswith(query.parts[0])
    return starts or thing.is_named_by(query) or any(_score(word, thing.name, 1) for word in query.words)


def _named_rows(
    table: "QuerySet[Any, Any]",
    account: Account,
    query: Query,
    here: Here,
    *,
    kind: str,
    name: str,
    identifier: str = "",
) -> "QuerySet[Any, Any]":
    """Return rows of the person's projects with a matching name, as tuples that can be combined in a union."""
    words = dict.fromkeys((*query.parts, *query.words))
    wanted = Q(*(_any_of([name], _pattern(word)) for word in words), _connector=Q.OR)
    if identifier:
        wanted |= Q((f"{identifier}__istartswith", query.parts[0]))
    current = Q(project__public_id=here.project)
    rows: QuerySet[Any, Any] = (
        table.filter(wanted, project__members__account=account, project__deleted_at=None)
        .order_by()
        .annotate(
            kind=Value(kind, output_field=CharField()),
            label=Cast(name, CharField()),
            of=F("project__name"),
            of_id=F("project__public_id"),
            mark=Cast(identifier, CharField()) if identifier else Value("", output_field=CharField()),
            match=_match(query, name, "project__name", identifier=identifier, current=current),
            row=F("pk"),
        )
        .values_list("kind", "label", "of", "of_id", "mark", "match", "row")
    )
    return rows


# --- Pasted ids ---


def entries(account: Account, query: str) -> list[Target]:
    """Return the results for an id within the person's projects: a client, a project, or log entries.

    Takes at most four statements. Request ids are found in the logs by an index.
    """
    if not _ID.fullmatch(query):
        return []
    mine = Q(project__members__account=account, project__deleted_at=None)
    client = Client.objects.filter(mine, client_id=query).select_related("project").first()
    if client:
        return [_entry(client.name, client.project.name, "client_settings", client.project.public_id, query)]
    project = Project.objects.filter(members__account=account, deleted_at=None, public_id=query).first()
    if project:
        return [_entry(project.name, "Project", "project", project.public_id)]
    return [*_sign_ins(account, query), *_requests(account, query)]


def _sign_ins(account: Account, request_id: str) -> list[Target]:
    rows = SignInEvent.objects.filter(
        request_id=request_id, client__project__members__account=account, client__project__deleted_at=None
    )
    columns = ("client__name", "client__project__name", "client__project__public_id", "client__client_id")
    return [
        _entry(f"{name}: sign-in {request_id}", of, "sign_ins", *ids, request_id=request_id)
        for name, of, *ids in rows.order_by().values_list(*columns).distinct()[:MOST_ENTRIES]
    ]


def _requests(account: Account, request_id: str) -> list[Target]:
    rows = RequestLog.objects.filter(request_id=request_id, project__members__account=account, project__deleted_at=None)
    return [
        _entry(f"Request {request_id}", name, "requests", public_id, request_id=request_id)
        for name, public_id in rows.order_by()
        .values_list("project__name", "project__public_id")
        .distinct()[:MOST_ENTRIES]
    ]


def _entry(title: str, of: str, url_name: str, *arguments: str, **query: str) -> Target:
    return Target(title, of, reverse(f"console:{url_name}", args=arguments, query=query or None))


MOST_DOCS = 6


@console_page()
def jump_page(request: HttpRequest) -> HttpResponse:
    """GET /console/jump?q=…&project=…&client=…: pages of the person's projects and of the docs.

    A known id redirects to its page. `project` and `client` say where the person is. With `list`, the response contains
    only the results, as options of a listbox.
    """
    query = clean(request.GET.get("q", ""))
    here = Here(clean(request.GET.get("project", "")), clean(request.GET.get("client", "")))
    account = account_of(request)
    found = entries(account, query)
    as_list = "list" in request.GET
    if len(found) == 1 and not as_list:
        return HttpResponseRedirect(found[0].address)
    docs = docs_index().search(query, MOST_DOCS) if query else []
    groups = {
        "By its id": found,
        "Console": [] if found else find_targets(account, query, here),
        "Docs": [Target(one.title, one.page, one.address) for one in docs if not found],
    }
    shown = {title: targets for title, targets in groups.items() if targets}
    if as_list:
        return render(request, "console/partials/jump_options.html", {"groups": shown})
    return render_page(request, "console/jump.html", query=query, groups=shown, here=here.parameters)
