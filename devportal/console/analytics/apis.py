"""Analytics by API: in how many sign-ins scopes of each API were granted, and how many requests each API got.

Sign-ins are read from the sign-in log when a page is opened, so they cost a sign-in nothing. That is why they reach
back only as far as the log, and are limited to its newest entries.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from api import usage_counts
from devportal.console.analytics.report import AnalyticsQuery
from devportal.console.export import Columns
from devportal.console.fixes import project_page
from devportal.console.logs.links import request_log
from devportal.console.models import SignInEvent
from devportal.console.usage import TIME_RANGES, UsageQuery, format_percent
from oidc.apis.registry import ApiSnapshot, current_registry
from oidc.models import Client, Project, TokenFamily
from oidc.sign_in_log.steps import Step

MOST_SIGN_INS = 1000  # the newest sign-ins that are read


@dataclass(frozen=True)
class GrantedScopes:
    """The granted scopes of each sign-in that was read. `is_bounded`: there may be older ones that were not read."""

    of_sign_ins: list[str]
    is_bounded: bool

    def __len__(self) -> int:
        return len(self.of_sign_ins)


@dataclass(frozen=True)
class ApiRow:
    """The figures of one API. `of` is the number of sign-ins that were read.

    The URLs are those of its requests, in the request log and on the usage page, or "" if there are none.
    """

    api: ApiSnapshot
    sign_ins: int
    of: int
    calls: int
    log_url: str
    usage_url: str

    @property
    def share(self) -> str:
        return format_percent(self.sign_ins, self.of)


@dataclass(frozen=True)
class ApiReport:
    """The APIs that are turned on. `usage_words` is the time range of the linked usage page.

    `is_bounded`: there may be more sign-ins in the period than the `sign_ins` that were read.
    """

    rows: list[ApiRow]
    sign_ins: int
    is_bounded: bool
    usage_words: str

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to show."""
        return not any(row.sign_ins or row.calls for row in self.rows)


def api_report(
    project: Project, query: AnalyticsQuery, clients: Sequence[int], client: Client | None = None
) -> ApiReport | None:
    """Return the figures by API of a client, or of a project and all its `clients`, given by primary key.

    Takes three statements. Returns None without a statement if the API at `/v1` is the only one that is turned on.
    """
    apis = [api for api in current_registry().apis.values() if api.enabled]
    if len(apis) == 1:
        return None
    since, until = query.bounds
    granted = granted_scopes(clients, since, until)
    sign_ins = Counter(slug for scopes in granted.of_sign_ins for slug in _apis_of(scopes))
    calls = calls_by_api(project, since, until, **({"client": client.client_id} if client else {}))
    usage_span = query.span if query.span in TIME_RANGES else TIME_RANGES[-1]
    log = request_log(project, who=client.client_id if client else "")
    rows = []
    for api in apis:
        usage = UsageQuery(usage_span, api.slug, client.client_id if client else "")
        # The usage page can be filtered by endpoints of `/v1`, but not by all of them together.
        usage_url = "" if api.is_own else project_page(project, "usage") + usage.address()
        log_url = log.url(since, until, api=api.slug) if calls[api.slug] else ""
        rows.append(ApiRow(api, sign_ins[api.slug], len(granted), calls[api.slug], log_url, usage_url))
    return ApiReport(rows, len(granted), granted.is_bounded, usage_span.words)


def granted_scopes(clients: Sequence[int], since: datetime, until: datetime) -> GrantedScopes:
    """Return the granted scopes of the newest MOST_SIGN_INS sign-ins that the sign-in log has. Takes two statements."""
    issued = SignInEvent.objects.filter(client__in=clients, at__gte=since, at__lt=until, step=Step.ISSUED)
    newest = issued.exclude(family=None).order_by("-pk").values_list("family", flat=True)[:MOST_SIGN_INS]
    families = [pk for pk in newest if pk is not None]
    scopes = list(TokenFamily.objects.filter(pk__in=families).values_list("scope", flat=True))
    return GrantedScopes(scopes, len(families) >= MOST_SIGN_INS)


def calls_by_api(project: Project, since: datetime, until: datetime, **only: Any) -> Counter[str]:
    """Return the number of a project's requests by the slug of the API. `only` is as in `usage_counts.series`."""
    registry, calls = current_registry(), Counter[str]()
    for row in usage_counts.series(project, since, until, "endpoint", **only):
        # Requests to `/v1` are counted by endpoint, requests to another API by its slug.
        slug = row["endpoint"] if row["endpoint"] in registry.apis else registry.account.slug
        calls[slug] += row["total_count"]
    return calls


def _apis_of(scopes: str) -> set[str]:
    """Return the slugs of the APIs that these scopes belong to."""
    known = current_registry().scopes
    return {known[name].api for name in scopes.split() if name in known} - {""}


# The columns of a downloaded table.
COLUMNS: Columns[ApiRow] = {
    "api": lambda row: row.api.slug,
    "name": lambda row: row.api.name,
    "sign_ins_with_its_scopes": lambda row: row.sign_ins,
    "sign_ins_read": lambda row: row.of,
    "requests": lambda row: row.calls,
}
