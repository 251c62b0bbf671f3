"""What operators see of tasks, deliveries, the disk and the web processes: the figures of metrics and overview."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from accounts.tasks import clear_outbox, send_mail
from core import clock
from devportal.console.tasks import forget_sent_forms
from devportal.operations import overview, readers, task_runs
from devportal.operations.models import TaskRun
from oidc.events.queueing import queue_test
from oidc.models import Client, EventReceiver
from oidc.models.events import FAST_TRIES
from tests.factories import make_account, make_client, make_project
from tests.services import keeper

pytestmark = pytest.mark.django_db


def test_every_periodic_task_is_watched_from_the_migration_on() -> None:
    assert {state.task for state in task_runs.task_states()} == set(task_runs.intervals())
    before = TaskRun.objects.values_list("watched_since", flat=True).order_by("task")
    call_command("migrate", verbosity=0)
    assert list(before) == list(TaskRun.objects.values_list("watched_since", flat=True).order_by("task"))


def test_a_success_and_a_failure_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    forget_sent_forms.apply()
    row = TaskRun.objects.get(task=forget_sent_forms.name)
    assert row.succeeded_at is not None
    assert row.failed_at is None

    def fail() -> int:
        raise ValueError

    monkeypatch.setattr("accounts.mail.delivery.clear_old_mail", fail)
    clear_outbox.apply()
    row = TaskRun.objects.get(task=clear_outbox.name)
    assert row.failed_at is not None
    assert row.succeeded_at is None


def test_tasks_that_are_not_periodic_leave_nothing() -> None:
    send_mail.apply((1,))
    assert not TaskRun.objects.filter(task=send_mail.name).exists()


def test_a_task_is_late_after_three_of_its_intervals(later: Callable[[float], None]) -> None:
    forget_sent_forms.apply()
    state = {state.task: state for state in task_runs.task_states()}[forget_sent_forms.name]
    later(3 * 3600)
    assert not state.is_late
    later(120)
    assert state.is_late


def test_the_metrics_of_the_database_can_be_read(django_assert_max_num_queries: Callable[..., object]) -> None:
    with django_assert_max_num_queries(13):  # type: ignore[attr-defined]
        found = {figure.name for figure in readers.read_database_figures()}
    assert {"outbox_waiting", "signing_key_age_seconds", "task_last_success_timestamp_seconds"} <= found


def test_the_disk_is_read_before_the_first_file_is_stored(settings: Any, tmp_path: Path) -> None:
    settings.MEDIA_ROOT = tmp_path / "data" / "media"
    free, size = readers.read_media()
    assert (free.name, size.name) == ("media_free_bytes", "media_size_bytes")
    assert 0 < free.value < size.value


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_without_a_server_the_readiness_can_not_be_read(settings: Any, address: str) -> None:
    settings.PORT = keeper.free_port()
    with pytest.raises(OSError):
        readers.read_readiness(address)


def test_only_a_web_server_asks_for_its_readiness() -> None:
    assert "web" not in {reader.source for reader in readers.readers()}
    assert "web" in {reader.source for reader in readers.readers("0.0.0.0")}


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
