"""The log of deliveries of a client and of a project: its filters, its list, and the page of one delivery."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect

from api.request_log import mask_subject
from core import clock
from core.database.postgres.replica import page_from_replica
from core.limits.middleware import limited_by_person
from devportal.console import idempotency
from devportal.console.access import get_client, get_membership
from devportal.console.events.tries import Try, read_try, visible
from devportal.console.events.views import act
from devportal.console.export import Columns
from devportal.console.filter_bar import Selects
from devportal.console.fixes import client_page
from devportal.console.logs.filters import (
    LogFilters,
    choice_filter,
    client_filter,
    client_select,
    clients_to_choose,
    exact_filter,
    find_entry,
    parse_filters,
    render_log,
    render_missing,
    time_filters,
)
from devportal.console.navigation import console_page, refreshes, render_page
from oidc.events.registration import send_again
from oidc.events.sending import TRIES
from oidc.models import Client, Delivery, EventReceiver
from oidc.projects.roles import Role
from oidc.values.event_types import EventType

_BADGES = {Delivery.State.DELIVERED: "good", Delivery.State.FAILED: "bad", Delivery.State.WAITING: "warn"}
_EVENTS = {each.value: each.value for each in EventType}
SELECTS: Selects = (
    ("state", "State", dict(Delivery.State.choices)),
    ("event", "Event", _EVENTS),
    ("channel", "Receiver", dict(EventReceiver.Channel.choices)),
)
# A delivery that is tried again without anyone's action.
_IS_TRIED = Q(
    state=Delivery.State.WAITING,
    receiver__paused_at=None,
    receiver__client__enabled=True,
    receiver__client__project__suspended_at=None,
) & ~Q(receiver__url="")
_MASK = "…"
_SHOWN = 4  # characters at each end of an id that pages show


@dataclass(frozen=True)
class DeliveryEntry:
    """One delivery. `row` has its receiver."""

    row: Delivery

    @property
    def at(self) -> datetime:
        return self.row.happened_at

    @property
    def event(self) -> EventType:
        return EventType(self.row.event)

    @property
    def badge(self) -> str:
        """The CSS class of the state."""
        return _BADGES[Delivery.State(self.row.state)]

    @property
    def sub(self) -> str:
        """The person’s id, masked as in the request log."""
        return mask_subject(self.row.sub)

    @property
    def sid(self) -> str:
        """The id of the session, masked."""
        return mask_subject(self.row.sid)

    @property
    def tries(self) -> list[Try]:
        """The latest tries, newest first."""
        return [read_try(entry, self.row.receiver.url) for entry in reversed(self.row.tries)]

    @property
    def latest(self) -> Try | None:
        return read_try(self.row.tries[-1], self.row.receiver.url) if self.row.tries else None

    @property
    def answer(self) -> str:
        """The beginning of the app's latest response, without control characters."""
        return visible(self.row.answer)

    @property
    def next_try(self) -> datetime | None:
        """When the next try is due, None if there is none before someone acts."""
        receiver = self.row.receiver
        if self.row.state != Delivery.State.WAITING or not receiver.url or receiver.is_paused:
            return None
        moment = max(self.row.not_before, receiver.retry_at or self.row.not_before)
        return moment if moment > clock.now() else None


def _by_person(text: str) -> Q:
    """Filter by a whole `sub`, or by one as pages show it. Nobody can find out the rest by trying longer ones."""
    start, mask, end = text.partition(_MASK)
    if mask and max(len(start), len(end)) > _SHOWN:
        raise ValueError(f"Enter a whole id, or at most {_SHOWN} characters on each side of {_MASK}")
    return Q(sub__startswith=start, sub__endswith=end) & ~Q(sub="") if mask else Q(sub=text)


_CONDITIONS: dict[str, Callable[[str], Q]] = {
    "state": choice_filter({state: Q(state=state) for state in Delivery.State.values}),
    "event": choice_filter({event: Q(event=event) for event in _EVENTS}),
    "channel": choice_filter({channel: Q(receiver__channel=channel) for channel in EventReceiver.Channel.values}),
    "sub": _by_person,
    "jti": exact_filter("jti"),
} | time_filters("happened_at")


def read_filters(request: HttpRequest, clients: Sequence[Client] | None = None) -> LogFilters:
    """Parse the filters of the query string, for the log of a project with its `clients` to choose from."""
    return parse_filters(request, {**client_filter(clients, "receiver__client"), **_CONDITIONS})


# The columns of a downloaded log.
COLUMNS: Columns[Delivery] = {
    "time_utc": lambda row: row.happened_at,
    "client_id": lambda row: row.receiver.client.client_id,
    "client": lambda row: row.receiver.client.name,
    "receiver": lambda row: row.receiver.channel,
    "event": lambda row: row.event,
    "state": lambda row: row.state,
    "tries": lambda row: len(row.tries),
    "response": lambda row: _result(row),
    "user_id": lambda row: mask_subject(row.sub),
    "jti": lambda row: row.jti,
    "delivered_utc": lambda row: row.delivered_at or "",
}


def _result(row: Delivery) -> str:
    """Return the status of the latest try, or its error."""
    return str(row.tries[-1].get("status", row.tries[-1].get("error", ""))) if row.tries else ""


def deliveries_of(client: Client) -> "QuerySet[Delivery]":
    """Return the deliveries of a client, with their receivers."""
    return Delivery.objects.filter(receiver__client=client).select_related("receiver__client")


def _about_log(request: HttpRequest, rows: "QuerySet[Delivery]") -> dict[str, Any]:
    """Return what both logs have. The list refreshes while a delivery is tried, unless the person stopped it."""
    return {
        "rows": rows,
        "entries": _entries,
        "columns": COLUMNS,
        "log_days": settings.DELIVERY_DAYS,
        "refreshes": refreshes(request, rows.filter(_IS_TRIED).exists()),
    }


def _entries(rows: Sequence[Delivery]) -> list[DeliveryEntry]:
    return [DeliveryEntry(row) for row in rows]


@page_from_replica
@console_page()
def deliveries(request: HttpRequest, project_id: str, client_id: str) -> HttpResponseBase:
    """GET …/deliveries?state=…&event=…&channel=…&sub=…&jti=…&range=…&from=…&to=…: the deliveries, newest first."""
    membership, client = get_client(request, project_id, client_id)
    return render_log(
        request,
        "console/deliveries.html",
        membership,
        client,
        filters=read_filters(request),
        selects=SELECTS,
        name=f"deliveries-{client.client_id}",
        **_about_log(request, deliveries_of(client)),
    )


@page_from_replica
@console_page()
def project_deliveries(request: HttpRequest, project_id: str) -> HttpResponseBase:
    """GET …/logs/deliveries: the deliveries of all clients of a project, with the same filters."""
    membership = get_membership(request, project_id)
    clients = clients_to_choose(membership.project)
    rows = Delivery.objects.filter(receiver__client__project=membership.project).select_related("receiver__client")
    return render_log(
        request,
        "console/deliveries.html",
        membership,
        filters=read_filters(request, clients),
        selects=[client_select(clients), *SELECTS],
        name=f"deliveries-{membership.project.public_id}",
        **_about_log(request, rows),
    )


@page_from_replica
@console_page()
def delivery_detail(request: HttpRequest, project_id: str, client_id: str, delivery_id: str) -> HttpResponse:
    """GET …/deliveries/<id>: one delivery with its tries. Filters in the query are kept for the link to the list."""
    membership, client = get_client(request, project_id, client_id)
    log_url = client_page(client, "deliveries") + read_filters(request).query()
    row = find_entry(deliveries_of(client), delivery_id)
    if row is None:
        return render_missing(request, membership, client, log_url=log_url, log_days=settings.DELIVERY_DAYS)
    return render_page(
        request,
        "console/delivery_detail.html",
        membership,
        client,
        line=DeliveryEntry(row),
        refreshes=refreshes(request, deliveries_of(client).filter(_IS_TRIED, pk=row.pk).exists()),
        log_url=log_url,
        most_tries=TRIES,
        once=idempotency.new_token(),
    )


@limited_by_person
@console_page("POST")
def delivery_again(request: HttpRequest, project_id: str, client_id: str, delivery_id: str) -> HttpResponse:
    """POST …/deliveries/<id>/again: send one delivery again."""
    membership, client = get_client(request, project_id, client_id, Role.DEVELOPER)
    row = find_entry(deliveries_of(client), delivery_id)
    if row is None:
        raise Http404
    if not row.receiver.url:
        messages.error(request, "Nothing was sent, because the receiver is off.")
    elif act(
        request,
        membership,
        lambda: send_again(row, membership.account),
        repeated="This form was sent before. The event was not sent a second time.",
        missing="Nothing was sent. Please press the button again.",
    ):
        messages.success(request, "The event is sent again.")
    return redirect("console:delivery", project_id, client_id, row.pk)
