"""The admin's list of periodic tasks, read-only."""

from django.contrib import admin
from django.utils.timesince import timesince

from devportal.console.models import TaskRun
from devportal.console.operations import task_runs
from devportal.lib import clock
from devportal.lib.admin.model_admin import ReadOnlyModelAdmin


@admin.register(TaskRun)
class TaskRunAdmin(ReadOnlyModelAdmin[TaskRun]):
    """When each periodic task last succeeded, and whether it is late."""

    is_long = False
    ordering = ("task",)
    list_display = ("task", "state", "last_success", "failed_at", "seconds")

    @admin.display(description="State")
    def state(self, row: TaskRun) -> str:
        """Return whether the task is on time; "not scheduled" for one of an earlier version."""
        state = task_runs.state_of(row)
        return "not scheduled" if state is None else "late" if state.is_late else "on time"

    @admin.display(description="Last success")
    def last_success(self, row: TaskRun) -> str:
        """Return how long ago the task succeeded."""
        return f"{timesince(row.succeeded_at, clock.now(), depth=1)} ago" if row.succeeded_at else "not yet"
