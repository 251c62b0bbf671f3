"""When deliveries are tried again, when a receiver is paused, and what changes during a try."""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pytest

from accounts.models import Account
from core import clock
from core.outbound.fetching import Reply
from core.outbound.targets import Code, OutboundRefused
from oidc.events import queueing, registration, sending, tasks, tokens
from oidc.events.tokens import message_of
from oidc.models import Client, Delivery, EventReceiver, Project
from oidc.models.events import FAST_TRIES
from oidc.signals import receiver_paused
from tests.factories import make_client, make_delivery, make_receiver
from tests.inbox import send_due

pytestmark = pytest.mark.django_db

Later = Callable[[float], None]
State = Delivery.State
DOCUMENTED = [timedelta(minutes=minutes) for minutes in (0, 0.5, 2.5, 12.5, 72.5, 252.5, 672.5, 1440.5)]


class App:
    """An app that answers as a test says; it notes when each delivery arrived."""

    def __init__(self) -> None:
        self.status = 500
        self.arrived: list[tuple[str, datetime]] = []
        self.act: Callable[[], None] = lambda: None

    def post(self, url: str, body: bytes, content_type: str, **options: Any) -> Reply:
        self.arrived.append((body.decode(), clock.now()))
        self.act()
        return Reply(self.status, "")

    @property
    def jtis(self) -> list[str]:
        return [jti for jti, _ in self.arrived]


@pytest.fixture
def far_app(monkeypatch: pytest.MonkeyPatch) -> App:
    app = App()
    monkeypatch.setattr(sending, "post", app.post)
    monkeypatch.setattr(tokens, "message_of", lambda delivery, client: (delivery.jti.encode(), "text/plain"))
    return app


def queue(receiver: EventReceiver, count: int = 1) -> list[Delivery]:
    return [queueing.queue_test(receiver) for _ in range(count)]


def state(delivery: Delivery) -> str:
    return Delivery.objects.get(pk=delivery.pk).state


def next_due() -> datetime | None:
    """Return when something is tried next, None if nothing waits."""
    waiting = Delivery.objects.waiting().select_related("receiver")
    times = [max(row.not_before, row.receiver.retry_at or row.not_before) for row in waiting]
    return min(times, default=None)


def send_until(later: Later, end: Callable[[], bool]) -> None:
    """Move the clock from try to try until `end` is true or nothing waits."""
    for _ in range(400):
        if end() or (due := next_due()) is None:
            return
        later(max(0.0, (due - clock.now()).total_seconds()) + 0.001)
        send_due()
    raise AssertionError("it does not end")


@pytest.fixture
def told() -> Iterator[list[EventReceiver]]:
    """The receivers that were reported as paused."""
    paused: list[EventReceiver] = []

    def note(sender: Any, receiver: EventReceiver, **kwargs: Any) -> None:
        paused.append(receiver)

    receiver_paused.connect(note)
    yield paused
    receiver_paused.disconnect(note)


def test_eight_tries_in_about_a_day_then_it_has_failed(
    event_receiver: EventReceiver, far_app: App, later: Later, told: list[EventReceiver]
) -> None:
    (delivery,) = queue(event_receiver)
    began = clock.now()
    send_until(later, lambda: state(delivery) == State.FAILED)
    after = [moment - began for _, moment in far_app.arrived]
    assert len(after) == sending.TRIES == 8
    for took, documented in zip(after, DOCUMENTED, strict=True):
        assert documented * 0.9 - timedelta(seconds=1) <= took <= documented * 1.1 + timedelta(seconds=1)
    assert len(set(far_app.jtis)) == 1
    row = Delivery.objects.get(pk=delivery.pk)
    assert ([each["status"] for each in row.tries], row.attempts) == ([500] * 8, 8)
    # Its only delivery failed for a day: the developers are told, even if jitter made the day a little shorter.
    assert [each.pk for each in told] == [event_receiver.pk]


def test_jitter_spreads_the_tries_of_apps_that_failed_together() -> None:
    pauses = [sending._varied(timedelta(minutes=10)) for _ in range(200)]
    assert min(pauses) >= timedelta(minutes=9)
    assert max(pauses) <= timedelta(minutes=11)
    assert max(pauses) - min(pauses) > timedelta(minutes=1)


def test_an_app_that_fails_for_a_day_is_paused_once_and_resumes_in_order(
    event_receiver: EventReceiver, far_app: App, later: Later, told: list[EventReceiver], person: Account
) -> None:
    queued = queue(event_receiver, 30)

    def is_paused() -> bool:
        return EventReceiver.objects.get(pk=event_receiver.pk).is_paused

    began = clock.now()
    send_until(later, is_paused)
    assert timedelta(hours=24) <= clock.now() - began <= timedelta(hours=24, minutes=12)
    assert [each.pk for each in told] == [event_receiver.pk]
    assert not Delivery.objects.exclude(state=State.WAITING).exists()
    later(3600)
    queued += queue(event_receiver)
    assert (send_due(), len(told)) == (0, 1)
    tries = len(far_app.arrived)
    assert tries < 200, "an app that is down gets about one try in ten minutes"
    far_app.status = 204
    registration.resume(event_receiver, person)
    assert send_due() == 31
    assert far_app.jtis[tries:] == [delivery.jti for delivery in queued]
    assert EventReceiver.objects.get(pk=event_receiver.pk).failures == 0


def test_one_delivery_that_always_fails_delays_the_others_for_seconds(
    event_receiver: EventReceiver, far_app: App, later: Later, told: list[EventReceiver], monkeypatch: Any
) -> None:
    poison, *others = queue(event_receiver, 4)

    def post(url: str, body: bytes, *args: Any, **options: Any) -> Reply:
        far_app.status = 400 if body.decode() == poison.jti else 202
        return App.post(far_app, url, body, "")

    monkeypatch.setattr(sending, "post", post)
    assert send_due() == 0
    later(6)
    assert send_due() == 3
    assert [state(each) for each in (poison, *others)] == [State.WAITING, *[State.DELIVERED] * 3]
    assert (state(poison), told) == (State.WAITING, [])


def test_a_short_outage_pauses_nothing_even_if_a_delivery_has_its_last_try_in_it(
    event_receiver: EventReceiver, far_app: App, later: Later, told: list[EventReceiver]
) -> None:
    rejected, *_ = queue(event_receiver, 4)
    # The app accepted others all day, but never this one.
    began, last_try = clock.now(), clock.from_now(20 * 60)
    Delivery.objects.filter(pk=rejected.pk).update(attempts=sending.TRIES - 1, not_before=last_try)
    send_until(later, lambda: state(rejected) == State.FAILED)
    assert clock.now() - began < timedelta(hours=1)
    row = EventReceiver.objects.get(pk=event_receiver.pk)
    assert (row.failures > sending.TRIES, row.is_paused, told) == (True, False, [])


def test_a_mistake_of_the_service_in_one_delivery_does_not_hold_up_the_others(
    event_receiver: EventReceiver, far_app: App, later: Later, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken, other = queue(event_receiver, 2)
    Delivery.objects.filter(pk=broken.pk).update(event="unknown")
    monkeypatch.setattr(tokens, "message_of", message_of)
    far_app.status = 202
    send_due()
    later(6)
    send_due()
    row = Delivery.objects.get(pk=broken.pk)
    assert (row.tries[0]["error"], row.state, state(other)) == ("internal", State.WAITING, State.DELIVERED)


def test_deliveries_that_failed_or_arrived_are_sent_again_on_request(
    event_receiver: EventReceiver, far_app: App, person: Account
) -> None:
    failed, arrived = queue(event_receiver, 2)
    Delivery.objects.filter(pk=failed.pk).update(state=State.FAILED, attempts=8)
    far_app.status = 200
    assert send_due() == 1
    for each in (failed, arrived):
        registration.send_again(each, person)
    assert send_due() == 2
    assert far_app.jtis == [arrived.jti, failed.jti, arrived.jti]


def test_what_waits_for_an_app_that_is_off_is_sent_when_it_is_on_again(
    event_receiver: EventReceiver, far_app: App
) -> None:
    client, project = event_receiver.client, event_receiver.client.project
    far_app.status = 202
    queue(event_receiver)
    for rows, off, on in (
        (Client.objects.filter(pk=client.pk), {"enabled": False}, {"enabled": True}),
        (Project.objects.filter(pk=project.pk), {"suspended_at": clock.now()}, {"suspended_at": None}),
        (Project.objects.filter(pk=project.pk), {"deleted_at": clock.now()}, {"deleted_at": None}),
    ):
        rows.update(**off)
        pk = event_receiver.pk
        assert (send_due(), sending.send_to(pk), sending.next_receivers(pk)) == (0, 0, [])
        rows.update(**on)
    assert sending.next_receivers(event_receiver.pk) == [event_receiver.pk]
    assert send_due() == 1


@pytest.mark.parametrize("change", ["client off", "project suspended", "no URL"])
def test_a_run_ends_when_the_app_is_turned_off(event_receiver: EventReceiver, far_app: App, change: str) -> None:
    queue(event_receiver, 3)
    client = event_receiver.client
    far_app.status = 202

    def act() -> None:
        if change == "client off":
            Client.objects.filter(pk=client.pk).update(enabled=False)
        elif change == "project suspended":
            Project.objects.filter(pk=client.project_id).update(suspended_at=clock.now())
        else:
            registration.change_event_receiver(client, None, url="", types=[])

    far_app.act = act
    assert (send_due(), len(far_app.arrived)) == (1, 1)
    row = EventReceiver.objects.get(pk=event_receiver.pk)
    assert (row.failures, row.busy_until) == (0, None)
    assert Delivery.objects.waiting().filter(tries=[]).count() == 2


def test_a_receiver_with_nothing_to_send_is_not_claimed(
    event_receiver: EventReceiver, far_app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    def end_of_the_process(*_: Any) -> None:
        raise SystemExit

    # A management command may end while a thread of it looks for deliveries.
    monkeypatch.setattr(sending, "_send_next", end_of_the_process)
    assert sending.send_to(event_receiver.pk) == 0
    assert EventReceiver.objects.get(pk=event_receiver.pk).busy_until is None


def test_a_failure_at_the_old_url_does_not_count_against_the_new_one(
    event_receiver: EventReceiver, far_app: App, later: Later, told: list[EventReceiver]
) -> None:
    (delivery,) = queue(event_receiver)
    since = clock.now() - timedelta(hours=30)
    EventReceiver.objects.filter(pk=event_receiver.pk).update(failures=50, failing_since=since)
    new = event_receiver.url + "/new"
    far_app.act = lambda: registration.change_event_receiver(event_receiver.client, None, url=new, types=[])
    send_due()
    row = EventReceiver.objects.get(pk=event_receiver.pk)
    assert (row.url, row.failures, row.failing_since, row.retry_at, row.paused_at) == (new, 0, None, None, None)
    assert (told, Delivery.objects.get(pk=delivery.pk).attempts) == ([], 0)
    far_app.act, far_app.status = lambda: None, 202
    assert send_due() == 1


def test_a_change_of_types_leaves_a_pause_and_a_claim_as_they_are(
    event_receiver: EventReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Domains are read while the form is checked, and a worker may claim or pause the receiver meanwhile."""
    by_worker = {"paused_at": clock.now(), "busy_until": clock.now() + sending.CLAIM, "failures": 9}

    def check_slowly(client: Client, url: str) -> None:
        EventReceiver.objects.filter(pk=event_receiver.pk).update(**by_worker)

    monkeypatch.setattr(registration, "check_receiver_url", check_slowly)
    wanted = ["sessions-revoked"]
    registration.change_event_receiver(event_receiver.client, None, url=event_receiver.url, types=wanted)
    row = EventReceiver.objects.get(pk=event_receiver.pk)
    assert {name: getattr(row, name) for name in by_worker} == by_worker
    assert row.types == "sessions-revoked"


def test_resuming_during_a_try_that_fails_starts_again_with_all_tries(
    event_receiver: EventReceiver, far_app: App, person: Account, told: list[EventReceiver]
) -> None:
    (delivery,) = queue(event_receiver)
    since = clock.now() - timedelta(hours=30)
    Delivery.objects.update(attempts=7)
    EventReceiver.objects.filter(pk=event_receiver.pk).update(failures=50, failing_since=since)
    far_app.act = lambda: registration.resume(event_receiver, person)
    send_due()
    row = Delivery.objects.get(pk=delivery.pk)
    assert (row.state, row.attempts, len(row.tries), told) == (State.WAITING, 0, 1, [])


def test_a_receiver_that_is_deleted_during_a_try_is_no_error(event_receiver: EventReceiver, far_app: App) -> None:
    queue(event_receiver)

    def delete(receiver: EventReceiver) -> None:
        EventReceiver.objects.filter(pk=receiver.pk).delete()

    far_app.act = partial(delete, event_receiver)
    assert send_due() == 0
    queue(receiver := registration.receiver_of(event_receiver.client, "logout"))
    far_app.status, far_app.act = 200, partial(delete, receiver)
    assert send_due() == 1
    assert not Delivery.objects.exists()


def test_a_url_whose_redirect_uri_is_gone_is_refused_at_the_next_try(
    event_receiver: EventReceiver, far_app: App
) -> None:
    client = event_receiver.client
    client.redirect_uris = "https://shop.example.com/callback"
    client.save()
    registration.change_event_receiver(client, None, url="https://shop.example.com/events", types=[])
    far_app.status = 202
    queue(event_receiver)
    assert send_due() == 1
    client.redirect_uris = "https://other.example.com/callback"
    client.save()
    (refused,) = queue(event_receiver)
    assert (send_due(), len(far_app.arrived)) == (0, 1)
    row = Delivery.objects.get(pk=refused.pk)
    assert (row.state, row.tries[0]["error"]) == (State.WAITING, "not_allowed")


def test_a_hanging_app_does_not_take_the_turn_of_another(
    event_receiver: EventReceiver, far_app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = registration.receiver_of(event_receiver.client, "logout")
    queue(event_receiver, 5)
    queue(other, 5)

    def post(url: str, *args: Any, **options: Any) -> Reply:
        if url == event_receiver.url:
            raise OutboundRefused(Code.TIMEOUT)
        return Reply(200, "")

    monkeypatch.setattr(sending, "post", post)
    assert send_due() == 5
    assert Delivery.objects.filter(receiver=event_receiver).exclude(tries=[]).count() == 1


# --- Slow receivers ---


def test_a_receiver_is_fast_after_several_fast_tries_and_slow_after_one_slow_try(
    event_receiver: EventReceiver, far_app: App, later: Later, monkeypatch: pytest.MonkeyPatch
) -> None:
    fast, slow, pk = 60.0, -1.0, event_receiver.pk
    steps = ((500, fast, 1, False), (200, fast, 2, False), (200, fast, 3, False), (200, fast, 3, False),
             (200, slow, 0, True), (200, fast, 1, True), (500, slow, 0, True), (200, fast, 1, True),
             (200, fast, 2, True), (200, fast, 3, False))  # fmt: skip
    for status, seconds, fast_tries, is_slow in steps:
        later(3600)
        Delivery.objects.waiting().delete()
        queue(event_receiver)
        far_app.status = status
        monkeypatch.setattr(sending, "SLOW_SECONDS", seconds)
        sending.send_to(pk)
        row = EventReceiver.objects.get(pk=pk)
        assert (row.fast_tries, row.is_slow) == (fast_tries, is_slow)
    registration.change_event_receiver(event_receiver.client, None, url=f"{event_receiver.url}/new", types=[])
    assert EventReceiver.objects.get(pk=pk).fast_tries == 0


def receiver_at(host: str, project: Project | None = None, fast_tries: int = 0) -> EventReceiver:
    """Return a receiver at a host to which something is due."""
    client = make_client(project, redirect_uris=f"https://{host}/callback")
    receiver = make_receiver(client, url=f"https://{host}/events", fast_tries=fast_tries)
    queue(receiver)
    return receiver


def send_meanwhile(receiver: EventReceiver) -> None:
    """Claim a receiver, as a worker does that waits for its response."""
    EventReceiver.objects.filter(pk=receiver.pk).update(busy_until=clock.now() + sending.CLAIM)


def test_no_receiver_that_is_known_to_be_fast_waits_for_others(far_app: App, settings: Any) -> None:
    far_app.status = 200
    first, second = receiver_at("nova.example"), receiver_at("comet.example")
    quick = receiver_at("quick.example", fast_tries=FAST_TRIES)
    send_meanwhile(first)
    assert sending.due_receivers() == [quick.pk]
    assert (sending.send_to(second.pk), sending.send_to(quick.pk)) == (0, 1)
    settings.SLOW_RECEIVERS_AT_ONCE = 2
    assert sending.due_receivers() == [second.pk]
    assert sending.send_to(second.pk) == 1


@pytest.mark.parametrize("shared", ["project", "host"])
def test_one_worker_at_a_time_sends_to_a_project_and_to_a_host(far_app: App, settings: Any, shared: str) -> None:
    settings.SLOW_RECEIVERS_AT_ONCE = 5
    far_app.status = 200
    first = receiver_at("nova.example", fast_tries=FAST_TRIES)
    if shared == "project":
        second = receiver_at("comet.example", project=first.client.project)
    else:
        second = receiver_at("nova.example")
    assert len(sending.due_receivers()) == 1
    send_meanwhile(first)
    assert (sending.due_receivers(), sending.send_to(second.pk), sending.oldest_due()) == ([], 0, None)
    EventReceiver.objects.update(busy_until=None)
    assert sending.send_to(first.pk) == 1
    assert sending.next_receivers(first.pk) == [second.pk]
    assert sending.send_to(second.pk) == 1


def test_receivers_that_are_not_fast_take_turns_by_project(far_app: App) -> None:
    many = [receiver_at(f"host{number}.example") for number in range(1)]
    many += [receiver_at(f"host{number}.example", project=many[0].client.project) for number in range(1, 9)]
    other = receiver_at("comet.example")
    turns = [sending.due_receivers() for _ in range(60)]
    assert {len(turn) for turn in turns} == {2}
    assert {pk for turn in turns for pk in turn} == {row.pk for row in [*many, other]}
    # The run was for the project with many receivers, and the other one still gets half of the turns.
    following = [sending.next_receivers(many[0].pk) for _ in range(120)]
    assert 20 < sum(turn[-1] == other.pk for turn in following) < 100
    send_meanwhile(other)
    assert sending.next_receivers(many[0].pk) == []


@pytest.mark.parametrize("bound", ["DELIVERIES_PER_PERSON", "DELIVERIES_PER_PROJECT"])
def test_the_newest_deliveries_fail_if_too_many_wait(far_app: App, person: Account, settings: Any, bound: str) -> None:
    crowded, quiet = receiver_at("nova.example"), receiver_at("comet.example")
    Delivery.objects.all().delete()
    setattr(settings, bound, 3)
    by_person = bound == "DELIVERIES_PER_PERSON"
    subs = ["ada"] * 5 if by_person else ["ada", "bob", "cleo", "dan", "eve"]
    rows = [make_delivery(crowded, sub=sub) for sub in subs]
    others = [make_delivery(quiet, sub="ada"), *([make_delivery(crowded, sub="bob")] if by_person else [])]
    assert tasks.fail_excess_deliveries() == 2
    assert [state(row) for row in [*rows, *others]] == ["waiting"] * 3 + ["failed"] * 2 + ["waiting"] * len(others)
    assert Delivery.objects.get(pk=rows[-1].pk).tries[0]["error"] == sending.TOO_MANY
    assert tasks.fail_excess_deliveries() == 0
    assert registration.send_failed_again(crowded, person) == 2


def test_deliveries_are_deleted_after_their_days(event_receiver: EventReceiver, later: Later, settings: Any) -> None:
    for delivery, wanted in zip(queue(event_receiver, 3), State, strict=True):
        Delivery.objects.filter(pk=delivery.pk).update(state=wanted)
    later(settings.DELIVERY_DAYS * 86_400 - 60)
    (young,) = queue(event_receiver)
    assert tasks.clear_deliveries() == 0
    later(120)
    assert tasks.clear_deliveries() == 3
    assert Delivery.objects.get().pk == young.pk
