"""What operators see of deliveries: the figures of metrics and overview."""

from datetime import timedelta
from typing import Any

import pytest

from core import clock
from devportal.operations import overview, readers
from oidc.events.queueing import queue_test
from oidc.models import Client, EventReceiver
from oidc.models.events import FAST_TRIES
from tests.factories import make_account, make_client, make_project

pytestmark = pytest.mark.django_db


@pytest.fixture
def receiver() -> EventReceiver:
    client = make_client(make_project(make_account("dana@example.com")))
    return EventReceiver.objects.create(
        client=client, channel="events", url="https://a.example/", fast_tries=FAST_TRIES
    )


def queue(receiver: EventReceiver, *, minutes: int) -> None:
    """Queue a delivery that has been due for some minutes."""
    row = queue_test(receiver)
    row.not_before = clock.now() - timedelta(minutes=minutes)
    row.save()


def figures() -> dict[str, float]:
    return {each.name: each.value for each in readers.read_database_figures() if each.name.startswith(("del", "rec"))}


def test_the_figures_are_zero_while_nothing_waits(receiver: EventReceiver) -> None:
    assert figures() == {"deliveries_waiting": 0, "deliveries_oldest_seconds": 0, "receivers_paused": 0}
    assert overview._deliveries().state == overview.GOOD


def test_the_oldest_delivery_that_is_due_counts(receiver: EventReceiver) -> None:
    for minutes in (3, 7, -60):
        queue(receiver, minutes=minutes)
    found = figures()
    assert found["deliveries_waiting"] == 3
    assert 419 < found["deliveries_oldest_seconds"] < 430
    card = overview._deliveries()
    assert (card.value, card.state) == ("3 waiting", overview.BAD)
    assert card.notes[0].startswith("The oldest has been due for 7")


@pytest.mark.parametrize("why", ["paused", "backs_off", "busy", "slow", "off", "client_off", "suspended"])
def test_deliveries_that_wait_for_something_else_than_a_worker_are_not_late(receiver: EventReceiver, why: str) -> None:
    queue(receiver, minutes=60)
    soon = clock.now() + timedelta(minutes=1)
    change: dict[str, dict[str, Any]] = {
        "paused": {"paused_at": clock.now()},
        "backs_off": {"retry_at": soon},
        "busy": {"busy_until": soon},
        "slow": {"fast_tries": FAST_TRIES - 1},
        "off": {"url": ""},
    }
    EventReceiver.objects.update(**change.get(why, {}))
    if why == "client_off":
        Client.objects.update(enabled=False)
    if why == "suspended":
        type(receiver.client.project).objects.update(suspended_at=clock.now())
    found = figures()
    assert (found["deliveries_waiting"], found["deliveries_oldest_seconds"]) == (1, 0)
    assert found["receivers_paused"] == (why == "paused")
    assert overview._deliveries().state == overview.GOOD
