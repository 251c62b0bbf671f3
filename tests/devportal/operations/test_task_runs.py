"""The last success of each periodic task is stored, whichever process runs it."""

from collections.abc import Callable

import pytest
from django.core.management import call_command

from accounts.tasks import clear_outbox, send_mail
from devportal.console.tasks import forget_sent_forms
from devportal.operations import readers, task_runs
from devportal.operations.models import TaskRun

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
