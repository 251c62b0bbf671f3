"""The request log: its filters, its list, and an entry with a curl command (without the credentials)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from urllib.parse import quote_plus

from django.conf import settings
from django.db.models import Func, IntegerField, Q
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from api.endpoint import endpoint_names
from api.errors import KNOWN_ERRORS
from api.keys import PUBLIC_ID_LENGTH
from api.models import ApiKey, RequestLog
from core.database.postgres.replica import page_from_replica
from devportal.console.access import get_membership
from devportal.console.export import Columns
from devportal.console.filter_bar import Selects
from devportal.console.fixes import project_page
from devportal.console.logs.filters import (
    ENTRY_FILTERS,
    LogFilters,
    choice_filter,
    find_entry,
    parse_filters,
    render_entry,
    render_log,
    render_missing,
    text_filter,
)
from devportal.console.logs.fixes import Call, api_error, call_fix_for
from devportal.console.logs.sign_in_writer import MARKS
from devportal.console.models import SignInEvent
from devportal.console.navigation import console_page
from devportal.console.quick_start import shell_string
from oidc.apis.registry import current_registry
from oidc.models import Client, Project
from oidc.sign_in_log.steps import Endpoint, Outcome
from oidc.values.reasons import Reason

_NEXT = " \\\n  "
_LEFT_OUT = "…"  # replaces parts of an unknown path in the log


def call_as_curl(row: RequestLog) -> str:
    """Return a call to `/v1`, or "" if the log does not hold the whole path or the HTTP method is unknown."""
    if row.api or _LEFT_OUT in row.path or not row.path.startswith("/") or not row.method.isalpha():
        return ""
    variable = "$ACCESS_TOKEN" if row.client else "$API_KEY"
    method = {"GET": [], "HEAD": ["-I"]}.get(row.method, [f"-X {row.method}"])
    first = " ".join(["curl -sS -i", *method])
    return _NEXT.join([first, f'-H "Authorization: Bearer {variable}"', shell_string(settings.BASE_URL + row.path)])


def sign_in_as_curl(client: Client, event: SignInEvent) -> str:
    """Return a template of the request of a step. Values that the log does not hold are variables."""
    if event.endpoint == Endpoint.AUTHORIZE:
        return _authorization(client, event)
    if event.endpoint == Endpoint.USERINFO:
        return _NEXT.join([f"curl -sS -i {_endpoint('userinfo')}", '-H "Authorization: Bearer $ACCESS_TOKEN"'])
    if event.endpoint == Endpoint.REVOKE:
        return _form(client, "revoke", ['"token=$REFRESH_TOKEN"'])
    if event.endpoint == Endpoint.END_SESSION:
        return _sign_out(client, event)
    if _is_exchange(event):
        uri = _redirect_uri(event)
        return _form(
            client,
            "token",
            ["grant_type=authorization_code", '"code=$CODE"', uri, '"code_verifier=$CODE_VERIFIER"'],
        )
    return _form(client, "token", ["grant_type=refresh_token", '"refresh_token=$REFRESH_TOKEN"'])


# Reasons that occur only when a code is exchanged.
_OF_A_CODE = {
    Reason.CODE_MISSING,
    Reason.CODE_UNKNOWN,
    Reason.CODE_USED,
    Reason.CODE_EXPIRED,
    Reason.VERIFIER_MISSING,
    Reason.VERIFIER_MALFORMED,
    Reason.VERIFIER_WRONG,
    Reason.REDIRECT_URI_MISSING,
    Reason.REDIRECT_URI_DIFFERS,
    Reason.ENDED_CODE_REPLAYED,
    Reason.ENDED_CONSENT_SENT_TWICE,
}


def _is_exchange(event: SignInEvent) -> bool:
    if event.outcome == Outcome.SIGNED_IN or event.redirect_uri:
        return True
    return event.outcome != Outcome.REFRESHED and event.reason in _OF_A_CODE


def _redirect_uri(event: SignInEvent, name: str = "redirect_uri") -> str:
    """Return the redirect_uri of a request as received, or a variable if it is missing or redacted."""
    if not event.redirect_uri or any(mark in event.redirect_uri for mark in MARKS):
        return f'"{name}=${name.upper()}"'
    return shell_string(f"{name}={event.redirect_uri}")


def _sign_out(client: Client, event: SignInEvent) -> str:
    """Return the sign-out request. Without the browser's session it ends nothing."""
    client_id = shell_string(f"client_id={client.client_id}")
    parameters = ['"id_token_hint=$ID_TOKEN"', client_id, _redirect_uri(event, "post_logout_redirect_uri")]
    return _NEXT.join([f"curl -sS -i -G {_endpoint('logout')}", *map(_encoded, parameters)])


def _authorization(client: Client, event: SignInEvent) -> str:
    """Return the authorization request. curl gets only its first response, because pages need a browser."""
    parameters = [
        "response_type=code",
        shell_string(f"client_id={client.client_id}"),
        _redirect_uri(event),
        '"scope=$SCOPE"',
        '"state=$STATE"',
        '"code_challenge=$CODE_CHALLENGE"',
        "code_challenge_method=S256",
    ]
    return _NEXT.join([f"curl -sS -i -G {_endpoint('authorize')}", *map(_encoded, parameters)])


def _form(client: Client, endpoint: str, fields: list[str]) -> str:
    """Return a form for the token or revocation endpoint, with the client's authentication (RFC 6749 §2.3.1)."""
    if client.has_secret:
        user = [f'-u {shell_string(quote_plus(client.client_id))}":$CLIENT_SECRET"']
    else:
        user, fields = [], [*fields, shell_string(f"client_id={client.client_id}")]
    return _NEXT.join([f"curl -sS -i {_endpoint(endpoint)}", *user, *map(_encoded, fields)])


def _encoded(field: str) -> str:
    return f"--data-urlencode {field}"


def _endpoint(name: str) -> str:
    return shell_string(f"{settings.AUTH_URL}/connect/{name}")


# Filters by status, with their labels.
STATUSES = {
    "2xx": "2xx and 3xx",
    "errors": "All errors",
    "4xx": "4xx except 429",
    "429": "429",
    "5xx": "5xx",
}
# The number is part of the statement: with a parameter, a prepared statement could not use the index of errors.
_FAILED = Q(status__gte=Func(template="400", output_field=IntegerField()))
_STATUS_IS = {
    "2xx": Q(status__lt=400),
    "errors": _FAILED,
    "4xx": _FAILED & Q(status__lt=500) & ~Q(status=429),
    "429": _FAILED & Q(status=429),
    "5xx": _FAILED & Q(status__gte=500),
}
# Error codes that known callers can get. Requests without a known credential are not logged.
CODES = {code: code for code in KNOWN_ERRORS if code != "unauthenticated"}
ENDPOINTS = {path: path for path in (f"/v1/{name}" for name in endpoint_names())}
NO_ENDPOINT = "none"
_PATH_IS = {path: Q(path=path) for path in ENDPOINTS} | {NO_ENDPOINT: ~Q(path__in=list(ENDPOINTS)) & Q(api="")}
# Calls whose credential only names its key or client are logged, but do not count in the usage.
COUNTED = {"yes": "Counted", "no": "Not counted"}
SELECTS = (
    ("status", "Status", STATUSES),
    ("code", "Error", CODES),
    ("path", "Endpoint", ENDPOINTS | {NO_ENDPOINT: "No such endpoint"}),
    ("counted", "In usage", COUNTED),
)


def _selects() -> Selects:
    """Return the choices of the filters. With the company's own APIs, one of them is the API."""
    apis = current_registry().apis
    if len(apis) == 1:
        return SELECTS
    return (("api", "API", {slug: api.name for slug, api in apis.items()}), *SELECTS)


def _api_is() -> dict[str, Q]:
    """Return the conditions of the filter by API, by slug."""
    return {slug: Q(api="" if api.is_own else slug) for slug, api in current_registry().apis.items()}


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
    def at(self) -> datetime:
        return self.row.at

    @property
    def api_name(self) -> str:
        """The name of the API that was called, "" for the one at `/v1`, and the slug of a deleted one."""
        api = current_registry().apis.get(self.row.api)
        return api.name if api else self.row.api

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
        "q": text_filter("path", "code", "request_id", "subject"),
        "api": choice_filter(_api_is()),
        "status": choice_filter(_STATUS_IS),
        "code": choice_filter({code: _FAILED & Q(code=code) for code in CODES}),
        "path": choice_filter(_PATH_IS),
        "counted": choice_filter({"yes": Q(is_counted=True), "no": Q(is_counted=False)}),
        "who": _by_whom,
    }
    return parse_filters(request, conditions | ENTRY_FILTERS)


# The columns of a downloaded log.
COLUMNS: Columns[RequestLog] = {
    "time_utc": lambda row: row.at,
    "api": lambda row: row.api,
    "method": lambda row: row.method,
    "path": lambda row: row.path,
    "status": lambda row: row.status,
    "error": lambda row: row.code,
    "milliseconds": lambda row: row.milliseconds,
    "client_id": lambda row: row.client,
    "key_id": lambda row: row.credential,
    "user_id": lambda row: row.subject,
    "request_id": lambda row: row.request_id,
}


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
        name = client.name if client else "An app that was deleted"
        return RequestLogEntry(row, name, row.client, page=row.client if client else "", client=client)
    key = keys.get(row.credential)
    return RequestLogEntry(row, key.name if key else "A key that was deleted", row.credential, key=key)


@page_from_replica
@console_page()
def requests(request: HttpRequest, project_id: str) -> HttpResponseBase:
    """GET …/logs/requests?q=…&api=…&status=…&code=…&path=…&counted=…&who=…&request_id=…&range=…: the log."""
    membership = get_membership(request, project_id)
    return render_log(
        request,
        "console/requests.html",
        membership,
        rows=RequestLog.objects.filter(project=membership.project),
        filters=read_filters(request),
        selects=_selects(),
        entries=partial(request_log_entries, membership.project),
        log_days=settings.REQUEST_LOG_DAYS,
        name=f"request-log-{membership.project.public_id}",
        columns=COLUMNS,
    )


@page_from_replica
@console_page()
def request_detail(request: HttpRequest, project_id: str, entry_id: str) -> HttpResponse:
    """GET …/logs/requests/<id>: the details of one call. Filters in the query are kept for the link back to the log."""
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
