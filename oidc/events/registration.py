"""Change where a client receives events, and send, repeat and resume deliveries. Changes are audited."""

from collections.abc import Collection
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet

from accounts.models import Account
from core import clock
from core.audit import changes
from core.changed_meanwhile import ChangedMeanwhile, digest_of
from oidc.clients.lookup import lock_client, report_client_event
from oidc.events.queueing import announce_later, queue_test
from oidc.events.receiver_urls import check_receiver_url
from oidc.models import Client, Delivery, EventReceiver
from oidc.values.event_types import EventType

Channel = EventReceiver.Channel
_WELL = {"failures": 0, "failing_since": None, "retry_at": None, "paused_at": None}


def receiver_of(client: Client, channel: str) -> EventReceiver:
    """Return the client's receiver of a channel; one that is not stored yet if it was never set up."""
    found = EventReceiver.objects.filter(client=client, channel=channel).first()
    return found or EventReceiver(client=client, channel=channel)


def receiver_digest(receiver: EventReceiver) -> str:
    """Return a digest of what developers choose for a receiver, which tells whether someone has changed it."""
    return digest_of([receiver.url, receiver.session_required, receiver.types])


def change_logout_receiver(
    client: Client, actor: Account | None, *, url: str, session_required: bool, seen: str = ""
) -> None:
    """Set the client's `backchannel_logout_uri` ("" for none), and whether it needs a `sid`.

    `actor` is None for a provisioned file. `seen` is the `receiver_digest` that the person saw; with "", changes since
    then are replaced. Raises ValidationError, ChangedMeanwhile, Gone.
    """
    _change(client, actor, Channel.LOGOUT, {"url": url, "session_required": session_required}, seen)


def change_event_receiver(
    client: Client, actor: Account | None, *, url: str, types: Collection[str], seen: str = ""
) -> None:
    """Set the URL that gets the client's security events ("" for none), and their types (none: all).

    `seen` is as in `change_logout_receiver`. Raises ValidationError, ChangedMeanwhile, Gone.
    """
    wanted = [each.value for each in EventType.choosable() if each in types]
    stored = "" if len(wanted) == len(EventType.choosable()) else " ".join(wanted)
    _change(client, actor, Channel.EVENTS, {"url": url, "types": stored}, seen)


def event_types(names: Collection[str]) -> list[EventType]:
    """Return the event types with these names, each the last part of its URI or the URI. Raises ValidationError."""
    known = {name: each for each in EventType.choosable() for name in (each.value, each.uri)}
    if unknown := next((name for name in names if name not in known), ""):
        raise ValidationError(f"{unknown[:100]} is not an event type. Choose from: {', '.join(EventType.choosable())}.")
    return list(dict.fromkeys(known[name] for name in names))


def _change(client: Client, actor: Account | None, channel: str, values: dict[str, Any], seen: str) -> None:
    with transaction.atomic():
        row = receiver_of(lock_client(client.pk, with_project=True), channel)
        if values["url"]:
            check_receiver_url(row.client, values["url"])
        before = {name: getattr(row, name) for name in values}
        was, now = changes(before, values)
        if not now:
            return
        if seen and seen != receiver_digest(row):
            raise ChangedMeanwhile
        written = values | (_WELL | {"fast_tries": 0, "is_slow": False} if "url" in now else {})
        for name, value in written.items():
            setattr(row, name, value)
        # A worker may have claimed or paused the receiver since it was read.
        row.save(update_fields=written if row.pk else None)
        if "url" in now and row.url:
            _wait_no_longer(row)
        report_client_event(
            "client.events_changed", row.client, actor, details={"channel": channel}, before=was, after=now
        )


def resume(receiver: EventReceiver, actor: Account) -> None:
    """Send again to a receiver that is paused or failing: everything that waits is due now. Raises Gone."""
    with transaction.atomic():
        client = lock_client(receiver.client_id, with_project=True)
        EventReceiver.objects.filter(pk=receiver.pk).update(**_WELL)
        _wait_no_longer(receiver)
        report_client_event("client.events_resumed", client, actor, details={"channel": receiver.channel})


def _wait_no_longer(receiver: EventReceiver) -> None:
    Delivery.objects.waiting().filter(receiver=receiver).update(not_before=clock.now(), attempts=0)
    announce_later([receiver.pk])


def send_again(delivery: Delivery, actor: Account) -> bool:
    """Make one delivery due now, with eight new tries, even if it failed or was delivered. Raises Gone.

    Return whether it is still stored.
    """
    return _send_again(delivery.receiver, Delivery.objects.filter(pk=delivery.pk), actor) > 0


def send_failed_again(receiver: EventReceiver, actor: Account) -> int:
    """Do the same for all deliveries of a receiver that have failed; return how many there are. Raises Gone."""
    return _send_again(receiver, Delivery.objects.filter(receiver=receiver, state=Delivery.State.FAILED), actor)


def _send_again(receiver: EventReceiver, rows: "QuerySet[Delivery]", actor: Account) -> int:
    with transaction.atomic():
        client = lock_client(receiver.client_id, with_project=True)
        EventReceiver.objects.filter(pk=receiver.pk).update(retry_at=None)
        count = rows.update(state=Delivery.State.WAITING, not_before=clock.now(), attempts=0, delivered_at=None)
        announce_later([receiver.pk])
        details = {"channel": receiver.channel, "deliveries": count}
        report_client_event("client.events_sent_again", client, actor, details=details)
    return count


def send_test(receiver: EventReceiver, actor: Account) -> Delivery:
    """Queue a test delivery and return it. Raises Gone."""
    with transaction.atomic():
        client = lock_client(receiver.client_id, with_project=True)
        EventReceiver.objects.filter(pk=receiver.pk).update(retry_at=None)
        report_client_event("client.events_tested", client, actor, details={"channel": receiver.channel})
        return queue_test(receiver)
