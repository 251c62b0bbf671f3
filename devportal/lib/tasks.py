"""What all Celery tasks have in common, and the schedule of those that run periodically."""

from collections.abc import Callable
from typing import Any

from celery import shared_task
from celery.contrib.django.task import DjangoTask

HIDDEN = "[hidden]"


class QuietTask(DjangoTask):  # type: ignore[misc]  # Celery is untyped
    """A task whose arguments appear in no log, event or listing of Celery's: they may name people, or be secrets."""

    def apply_async(self, *args: Any, **options: Any) -> Any:
        """Queue the task with its arguments' representation hidden."""
        return super().apply_async(*args, **{"argsrepr": HIDDEN, "kwargsrepr": HIDDEN} | options)


# Of Celery beat, and of the timer in the embedded environment; by the names of the tasks.
SCHEDULE: dict[str, dict[str, Any]] = {}


def periodic_task(seconds: float, **options: Any) -> Callable[[Callable[[], Any]], Any]:
    """Declare a task that runs every so many seconds; `options` are those of `shared_task`.

    A run that no worker has taken before the next one is due is dropped: an outage leaves no heap of them.
    """

    def declare(function: Callable[[], Any]) -> Any:
        name = f"{function.__module__}.{function.__name__}"
        SCHEDULE[name] = {"task": name, "schedule": seconds, "options": {"expires": 0.9 * seconds}}
        return shared_task(name=name, **options)(function)

    return declare
