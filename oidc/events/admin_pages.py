"""Admin pages of event receivers and deliveries (docs/operations.md#events-to-apps). They never render a token."""

from collections.abc import Iterable
from typing import Any

from django.conf import settings
from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html_join

from accounts.sessions.authentication import account_of
from core.admin.actions import ActionRefused, RowAction
from core.admin.model_admin import ReadOnlyModelAdmin
from oidc.clients.lookup import find_client
from oidc.events import registration
from oidc.events.queueing import JTI_LENGTH
from oidc.models import Delivery, EventReceiver
from oidc.projects.roles import Gone

_DELETED = "This app is deleted."


def _client_pk(client_id: str) -> int:
    client = find_client(client_id)
    return client.pk if client else 0


# --- Receivers ---

# The states of a receiver, and what each means for its columns.
STATES = {
    "working": Q(url__gt="", failures=0, paused_at=None),
    "failing": Q(url__gt="", failures__gt=0, paused_at=None),
    "paused": Q(url__gt="", paused_at__isnull=False),
    "off": Q(url=""),
}


class StateFilter(admin.SimpleListFilter):
    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[str, str]]:
        return [(state, state) for state in STATES]

    def queryset(self, request: HttpRequest, queryset: QuerySet[EventReceiver]) -> QuerySet[EventReceiver]:
        state = STATES.get(self.value() or "")
        return queryset if state is None else queryset.filter(state)


def _resume(request: HttpRequest, receiver: EventReceiver, form: Any) -> str:
    try:
        registration.resume(receiver, account_of(request))
    except Gone as gone:
        raise ActionRefused(_DELETED) from gone
    return "Everything that waits is sent again within a few seconds."


def _send_failed_again(request: HttpRequest, receiver: EventReceiver, form: Any) -> str:
    try:
        count = registration.send_failed_again(receiver, account_of(request))
    except Gone as gone:
        raise ActionRefused(_DELETED) from gone
    return f"Deliveries that had failed and are sent again: {count:,}."


@admin.register(EventReceiver)
class EventReceiverAdmin(ReadOnlyModelAdmin[EventReceiver]):
    """URLs of apps that receive events. Developers change them in the console."""

    empty_text = "No app receives events yet. Developers set that up in the console."
    list_display = ("client", "channel", "url", "state", "failures", "failing_since", "paused_at")
    list_filter = (StateFilter,)
    list_select_related = ("client",)
    search_help_text = "A whole client id"
    link_filters = ("client",)
    fields = (
        "client", "channel", "url", "session_required", "wanted", "state", "failures", "failing_since", "retry_at",
        "busy_until", "paused_at", "is_slow",
    )  # fmt: skip
    readonly_fields = ("wanted", "state")
    row_actions = (
        RowAction(
            "resume",
            "Resume",
            "All waiting deliveries are due now, with eight new tries each. If the app still fails, the receiver is "
            "paused again after a day.",
            _resume,
            is_open=lambda request, row: bool(row.url) and (row.is_paused or row.failures > 0),
            icon="play_arrow",
        ),
        RowAction(
            "again",
            "Send failed deliveries again",
            "Each delivery that has failed gets eight new tries, with the same jti. If the receiver is paused, resume "
            "it as well.",
            _send_failed_again,
            is_open=lambda request, row: bool(row.url),
            icon="replay",
        ),
    )

    @admin.display(description="state")
    def state(self, receiver: EventReceiver) -> str:
        if not receiver.url:
            return "off"
        return "paused" if receiver.is_paused else "failing" if receiver.failures else "working"

    @admin.display(description="event types")
    def wanted(self, receiver: EventReceiver) -> str:
        if receiver.channel == EventReceiver.Channel.LOGOUT:
            return "-"
        return ", ".join(receiver.wanted_types) if receiver.types else "all"

    def search_filter(self, term: str) -> Q:
        return Q(client=_client_pk(term))

    def audit_target(self, row: EventReceiver) -> str:
        return str(row.client.client_id)


# --- Deliveries ---


def _send_again(request: HttpRequest, delivery: Delivery, form: Any) -> str:
    try:
        registration.send_again(delivery, account_of(request))
    except Gone as gone:
        raise ActionRefused(_DELETED) from gone
    return "The delivery is sent again within a few seconds, unless its receiver is paused."


@admin.register(Delivery)
class DeliveryAdmin(ReadOnlyModelAdmin[Delivery]):
    """Events and their deliveries. Neither tokens, which are signed for each try, nor the app's answers are shown."""

    empty_text = "No event was sent to an app lately. Deliveries are listed for DELIVERY_DAYS."
    list_display = ("happened_at", "event", "client", "channel", "state", "attempts", "latest_try", "jti")
    list_filter = ("state",)
    list_select_related = ("receiver__client",)
    search_help_text = "A whole jti, a person’s whole id in the app (sub), or a whole client id"
    link_filters = ("receiver", "connection")
    fields = (
        "receiver", "event", "jti", "sub", "happened_at", "state", "attempts", "not_before", "delivered_at",
        "all_tries",
    )  # fmt: skip
    readonly_fields = ("all_tries",)
    row_actions = (
        RowAction(
            "again",
            "Send again",
            "The app gets the event again within a few seconds, with the same jti and eight new tries. If the receiver "
            "is paused, resume it as well.",
            _send_again,
            is_open=lambda request, row: bool(row.receiver.url) and row.state != Delivery.State.WAITING,
            icon="replay",
        ),
    )

    def search_filter(self, term: str) -> Q:
        if term.startswith(settings.CLIENT_ID_PREFIX):
            # The receivers' keys first: the join would read the deliveries from the newest on.
            of_client = EventReceiver.objects.filter(client=_client_pk(term))
            return Q(receiver__in=list(of_client.values_list("pk", flat=True)))
        return Q(jti=term) if len(term) == JTI_LENGTH else Q(sub=term)

    def audit_target(self, row: Delivery) -> str:
        return str(row.receiver.client.client_id)

    @admin.display(description="app")
    def client(self, delivery: Delivery) -> str:
        return str(delivery.receiver.client.name)

    @admin.display(description="channel")
    def channel(self, delivery: Delivery) -> str:
        return delivery.receiver.get_channel_display()

    @admin.display(description="latest try")
    def latest_try(self, delivery: Delivery) -> str:
        return _result(delivery.tries[-1]) if delivery.tries else "-"

    @admin.display(description="tries")
    def all_tries(self, delivery: Delivery) -> str:
        lines = ((each["at"], _result(each), each["seconds"]) for each in delivery.tries)
        return format_html_join("", "<div>{}: {} ({} s)</div>", lines) or "none"


def _result(entry: dict[str, Any]) -> str:
    """Return the status of a try, or the code of the reason why there is none (core/outbound/targets.py)."""
    return str(entry.get("status") or entry.get("error", ""))
