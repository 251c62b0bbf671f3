"""The request log of a project: filters, entries, the list, and the page of one call."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from django.conf import settings
from django.db.models import Q
from django.http import HttpRequest, HttpResponse

from api.errors import ERRORS
from api.keys import PUBLIC_ID_LENGTH
from api.models import ApiKey, RequestLog
from api.views import endpoint_names
from core.database.postgres.replica import page_from_replica
from devportal.console.access import get_membership
from devportal.console.fixes import project_page
from devportal.console.logs.call_fixes import Call, api_error, call_fix_for
from devportal.console.logs.curl import call_as_curl
from devportal.console.logs.filters import ENTRY_FILTERS, LogFilters, choice_filter, parse_filters
from devportal.console.logs.pages import find_entry, render_entry, render_log, render_missing
from devportal.console.shortcuts import console_page
from oidc.models import Client, Project

# Filters by status, with their labels.
STATUSES = {"2xx": "2xx and 3xx", "4xx": "4xx except 429", "429": "429", "5xx": "5xx"}
_STATUS_IS = {
    "2xx": Q(status__lt=400),
    "4xx": Q(status__gte=400, status__lt=500) & ~Q(status=429),
    "429": Q(status=429),
    "5xx": Q(status__gte=500),
}
# Error codes that known callers can get. Requests without a known credential are not logged.
CODES = {code: code for code in ERRORS if code != "unauthenticated"}
ENDPOINTS = {path: path for path in (f"/v1/{name}" for name in endpoint_names())}
SELECTS = (("status", "Status", STATUSES), ("code", "Error", CODES), ("path", "Endpoint", ENDPOINTS))


@dataclass(frozen=True)
class RequestLogEntry:
    """One request and its caller, if it still exists. `page` is the id of an existing client."""

    row: RequestLog
    name: str
    id: str
    page: str = ""
    client: Client | None = None
    key: ApiKey | None = None

    @property
    def badge(self) -> str:
        """The CSS class of the status."""
        return "good" if self.row.status < 400 else "bad" if self.row.status >= 500 else "warn"


def _by_whom(text: str) -> Q:
    """Filter by client id, by the public id of a key, or by a key as pages show it."""
    key = text.removeprefix(settings.API_KEY_PREFIX)[:PUBLIC_ID_LENGTH]
    return Q(client=text) | Q(credential=key)


def read_filters(request: HttpRequest) -> LogFilters:
    """Parse the filters of the query string."""
    conditions = {
        "status": choice_filter(_STATUS_IS),
        "code": choice_filter({code: Q(code=code) for code in CODES}),
        "path": choice_filter({path: Q(path=path) for path in ENDPOINTS}),
        "who": _by_whom,
    }
    return parse_filters(request, conditions | ENTRY_FILTERS)


def request_log_entries(project: Project, rows: Sequence[RequestLog]) -> list[RequestLogEntry]:
    """Return the rows with their callers."""
    clients = Client.objects.filter(project=project, client_id__in={row.client for row in rows if row.client})
    keys = ApiKey.objects.filter(project=project, public_id__in={row.credential for row in rows if row.credential})
    by_client_id = {client.client_id: client for client in clients}
    by_public_id = {key.public_id: key for key in keys}
    return [_line(row, by_client_id, by_public_id) for row in rows]


def _line(row: RequestLog, clients: dict[str, Client], keys: dict[str, ApiKey]) -> RequestLogEntry:
    if row.client:
        client = clients.get(row.client)
        name = client.name if client else "A client that was deleted"
        return RequestLogEntry(row, name, row.client, page=row.client if client else "", client=client)
    key = keys.get(row.credential)
    return RequestLogEntry(row, key.name if key else "A key that was deleted", row.credential, key=key)


@page_from_replica
@console_page()
def requests(request: HttpRequest, project_id: str) -> HttpResponse:
    """GET …/requests?status=…&code=…&path=…&who=…&request_id=…&range=…&from=…&to=…: newest first."""
    membership = get_membership(request, project_id)
    return render_log(
        request,
        "console/requests.html",
        membership,
        rows=RequestLog.objects.filter(project=membership.project),
        filters=read_filters(request),
        selects=SELECTS,
        entries=partial(request_log_entries, membership.project),
        log_days=settings.REQUEST_LOG_DAYS,
    )


@page_from_replica
@console_page()
def request_detail(request: HttpRequest, project_id: str, entry_id: str) -> HttpResponse:
    """GET …/requests/<id>: the details of one call. Filters in the query are kept for the link back to the log."""
    membership = get_membership(request, project_id)
    project, query = membership.project, read_filters(request).query()
    log_url = project_page(project, "requests") + query
    row = find_entry(RequestLog.objects.filter(project=project), entry_id)
    if row is None:
        return render_missing(request, membership, None, log_url=log_url, log_days=settings.REQUEST_LOG_DAYS)
    (line,) = request_log_entries(project, [row])
    if line.client is not None:
        line.client.project = project
    return render_entry(
        request,
        "console/request_detail.html",
        membership,
        line=line,
        log_url=log_url,
        fix=call_fix_for(Call(row, project, line.client, line.key)),
        error=api_error(row.code),
        curl=call_as_curl(row),
    )
