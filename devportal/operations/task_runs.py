"""Store when each periodic task last succeeded and failed, using Celery's signals.

The signals come from Celery's worker, and in the embedded environment from the timer thread, which runs tasks eagerly.
"""

import logging
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.conf import settings
from django.db import DatabaseError

from core import clock
from devportal.operations.models import TaskRun

log = logging.getLogger(__name__)

# A task is late if it has not succeeded for this many of its intervals plus this time.
LATE_INTERVALS = 3
LATE_SECONDS = 60.0


class TaskState(NamedTuple):
    """A periodic task: `interval` in seconds; `since` is its last success, or when it was first expected to run."""

    task: str
    interval: float
    since: datetime
    succeeded_at: datetime | None
    failed_at: datetime | None

    @property
    def is_late(self) -> bool:
        """Whether it should have succeeded by now."""
        return clock.now() - self.since > timedelta(seconds=LATE_INTERVALS * self.interval + LATE_SECONDS)


def intervals() -> dict[str, float]:
    """Return the periodic tasks, and the seconds between two runs of each."""
    return {entry["task"]: float(entry["schedule"]) for entry in settings.CELERY_BEAT_SCHEDULE.values()}


def watch_tasks(**kwargs: Any) -> None:
    """Expect each new periodic task to run from now on, after a migration."""
    rows = [TaskRun(task=task, watched_since=clock.now()) for task in intervals()]
    TaskRun.objects.bulk_create(rows, ignore_conflicts=True)


def note_success(task: str, seconds: float) -> None:
    """Store that a periodic task succeeded. Other tasks are ignored. Never raises."""
    _note(TaskRun(task=task, succeeded_at=clock.now(), seconds=seconds), ["succeeded_at", "seconds"])


def note_failure(task: str) -> None:
    """Store that a periodic task failed. Other tasks are ignored. Never raises."""
    _note(TaskRun(task=task, failed_at=clock.now()), ["failed_at"])


def _note(row: TaskRun, fields: list[str]) -> None:
    if row.task not in intervals():
        return
    row.watched_since = clock.now()
    try:
        TaskRun.objects.bulk_create([row], update_conflicts=True, unique_fields=["task"], update_fields=fields)
    except DatabaseError as error:
        log.warning("The run of %s is not noted: %s", row.task, type(error).__name__)


def task_states() -> list[TaskState]:
    """Return the state of every monitored periodic task, with one statement."""
    rows = TaskRun.objects.filter(task__in=intervals()).order_by("task")
    return [state for row in rows if (state := state_of(row))]


def state_of(row: TaskRun) -> TaskState | None:
    """Return the state of a task, None if it is not, or no longer, scheduled."""
    interval = intervals().get(row.task)
    since = row.succeeded_at or row.watched_since
    return None if interval is None else TaskState(row.task, interval, since, row.succeeded_at, row.failed_at)
