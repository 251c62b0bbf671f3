"""A client's page *Events*: its receivers, their state, and what developers can do about them."""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse

from accounts.models import Account
from core.changed_meanwhile import ChangedMeanwhile
from core.limits.middleware import limited_by_person
from devportal.console import idempotency
from devportal.console.access import Membership, get_client
from devportal.console.events.forms import CHANNEL, EventsForm, LogoutForm
from devportal.console.events.states import statuses
from devportal.console.navigation import console_page, redirect_to_client, refreshes, render_page
from devportal.docs import events as event_docs
from oidc.events import registration
from oidc.events.receiver_urls import may_be_loopback, may_use_playground, playground_receiver_url
from oidc.models import Client, EventReceiver
from oidc.projects.roles import Role, lock_for_change
from oidc.values.event_types import EventType

Channel = EventReceiver.Channel
ReceiverForm = LogoutForm | EventsForm
PAGE = "client_events"  # its URL name
SAVED = "Saved. The changes apply to events from now on."
TURNED_OFF = "Turned off. Your app gets no events at this URL any more."


@limited_by_person
@console_page("GET", "HEAD", "POST")
def client_events(request: HttpRequest, project_id: str, client_id: str) -> HttpResponse:
    """…/events: the receivers. A POST saves the one that `channel` names."""
    at_least = Role.DEVELOPER if request.method == "POST" else Role.VIEWER
    membership, client = get_client(request, project_id, client_id, at_least)
    if request.method != "POST":
        return _page(request, membership, client)
    channel = request.POST.get(CHANNEL, "")
    if channel not in Channel.values:
        return redirect_to_client(client, PAGE)
    receiver = registration.receiver_of(client, channel)
    form = _form_class(channel)(request.POST, receiver=receiver)
    if form.is_valid() and _save(membership, client, channel, form):
        messages.success(request, SAVED if form.cleaned_data["url"] else TURNED_OFF)
        return redirect_to_client(client, PAGE, channel)
    return _page(request, membership, client, {channel: form})


def _form_class(channel: str) -> type[LogoutForm] | type[EventsForm]:
    return LogoutForm if channel == Channel.LOGOUT else EventsForm


def _save(membership: Membership, client: Client, channel: str, form: ReceiverForm) -> bool:
    """Save a receiver and return True. Otherwise add the error to the form."""
    try:
        with lock_for_change(membership.project, membership.account, Role.DEVELOPER):
            change_receiver(client, membership.account, channel, **form.cleaned_data)
    except ValidationError as error:
        if isinstance(error, ChangedMeanwhile):
            form.show_over(registration.receiver_digest(registration.receiver_of(client, channel)))
        form.add_error("url", error)
        return False
    return True


def change_receiver(client: Client, actor: Account, channel: str, url: str, **more: Any) -> None:
    """Set a receiver's URL and options. Raises ValidationError, ChangedMeanwhile, Gone."""
    seen = more.get("seen", "")
    if channel == Channel.LOGOUT:
        registration.change_logout_receiver(
            client, actor, url=url, session_required=more["session_required"], seen=seen
        )
    else:
        registration.change_event_receiver(client, actor, url=url, types=more["types"], seen=seen)


def _page(
    request: HttpRequest, membership: Membership, client: Client, forms: dict[str, ReceiverForm] | None = None
) -> HttpResponse:
    """Render the page. `forms` are the ones with errors, by channel."""
    found = statuses(client)
    logout, events = found[Channel.LOGOUT], found[Channel.EVENTS]
    shown = {channel: _form_class(channel)(receiver=status.receiver) for channel, status in found.items()}
    shown |= forms or {}
    return render_page(
        request,
        "console/client_events.html",
        membership,
        client,
        logout=logout,
        events=events,
        logout_form=shown[Channel.LOGOUT],
        events_form=shown[Channel.EVENTS],
        chosen=shown[Channel.EVENTS]["types"].value() or [],
        event_types=event_docs.security_events(),
        playground_url=playground_receiver_url(),
        may_be_loopback=may_be_loopback(client),
        may_use_playground=may_use_playground(client),
        delivery_days=settings.DELIVERY_DAYS,
        examples=[
            (event, event_docs.example_header(event), event_docs.example_claims(event, client.client_id))
            for event in (EventType.LOGOUT, EventType.SESSIONS_REVOKED)
        ],
        refreshes=refreshes(request, any(status.is_testing for status in found.values())),
        once=idempotency.new_token(),
    )


# --- Actions ---


def act(
    request: HttpRequest, membership: Membership, change: Callable[[], Any], *, repeated: str, missing: str
) -> Any | None:
    """Run a change once with the member's role checked again. Return its result, None if the form was sent before.

    `repeated` and `missing` are the messages for a form that was sent before, and for one without a token.
    """
    try:
        with lock_for_change(membership.project, membership.account, Role.DEVELOPER):
            idempotency.consume_token(request)
            return change()
    except idempotency.AlreadyProcessed:
        messages.info(request, repeated)
    except idempotency.MissingToken:
        messages.error(request, missing)
    return None


def _receiver(client: Client, channel: str) -> EventReceiver:
    """Return the client's receiver. Raises Http404 if it was never set up."""
    row = registration.receiver_of(client, channel) if channel in Channel.values else None
    if row is None or row.pk is None:
        raise Http404
    return row


@limited_by_person
@console_page("POST")
def events_test(request: HttpRequest, project_id: str, client_id: str, channel: str) -> HttpResponse:
    """POST …/events/<channel>/test: send a test."""
    membership, client = get_client(request, project_id, client_id, Role.DEVELOPER)
    receiver = _receiver(client, channel)
    if not receiver.url:
        messages.error(request, "Nothing was sent. Enter a URL first.")
    elif receiver.is_paused:
        messages.error(request, "Nothing was sent. Resume the deliveries first.")
    elif not client.is_on:
        messages.error(request, "Nothing was sent, because the app is off or its project suspended.")
    elif act(
        request,
        membership,
        lambda: registration.send_test(receiver, membership.account),
        repeated="This test was already sent. No second one was sent.",
        missing="No test was sent. Please press the button again.",
    ):
        messages.success(request, "The test is on its way.")
    if receiver.url == playground_receiver_url():
        return redirect_to_client(client, "playground_events")
    return redirect_to_client(client, PAGE, channel)


@limited_by_person
@console_page("POST")
def events_resume(request: HttpRequest, project_id: str, client_id: str, channel: str) -> HttpResponse:
    """POST …/events/<channel>/resume: send everything that waits now."""
    membership, client = get_client(request, project_id, client_id, Role.DEVELOPER)
    receiver = _receiver(client, channel)
    if receiver.url:
        with lock_for_change(membership.project, membership.account, Role.DEVELOPER):
            registration.resume(receiver, membership.account)
        messages.success(request, "Resumed. Everything that waits is sent now.")
    return redirect_to_client(client, PAGE, channel)


@limited_by_person
@console_page("POST")
def events_retry(request: HttpRequest, project_id: str, client_id: str, channel: str) -> HttpResponse:
    """POST …/events/<channel>/retry: send all failed deliveries again."""
    membership, client = get_client(request, project_id, client_id, Role.DEVELOPER)
    receiver = _receiver(client, channel)
    count = act(
        request,
        membership,
        lambda: registration.send_failed_again(receiver, membership.account),
        repeated="This was already done. Nothing was sent a second time.",
        missing="Nothing was sent. Please press the button again.",
    )
    if count:
        text = f"{count:,} failed deliveries are sent again." if count > 1 else "One failed delivery is sent again."
        messages.success(request, text)
    elif count == 0:
        messages.info(request, "No delivery has failed, so nothing was sent.")
    return redirect_to_client(client, PAGE, channel)
