"""Sends deliveries: each at least once, one at a time for each receiver.

A worker claims a receiver for a short time and sends its deliveries, the oldest first, until one fails. If the worker
dies between a try and its result, another one repeats the try with the same `jti` when the claim is over. One worker at
a time sends to a project and to a host, and only a few send to receivers that are slow or not known to be fast, so that
apps that respond quickly never wait for others.
"""

import contextlib
import logging
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from celery.exceptions import SoftTimeLimitExceeded
from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import DatabaseError, connection, transaction
from django.db.models import Count, Exists, Min, OuterRef, Q, QuerySet, Subquery

from core import clock
from core.outbound.fetching import post
from core.outbound.targets import OutboundRefused
from core.telemetry import metrics
from oidc.clients.lookup import lock_client, report_client_event
from oidc.events import receiver_urls, tokens
from oidc.models import Client, Connection, Delivery, EventReceiver
from oidc.models.events import FAST_TRIES, PAUSE_AFTER_TRIES
from oidc.projects.roles import Gone
from oidc.signals import playground_delivery, receiver_paused
from oidc.tokens.signing_keys import NoSigningKey

log = logging.getLogger(__name__)

# Pauses after each failed try of a delivery: eight tries in about 24 hours.
PAUSES = tuple(timedelta(minutes=minutes) for minutes in (0.5, 2, 10, 60, 180, 420, 768))
TRIES = len(PAUSES) + 1
# Pause of a receiver after a failure, doubled for each further one; its other deliveries wait for it as well.
FIRST_PAUSE, LONGEST_PAUSE = timedelta(seconds=5), timedelta(minutes=10)
JITTER = 0.1  # pauses are up to this much longer or shorter
CLAIM = timedelta(seconds=30)  # longer than a try takes
RUN_SECONDS = 5.0  # for one receiver in one run; then others get their turn
SLOW_SECONDS = 1.0  # longer tries are slow
TRIES_KEPT = 16
# Errors of a try: its URL is no longer allowed (receiver_urls.py); there is a mistake in the service itself; it was not
# made, because too many deliveries were waiting.
NOT_ALLOWED, INTERNAL, TOO_MANY = "not_allowed", "internal", "too_many_waiting"


@dataclass(frozen=True)
class Result:
    """What one try brought: an HTTP status, or why there is none (a code of core/outbound/targets.py)."""

    status: int | None = None
    error: str = ""
    answer: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)  # of the error's text

    @property
    def is_delivered(self) -> bool:
        """Whether the app accepted it: any 2xx status, as RFC 8935 and Back-Channel Logout differ in theirs."""
        return self.status is not None and 200 <= self.status < 300

    @property
    def details(self) -> dict[str, Any]:
        """The result as an entry of `Delivery.tries` has it."""
        if self.status is not None:
            return {"status": self.status}
        return {"error": self.error} | ({"parameters": dict(self.parameters)} if self.parameters else {})


def due_receivers() -> list[int]:
    """Return one receiver of each project and host that a worker may claim now, in random order."""
    return _taking_turns(_claimable())


def next_receivers(pk: int) -> list[int]:
    """Return the receivers whose turn comes after a run for `pk`, at most two.

    One is of the same project or host, maybe `pk` itself, because they waited for this run. After a run for one that is
    not known to be fast, another such receiver follows.
    """
    run = EventReceiver.objects.filter(pk=pk).values_list("client__project", "host", "fast_tries").first()
    if run is None:
        return []
    project, host, fast_tries = run
    rows = [_claimable().filter(Q(client__project=project) | Q(host=host))]
    if fast_tries < FAST_TRIES:
        rows.append(_claimable().filter(fast_tries__lt=FAST_TRIES))
    return list(dict.fromkeys(pk for found in rows for pk in _taking_turns(found)[:1]))


def _taking_turns(rows: "QuerySet[EventReceiver]") -> list[int]:
    """Return one receiver of each project and host, in random order, so that many receivers are no advantage."""
    pks = list(rows.values_list("pk", flat=True))  # without a join, so that the rows are found by their deliveries
    found = list(EventReceiver.objects.filter(pk__in=pks).values_list("pk", "client__project", "host"))
    random.shuffle(found)
    chosen: list[int] = []
    projects, hosts = set(), set()
    for pk, project, host in found:
        if project not in projects and host not in hosts:
            chosen.append(pk)
            projects.add(project)
            hosts.add(host)
    random.shuffle(chosen)
    return chosen


def _claimable() -> "QuerySet[EventReceiver]":
    """Return the free receivers with a delivery that is due; only the fast ones if enough workers send to others."""
    claimed = _claimed()
    rows = _free(claimed).filter(_has_due())
    others = sum(fast_tries < FAST_TRIES for _, _, fast_tries in claimed)
    return rows.filter(fast_tries=FAST_TRIES) if others >= settings.SLOW_RECEIVERS_AT_ONCE else rows


def _claimed() -> list[tuple[int, str, int]]:
    """Return project, host and fast tries of each receiver that a worker sends to now."""
    rows = EventReceiver.objects.filter(busy_until__gt=clock.now())
    return list(rows.values_list("client__project", "host", "fast_tries"))


def _has_due() -> Exists:
    return Exists(Delivery.objects.due().filter(receiver=OuterRef("pk")))


def _open() -> "QuerySet[EventReceiver]":
    """Return the receivers to which something may be sent. Those of apps that are off wait until they are on.

    There is no join, so that an UPDATE checks all conditions again after it waited for another worker's claim.
    """
    clients = Client.objects.filter(pk=OuterRef("client"), enabled=True)
    clients = clients.filter(project__suspended_at=None, project__deleted_at=None)
    return EventReceiver.objects.exclude(url="").filter(Exists(clients), paused_at=None)


def _free(claimed: list[tuple[int, str, int]]) -> "QuerySet[EventReceiver]":
    """Return the open receivers that are not waiting after a failure, and to whose project and host no worker sends."""
    projects, hosts = {project for project, _, _ in claimed}, {host for _, host, _ in claimed}
    waiting = Client.objects.filter(pk=OuterRef("client"), project__in=projects)
    return _open().filter(~Exists(waiting), Q(retry_at=None) | Q(retry_at__lte=clock.now())).exclude(host__in=hosts)


def oldest_due() -> datetime | None:
    """Return when the oldest delivery became due that only waits for a free worker, None if there is none.

    Deliveries to receivers that are not known to be fast do not count, because they wait for each other.
    """
    due = Delivery.objects.due().filter(receiver=OuterRef("pk")).values("not_before")[:1]
    found: datetime | None = (
        _free(_claimed()).filter(fast_tries=FAST_TRIES).aggregate(oldest=Min(Subquery(due)))["oldest"]
    )
    return found


def fail_excess() -> int:
    """Let the newest deliveries fail if more wait than may wait for one project, or about one person for one receiver.

    Developers can send them again. Return how many failed.
    """
    waiting = Delivery.objects.waiting().order_by()
    per_person = waiting.exclude(sub="").values("receiver", "sub")
    per_project = waiting.values("receiver__client__project")
    failed = 0
    for rows, most in (
        (per_person, settings.DELIVERIES_PER_PERSON),
        (per_project, settings.DELIVERIES_PER_PROJECT),
    ):
        for group in rows.annotate(number=Count("pk")).filter(number__gt=most):
            shared = {name: value for name, value in group.items() if name != "number"}
            newest = waiting.filter(**shared).order_by("-pk")[: group["number"] - most]
            tries = [{"at": clock.now().isoformat(timespec="seconds"), "seconds": 0, "error": TOO_MANY}]
            failed += waiting.filter(pk__in=list(newest.values_list("pk", flat=True))).update(
                state=Delivery.State.FAILED, tries=tries
            )
    return failed


def send_to(pk: int) -> int:
    """Send the due deliveries of one receiver until one fails; return how many were accepted.

    Stops after RUN_SECONDS, and does nothing while another worker sends to it. Call it outside of a transaction.
    """
    claimed = _claim(pk)
    accepted, until = 0, time.monotonic() + RUN_SECONDS
    while claimed is not None and _send_next(pk, claimed):
        accepted += 1
        renewed = _renew(pk, claimed) if time.monotonic() < until else None
        if renewed is None:
            break
        claimed = renewed
    if claimed is not None:
        EventReceiver.objects.filter(pk=pk, busy_until=claimed).update(busy_until=None)
    return accepted


def _send_next(pk: int, claimed: datetime) -> bool:
    """Send the oldest delivery that is due; return whether there was one and the app accepted it."""
    receiver = EventReceiver.objects.select_related("client__project").filter(pk=pk, busy_until=claimed).first()
    delivery = Delivery.objects.due().filter(receiver=pk).select_related("connection__account").first()
    return receiver is not None and delivery is not None and _try(receiver, delivery)


def _claim(pk: int) -> datetime | None:
    """Claim a receiver; return the end of the claim, None if it is not claimable."""
    until = clock.now() + CLAIM
    with transaction.atomic():
        if connection.vendor == "postgresql":  # one claim after the other, because a claim depends on all others
            connection.cursor().execute("SELECT pg_advisory_xact_lock(hashtext('claim of an event receiver'))")
        return until if _claimable().filter(pk=pk).update(busy_until=until) else None


def _renew(pk: int, claimed: datetime) -> datetime | None:
    """Extend a claim; return its new end, None if it was lost by taking too long, or the receiver is not open now."""
    until = clock.now() + CLAIM
    return until if _open().filter(pk=pk, busy_until=claimed).update(busy_until=until) else None


def _try(receiver: EventReceiver, delivery: Delivery) -> bool:
    """Send a delivery once and store the result; return whether the app accepted it."""
    began = time.monotonic()
    result = _send(receiver, delivery)
    seconds = time.monotonic() - began
    _note_speed(receiver, is_slow=seconds > SLOW_SECONDS)
    entry = {"at": clock.now().isoformat(timespec="seconds"), "seconds": round(seconds, 2)} | result.details
    delivery.tries = [*delivery.tries, entry][-TRIES_KEPT:]
    delivery.answer = result.answer
    metrics.DELIVERIES.count(receiver.channel, "accepted" if result.is_delivered else "failed")
    with transaction.atomic():
        if result.is_delivered:
            _note_accepted(receiver, delivery)
        else:
            _note_failure(receiver, delivery)
    return result.is_delivered


def _note_speed(receiver: EventReceiver, *, is_slow: bool) -> None:
    fast = 0 if is_slow else min(receiver.fast_tries + 1, FAST_TRIES)
    slow = is_slow or (receiver.is_slow and fast < FAST_TRIES)
    if (fast, slow) != (receiver.fast_tries, receiver.is_slow):
        EventReceiver.objects.filter(pk=receiver.pk, url=receiver.url).update(fast_tries=fast, is_slow=slow)


def _send(receiver: EventReceiver, delivery: Delivery) -> Result:
    client = receiver.client
    try:
        receiver_urls.check_receiver_url(client, receiver.url)
        body, content_type = tokens.message_of(delivery, client)
        if receiver.url == receiver_urls.playground_receiver_url():
            return _hand_over(client, body, content_type)
        reply = post(receiver.url, body, content_type, loopback=receiver_urls.may_be_loopback(client))
    except ValidationError:
        return Result(error=NOT_ALLOWED)
    except OutboundRefused as refused:
        return Result(error=refused.code, parameters=refused.parameters)
    except (DatabaseError, NoSigningKey, SoftTimeLimitExceeded):  # repeated when the claim is over
        raise
    except Exception:  # one delivery must not keep the receiver's others from being sent
        log.exception("Delivery %d could not be sent.", delivery.pk)
        return Result(error=INTERNAL)
    return Result(reply.status, answer=reply.beginning)


def _hand_over(client: Client, body: bytes, content_type: str) -> Result:
    """Deliver to the playground's receiver within the process."""
    answers = playground_delivery.send(sender=EventReceiver, client=client, body=body, content_type=content_type)
    replies: list[Any] = [reply for _, reply in answers if reply is not None]
    return Result(replies[0].status, answer=replies[0].beginning) if replies else Result(error=NOT_ALLOWED)


# The receiver is locked before its deliveries, as in oidc/events/registration.py.


def _note_accepted(receiver: EventReceiver, delivery: Delivery) -> None:
    if receiver.failures and (row := _lock_as_tried(receiver)):
        row.failures, row.failing_since, row.retry_at = 0, None, None
        row.save(update_fields=["failures", "failing_since", "retry_at"])
    answer = _kept_answer(delivery)
    Delivery.objects.filter(pk=delivery.pk).update(
        state=Delivery.State.DELIVERED, delivered_at=clock.now(), tries=delivery.tries, answer=answer
    )


def _note_failure(receiver: EventReceiver, delivery: Delivery) -> None:
    """Store a failed try, and when to try again; pause a receiver that has failed for long, and tell its developers."""
    now, attempts = clock.now(), delivery.attempts + 1
    is_over = attempts >= TRIES
    if receiver.failures + 1 >= PAUSE_AFTER_TRIES:
        # It may be paused, and the notices about that refer to the client and the project's members: a deletion of one
        # of them waits here, or has finished before.
        with contextlib.suppress(Gone):
            lock_client(receiver.client_id, with_project=True)
    row = _lock_as_tried(receiver)
    waiting = Delivery.objects.waiting().filter(pk=delivery.pk)
    waiting.update(tries=delivery.tries, answer=_kept_answer(delivery))
    # Unless it was sent again, or the receiver resumed, during the try.
    waiting.filter(attempts=delivery.attempts, not_before=delivery.not_before).update(
        attempts=attempts,
        state=Delivery.State.FAILED if is_over else Delivery.State.WAITING,
        not_before=now if is_over else now + _varied(PAUSES[attempts - 1]),
    )
    if row is None:
        return
    row.failures += 1
    row.failing_since = row.failing_since or now
    row.retry_at = now + _varied(min(FIRST_PAUSE * 2 ** min(row.failures - 1, 20), LONGEST_PAUSE))
    if row.has_failed_for_long(is_over=is_over):
        row.paused_at = now
    row.save(update_fields=["failures", "failing_since", "retry_at", "paused_at"])
    if row.paused_at:
        report_client_event("client.events_paused", receiver.client, None, details={"channel": receiver.channel})
        receiver_paused.send(sender=EventReceiver, receiver=row)


def _kept_answer(delivery: Delivery) -> str:
    """Return what is stored of the app's response: nothing once the account is deleted, whose email it may repeat.

    The delivery stays locked, so a deletion at this moment either came first, or removes what is stored now.
    """
    if not delivery.answer or delivery.connection_id is None:
        return delivery.answer
    list(Delivery.objects.select_for_update(no_key=True).filter(pk=delivery.pk).values_list("pk"))
    is_known = Connection.objects.filter(pk=delivery.connection_id).exclude(account=None).exists()
    return delivery.answer if is_known else ""


def _lock_as_tried(receiver: EventReceiver) -> EventReceiver | None:
    """Lock and return a receiver as it is now; None if its try no longer says anything about it.

    That is so after its URL was changed or it was resumed, or if this worker took so long that another one claimed it.
    """
    rows = EventReceiver.objects.select_for_update(no_key=True, of=("self",)).select_related("client__project")
    same = rows.filter(pk=receiver.pk, url=receiver.url, busy_until=receiver.busy_until, paused_at=None)
    return same.filter(failing_since=receiver.failing_since).first()


def _varied(pause: timedelta) -> timedelta:
    """Return a pause with jitter, so that apps that failed together are not all tried again at once."""
    return pause * random.uniform(1 - JITTER, 1 + JITTER)  # noqa: S311  (not a secret)
