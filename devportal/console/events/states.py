"""The state of a client's receivers, as its page shows it."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum, auto

from django.db.models import Count, IntegerField, OuterRef, Subquery
from django.db.models.functions import Coalesce

from devportal.console.events.tries import Try, read_try
from oidc.events.receiver_urls import playground_receiver_url
from oidc.events.registration import receiver_digest
from oidc.models import Client, Delivery, EventReceiver

NEWEST = 50  # deliveries that are searched for the latest test and the latest failure


class State(StrEnum):
    """The state of a receiver."""

    OFF = auto()
    ON_HOLD = auto()  # the app is off, or its project suspended
    PAUSED = auto()
    FAILING = auto()
    WORKING = auto()
    UNUSED = auto()  # nothing was delivered yet


@dataclass(frozen=True)
class ReceiverStatus:
    """A receiver with its state. `failure` is its latest failed try, `test` its latest test."""

    receiver: EventReceiver
    state: State
    waiting: int = 0
    failed: int = 0
    failure: Try | None = None
    test: Delivery | None = None
    test_try: Try | None = None

    @property
    def is_playground(self) -> bool:
        """Whether it is the playground's receiver."""
        return self.receiver.url == playground_receiver_url()

    @property
    def digest(self) -> str:
        """A digest of its values, with which a form tells what its page showed."""
        return receiver_digest(self.receiver)

    @property
    def is_testing(self) -> bool:
        """Whether the latest test waits for its first try."""
        runs = self.state not in (State.OFF, State.ON_HOLD, State.PAUSED)
        return runs and self.test is not None and not self.test.tries and self.test.state == Delivery.State.WAITING

    @property
    def may_resume(self) -> bool:
        """Whether resuming changes anything."""
        return self.state in (State.PAUSED, State.FAILING)


def statuses(client: Client) -> dict[str, ReceiverStatus]:
    """Return the status of the client's receiver of each channel, also of one that was never set up.

    Takes at most four statements.
    """
    rows = EventReceiver.objects.filter(client=client).annotate(
        waiting=_count(Delivery.State.WAITING), failed=_count(Delivery.State.FAILED)
    )
    found = {row.channel: row for row in rows}
    tried = _tried([row for row in found.values() if row.failing_since is not None])
    return {channel: _status(client, channel, found.get(channel), tried) for channel in EventReceiver.Channel.values}


def _count(state: str) -> Coalesce:
    """Return how many deliveries of a receiver have a state. Both states that are counted have an index."""
    rows = Delivery.objects.filter(receiver=OuterRef("pk"), state=state).order_by().values("receiver")
    return Coalesce(Subquery(rows.annotate(n=Count("pk")).values("n"), output_field=IntegerField()), 0)


def _tried(receivers: Sequence[EventReceiver]) -> list[Delivery]:
    """Return the latest waiting deliveries that were tried: the ones with the latest `not_before`."""
    if not receivers:
        return []
    rows = Delivery.objects.waiting().filter(receiver__in=receivers, attempts__gt=0)
    return list(rows.order_by("-not_before").defer("answer")[:NEWEST])


def _status(client: Client, channel: str, row: "EventReceiver | None", tried: Sequence[Delivery]) -> ReceiverStatus:
    if row is None:
        return ReceiverStatus(EventReceiver(client=client, channel=channel), State.OFF)
    newest = list(Delivery.objects.filter(receiver=row).order_by("-pk").defer("answer")[:NEWEST])
    test = next((each for each in newest if each.is_test), None)
    test_try = read_try(test.tries[-1], row.url) if test and test.tries else None
    state = _state(client, row, newest)
    failure = _latest_failure(row, [*tried, *newest]) if state in (State.PAUSED, State.FAILING) else None
    counts = {name: getattr(row, name) for name in ("waiting", "failed")}
    return ReceiverStatus(row, state, **counts, failure=failure, test=test, test_try=test_try)


def _state(client: Client, row: EventReceiver, newest: Sequence[Delivery]) -> State:
    if not row.url:
        return State.OFF
    if row.is_paused:
        return State.PAUSED
    if not client.is_on:
        return State.ON_HOLD
    if row.failing_since is not None:
        return State.FAILING
    return State.WORKING if any(each.state == Delivery.State.DELIVERED for each in newest) else State.UNUSED


def _latest_failure(row: EventReceiver, deliveries: Sequence[Delivery]) -> Try | None:
    failed = [each for each in deliveries if each.receiver_id == row.pk and each.state != Delivery.State.DELIVERED]
    latest = max((each.tries[-1] for each in failed if each.tries), key=lambda entry: str(entry["at"]), default=None)
    return read_try(latest, row.url) if latest else None
