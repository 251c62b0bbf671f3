"""The playground's page of received events, and pointing a client's receivers at it."""

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse

from core.changed_meanwhile import ChangedMeanwhile
from core.limits.middleware import limited_by_person
from devportal.console import idempotency
from devportal.console.access import get_client
from devportal.console.events.forms import CHANNEL
from devportal.console.events.states import statuses
from devportal.console.events.views import change_receiver
from devportal.console.members import CHANGED
from devportal.console.navigation import console_page, redirect_to_client, refreshes, render_page
from devportal.console.playground import event_receiver
from devportal.docs.context import format_duration
from oidc.events.receiver_urls import PLAYGROUND_BEFORE_REVIEW, may_use_playground, playground_receiver_url
from oidc.events.registration import receiver_of
from oidc.models import EventReceiver
from oidc.projects.roles import Role, lock_for_change


@limited_by_person
@console_page("GET", "HEAD", "POST")
def playground_events(request: HttpRequest, project_id: str, client_id: str) -> HttpResponse:
    """…/playground/events: the received messages. A POST points the receiver `channel` at the playground, or off."""
    membership, client = get_client(request, project_id, client_id, Role.DEVELOPER)
    if request.method != "POST":
        found = statuses(client)
        receivers = [found[channel] for channel in EventReceiver.Channel.values]
        return render_page(
            request,
            "console/playground_events.html",
            membership,
            client,
            receivers=receivers,
            refusal="" if may_use_playground(client) else PLAYGROUND_BEFORE_REVIEW,
            is_on=any(status.is_playground for status in receivers),
            messages_received=event_receiver.messages_of(client),
            address=playground_receiver_url(),
            most=event_receiver.MOST,
            kept=format_duration(event_receiver.SECONDS),
            refreshes=refreshes(request, any(status.is_testing for status in receivers)),
            once=idempotency.new_token(),
        )
    channel = request.POST.get(CHANNEL, "")
    if channel in EventReceiver.Channel.values:
        row = receiver_of(client, channel)
        url = playground_receiver_url() if request.POST.get("wanted") == "yes" else ""
        options = {"session_required": row.session_required, "types": [each.value for each in row.wanted_types]}
        seen = request.POST.get("seen", "")
        try:
            with lock_for_change(membership.project, membership.account, Role.DEVELOPER):
                change_receiver(client, membership.account, channel, url, **options, seen=seen)
        except ChangedMeanwhile:
            messages.error(request, CHANGED)
        except ValidationError as error:
            messages.error(request, " ".join(error.messages))
    return redirect_to_client(client, "playground_events")
