"""The class of all Celery tasks."""

from typing import Any

from celery.contrib.django.task import DjangoTask

HIDDEN = "[hidden]"


class QuietTask(DjangoTask):  # type: ignore[misc]  # Celery is untyped
    """A task whose arguments appear in no log, event or listing of Celery's: they may name people, or be secrets."""

    def apply_async(self, *args: Any, **options: Any) -> Any:
        """Queue the task with its arguments' representation hidden."""
        return super().apply_async(*args, **{"argsrepr": HIDDEN, "kwargsrepr": HIDDEN} | options)
