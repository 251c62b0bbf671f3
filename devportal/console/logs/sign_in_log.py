"""The sign-in log of a client: filters, entries, the list, and the page of one step."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from core import clock
from core.database.postgres.replica import page_from_replica
from devportal.console.access import get_client, get_membership
from devportal.console.export import Columns
from devportal.console.fixes import client_page
from devportal.console.logs.filters import (
    ENTRY_FILTERS,
    LogFilters,
    choice_filter,
    client_filter,
    client_select,
    clients_to_choose,
    find_entry,
    parse_filters,
    render_entry,
    render_log,
    render_missing,
    text_filter,
)
from devportal.console.logs.fixes import compare, fix_for, is_mismatch, reason_docs, registered_uris
from devportal.console.logs.links import COUNTED_AS
from devportal.console.logs.request_log import sign_in_as_curl
from devportal.console.models import SignInEvent
from devportal.console.navigation import console_page
from oidc.models import Client
from oidc.sign_in_log.steps import APP_FULL, UNAVAILABLE, Endpoint, Outcome
from oidc.values.reasons import Reason, find_reason

OUTCOMES = {outcome.value: str(outcome.label) for outcome in Outcome}
ENDPOINTS = {endpoint.value: str(endpoint.label) for endpoint in Endpoint}
_NEVER_LOGGED = {"insufficient_scope", ""}  # every token has openid; "" is no error
_LOGGED = {reason.error for reason in Reason} - _NEVER_LOGGED
ERRORS = {error: error for error in sorted({*_LOGGED, UNAVAILABLE, APP_FULL})}
REASONS_BY_CODE = {reason.value: reason.value for reason in sorted(Reason)}
SELECTS = (
    ("outcome", "Outcome", OUTCOMES),
    ("endpoint", "Endpoint", ENDPOINTS),
    ("error", "Error", ERRORS),
    ("reason", "Reason", REASONS_BY_CODE),
    ("step", "Counted as", {name: label for name, (label, _) in COUNTED_AS.items()}),
)
_BADGES = {
    Outcome.CODE_ISSUED.value: "accent",
    Outcome.SIGNED_IN.value: "good",
    Outcome.REFRESHED.value: "good",
    Outcome.CANCELLED.value: "warn",
    Outcome.REFUSED.value: "bad",
}
# The meaning of each outcome, for the page of an entry.
MEANINGS = {
    Outcome.CODE_ISSUED.value: "The app was sent a code. It signs the person in once the app has exchanged it.",
    Outcome.SIGNED_IN.value: "The app exchanged its code for tokens.",
    Outcome.REFRESHED.value: "The app got new tokens for its refresh token.",
    Outcome.REVOKED.value: "The app revoked a token. All that came from the same sign-in has ended.",
    Outcome.CANCELLED.value: "The person did not continue, and the app got an error.",
    Outcome.REFUSED.value: "The request was refused.",
}


@dataclass(frozen=True)
class SignInLogEntry:
    """One step of a sign-in."""

    row: SignInEvent

    @property
    def at(self) -> datetime:
        return self.row.at

    @property
    def badge(self) -> str:
        """The CSS class of the outcome."""
        return _BADGES.get(self.row.outcome, "plain")

    @property
    def endpoint(self) -> str:
        return ENDPOINTS.get(self.row.endpoint, self.row.endpoint)

    @property
    def meaning(self) -> str:
        return MEANINGS.get(self.row.outcome, "")

    @property
    def is_sign_out(self) -> bool:
        """Whether it is a sign-out request, whose URL is a sign-out URL."""
        return self.row.endpoint == Endpoint.END_SESSION

    @property
    def is_unauthenticated(self) -> bool:
        """Whether the app did not authenticate, at an endpoint where it should."""
        reason = find_reason(self.row.reason)
        return self.row.endpoint in (Endpoint.TOKEN, Endpoint.REVOKE) and reason is not None and reason.anyone


def _has_text(text: str) -> Q:
    """Filter by a text that the columns or the explanation of the reason contain."""
    reasons = [reason.value for reason in Reason if text.lower() in (reason.log or reason.description).lower()]
    return text_filter("redirect_uri", "reason", "error", "request_id")(text) | Q(reason__in=reasons)


def read_filters(request: HttpRequest, clients: Sequence[Client] | None = None) -> LogFilters:
    """Parse the filters of the query string, for the log of a project with its `clients` to choose from."""
    conditions = {
        "q": _has_text,
        "outcome": choice_filter({outcome: Q(outcome=outcome) for outcome in OUTCOMES}),
        "endpoint": choice_filter({endpoint: Q(endpoint=endpoint) for endpoint in ENDPOINTS}),
        "error": choice_filter({error: Q(error=error) for error in ERRORS}),
        "reason": choice_filter({reason: Q(reason=reason) for reason in REASONS_BY_CODE}),
        "step": choice_filter({name: Q(step__in=list(steps)) for name, (_, steps) in COUNTED_AS.items()}),
    }
    return parse_filters(request, {**client_filter(clients), **conditions, **ENTRY_FILTERS})


# The columns of a downloaded log.
COLUMNS: Columns[SignInEvent] = {
    "time_utc": lambda row: row.at,
    "client_id": lambda row: row.client.client_id,
    "client": lambda row: row.client.name,
    "endpoint": lambda row: row.endpoint,
    "outcome": lambda row: row.outcome,
    "error": lambda row: row.error,
    "reason": lambda row: row.reason,
    "explanation": lambda row: row.reason_text,
    "redirect_uri": lambda row: row.redirect_uri,
    "request_id": lambda row: row.request_id,
}


def sign_in_log_entries(rows: Sequence[SignInEvent]) -> list[SignInLogEntry]:
    """Return the entries of these rows."""
    return [SignInLogEntry(row) for row in rows]


MOST = 20  # related steps on the page of an entry
# The number of a client's entries before and after a step that are searched for others of its family. The table has no
# index by family, and the steps of one sign-in are near each other.
NEARBY = 2000


def family_steps(event: SignInEvent) -> list[SignInEvent]:
    """Return the steps of the same token family including this one, oldest first; none without a family."""
    if event.family is None:
        return []
    of_client = SignInEvent.objects.filter(client=event.client_id)
    earlier = of_client.filter(pk__lt=event.pk).order_by("-pk")
    later = of_client.filter(pk__gt=event.pk).order_by("pk")
    before = _near(earlier, "pk__gte").filter(family=event.family)[: MOST // 2]
    after = _near(later, "pk__lte").filter(family=event.family)[: MOST // 2]
    return [*reversed(before), event, *after]


def _near(rows: "QuerySet[SignInEvent]", bound: str) -> "QuerySet[SignInEvent]":
    """Return the first NEARBY of the ordered `rows`, limited by the key of the last of them with the lookup `bound`."""
    last = next(iter(rows.values_list("pk", flat=True)[NEARBY - 1 : NEARBY]), None)
    return rows if last is None else rows.filter(**{bound: last})


def request_steps(event: SignInEvent) -> list[SignInEvent]:
    """Return the other steps of the same request, oldest first."""
    same = SignInEvent.objects.filter(client=event.client_id, request_id=event.request_id).exclude(pk=event.pk)
    return list(same.order_by("pk")[:MOST])


def is_left_waiting(event: SignInEvent, family: list[SignInEvent]) -> bool:
    """Return whether a code was issued and has expired, and the log has no later step for it."""
    if event.outcome != Outcome.CODE_ISSUED or event.family is None:
        return False
    age = (clock.now() - event.at).total_seconds()
    return age > settings.AUTHORIZATION_CODE_SECONDS and all(each.outcome == Outcome.CODE_ISSUED for each in family)


def _about_log() -> dict[str, Any]:
    return {
        "entries": sign_in_log_entries,
        "columns": COLUMNS,
        "log_days": settings.SIGN_IN_LOG_DAYS,
    }


@page_from_replica
@console_page()
def sign_ins(request: HttpRequest, project_id: str, client_id: str) -> HttpResponseBase:
    """GET …/activity?q=…&outcome=…&endpoint=…&error=…&step=…&request_id=…&range=…&from=…&to=…: newest first."""
    membership, client = get_client(request, project_id, client_id)
    return render_log(
        request,
        "console/sign_ins.html",
        membership,
        client,
        rows=SignInEvent.objects.filter(client=client).select_related("client"),
        filters=read_filters(request),
        selects=SELECTS,
        name=f"sign-in-log-{client.client_id}",
        **_about_log(),
    )


@page_from_replica
@console_page()
def project_sign_ins(request: HttpRequest, project_id: str) -> HttpResponseBase:
    """GET …/logs: the sign-in log of all clients of a project, with the same filters."""
    membership = get_membership(request, project_id)
    clients = clients_to_choose(membership.project)
    return render_log(
        request,
        "console/sign_ins.html",
        membership,
        rows=SignInEvent.objects.filter(project=membership.project).select_related("client"),
        filters=read_filters(request, clients),
        selects=[client_select(clients), *SELECTS],
        name=f"sign-in-log-{membership.project.public_id}",
        **_about_log(),
    )


@page_from_replica
@console_page()
def sign_in_detail(request: HttpRequest, project_id: str, client_id: str, entry_id: str) -> HttpResponse:
    """GET …/activity/<id>: the details of one step, and the related steps.

    Filters in the query are kept for the link back to the log.
    """
    membership, client = get_client(request, project_id, client_id)
    query = read_filters(request).query()
    log_url = client_page(client, "sign_ins") + query
    row = find_entry(SignInEvent.objects.filter(client=client), entry_id)
    if row is None:
        return render_missing(request, membership, client, log_url=log_url, log_days=settings.SIGN_IN_LOG_DAYS)
    family, same_request = family_steps(row), request_steps(row)
    return render_entry(
        request,
        "console/sign_in_detail.html",
        membership,
        client,
        line=SignInLogEntry(row),
        log_url=log_url,
        query=query,
        fix=fix_for(client, row),
        error=reason_docs(row),
        compared=compare(row.redirect_uri, registered_uris(client, row)) if is_mismatch(client, row) else [],
        family=sign_in_log_entries(family),
        is_left_waiting=is_left_waiting(row, family),
        same_request=sign_in_log_entries([each for each in same_request if each not in family]),
        curl=sign_in_as_curl(client, row),
        code_seconds=settings.AUTHORIZATION_CODE_SECONDS,
    )
