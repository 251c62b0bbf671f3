"""Store deliveries in the transaction of their cause. Workers send them after the commit (oidc/events/sending.py).

An app gets events only about people who are connected to it, and only what its scopes let it know
(docs/events.md#what-an-app-learns).
"""

from collections.abc import Collection, Iterable
from functools import partial
from typing import Any

from django.db import connection as database
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from accounts.models import Account
from core import clock
from core.credentials import random_text
from oidc.events.tasks import announce
from oidc.models import Connection, Delivery, EventReceiver, ProjectMember, TokenFamily
from oidc.values.event_types import EventType

JTI_LENGTH = 22  # 130 random bits
BATCH = 1000

Channel = EventReceiver.Channel


def queue_event(event: EventType, connections: "QuerySet[Connection]", *, scope: str = "", **details: Any) -> None:
    """Queue a security event about the people of `connections`, for the apps that are connected and want it.

    With `scope`, only apps that the person granted this scope get it. `details` are members of the event.
    """
    if event.needs_review:
        members = ProjectMember.objects.filter(project=OuterRef("client__project"), account=OuterRef("account"))
        is_reviewed = Q(client__verified_at__isnull=False) | Q(client__first_party=True)
        connections = connections.filter(is_reviewed | Exists(members))
    receivers = EventReceiver.objects.exclude(url="").filter(
        channel=Channel.EVENTS, client__connections__in=connections.filter(removed_at=None)
    )
    found = receivers.values_list(
        "pk", "types", *(f"client__connections__{name}" for name in ("pk", "subject__sub", "scopes"))
    )
    wanted = [
        (receiver, connection, sub)
        for receiver, types, connection, sub, scopes in found
        if sub and _wants(types, event) and (not scope or scope in scopes.split())
    ]
    held = _hold({connection for _, connection, _ in wanted})
    store(
        _delivery(receiver, event, connection=connection, sub=sub, details=details)
        for receiver, connection, sub in wanted
        if connection in held
    )


def _hold(keys: Collection[int]) -> set[int]:
    """Keep connections from being deleted until the transaction ends; return the ones that still exist.

    Without it, the cause of an event would fail if an app were deleted at the same moment. `FOR KEY SHARE` waits for
    nothing else, so it can't be part of a deadlock with transactions that lock connections first.
    """
    if not keys or database.vendor != "postgresql":
        return set(keys)
    with database.cursor() as cursor:
        cursor.execute("SELECT id FROM oidc_connection WHERE id = ANY(%s) ORDER BY id FOR KEY SHARE", [sorted(keys)])
        return {pk for (pk,) in cursor.fetchall()}


def queue_for_account(event: EventType, account: Account, *, scope: str = "", **details: Any) -> None:
    """Queue a security event about a person for all apps that are connected to them; see `queue_event`."""
    queue_event(event, Connection.objects.filter(account=account), scope=scope, **details)


def end_app_sessions(families: "QuerySet[TokenFamily]", *, tells_events: bool = True) -> None:
    """Queue a logout token, and `session-revoked` if `tells_events`, for each session of an app in `families`.

    Each session is reported once: its families forget the browser session. An app that the person has removed learns
    nothing more.
    """
    families = families.exclude(session_tag="")
    path = "connection__client__receivers__"
    rows = families.filter(**{f"{path}url__gt": ""}, connection__removed_at=None).values_list(
        "pk", f"{path}pk", f"{path}channel", f"{path}types", "connection_id", "connection__subject__sub", "sid"
    )
    told = [row for row in rows if row[5] and _tells(row[2], row[3], tells_events=tells_events)]
    if not told:
        return
    # Another transaction may be ending the same sessions. The one that locks the families first reports them.
    locked = families.order_by("pk").select_for_update(no_key=True, of=("self",))
    ended = {family.pk for family in locked.only("pk")} & {row[0] for row in told}
    found = dict.fromkeys(row[1:] for row in told if row[0] in ended)
    store(
        _delivery(receiver, _session_event(channel), connection=connection, sub=sub, sid=sid)
        for receiver, channel, _, connection, sub, sid in found
    )
    TokenFamily.objects.filter(pk__in=ended).update(session_tag="")


def _session_event(channel: str) -> EventType:
    return EventType.LOGOUT if channel == Channel.LOGOUT else EventType.SESSION_REVOKED


def _tells(channel: str, types: str, *, tells_events: bool) -> bool:
    return channel == Channel.LOGOUT or (tells_events and _wants(types, EventType.SESSION_REVOKED))


def _wants(types: str, event: EventType) -> bool:
    return not types or event in types.split()


def _delivery(receiver: int, event: EventType, **fields: Any) -> Delivery:
    now = clock.now()
    if "connection" in fields:
        fields["connection_id"] = fields.pop("connection")
    return Delivery(
        receiver_id=receiver, event=event, jti=random_text(JTI_LENGTH), happened_at=now, not_before=now, **fields
    )


def store(deliveries: Iterable[Delivery]) -> None:
    """Store deliveries, and let a worker send them after the commit."""
    rows = list(deliveries)
    if not rows:
        return
    Delivery.objects.bulk_create(rows, batch_size=BATCH)
    announce_later({row.receiver_id for row in rows})


def announce_later(receivers: Collection[int]) -> None:
    """Let workers send to these receivers as soon as the transaction is committed."""
    transaction.on_commit(partial(announce, sorted(receivers)), robust=True)


def queue_test(receiver: EventReceiver) -> Delivery:
    """Queue a test: a `verification` event, or a logout token about nobody. Return the delivery."""
    event = EventType.LOGOUT if receiver.channel == Channel.LOGOUT else EventType.VERIFICATION
    # OpenID Connect Back-Channel Logout 1.0, 2.4 requires a `sub` or a `sid`; no session has this one.
    fields = {"sid": random_text(43)} if event == EventType.LOGOUT else {"details": {"state": random_text(22)}}
    row = _delivery(receiver.pk, event, **fields)
    store([row])
    return row


def sessions_of(account: Account | None, tags: list[str] | None, kept: str) -> "QuerySet[TokenFamily]":
    """Return the families of ended browser sessions; the arguments are those of `accounts.signals.sessions_ended`."""
    if tags is not None:
        return TokenFamily.objects.filter(session_tag__in=tags)
    return TokenFamily.objects.filter(Q(connection__account=account) & ~Q(session_tag=kept))
