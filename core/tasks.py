"""Celery tasks: their class, and queueing one without waiting for a broker that does not respond."""

import logging
import threading
from collections.abc import Callable
from queue import Full, Queue
from typing import Any

from celery import Task, shared_task
from celery.contrib.django.task import DjangoTask
from kombu.exceptions import OperationalError

log = logging.getLogger(__name__)

# The most tasks that wait for the broker in this process; the periodic task does the others.
MOST_WAITING = 1000

_waiting: "Queue[tuple[Task[Any, Any], tuple[Any, ...]]]" = Queue(MOST_WAITING)
_lock = threading.Lock()
_thread: threading.Thread | None = None


def queue_task(task: "Task[Any, Any]", *args: Any) -> None:
    """Hand a task to the broker soon. Never raises if the broker fails."""
    try:
        _waiting.put_nowait((task, args))
    except Full:
        log.warning("%s is left to the periodic task: the broker does not respond.", task.name)
    _start()


def _start() -> None:
    global _thread
    with _lock:
        if _thread is None or not _thread.is_alive():
            _thread = threading.Thread(target=_publish_for_ever, daemon=True, name="tasks")
            _thread.start()


def _publish_for_ever() -> None:
    while True:
        task, args = _waiting.get()
        try:
            task.apply_async(args, retry=False)
        except OperationalError:
            log.warning("%s is left to the periodic task: the broker does not respond.", task.name)
        except Exception:
            log.exception("%s could not be queued.", task.name)
        finally:
            _waiting.task_done()


HIDDEN = "[hidden]"


class QuietTask(DjangoTask):  # type: ignore[misc]  # Celery is untyped
    """A task whose arguments appear in no log, event or listing of Celery: they may be personal data or secrets."""

    def apply_async(self, *args: Any, **options: Any) -> Any:
        """Queue the task with its arguments' representation hidden."""
        return super().apply_async(*args, **{"argsrepr": HIDDEN, "kwargsrepr": HIDDEN} | options)


# The schedule of Celery beat, and of the timer in the embedded environment; by task name.
SCHEDULE: dict[str, dict[str, Any]] = {}


def periodic_task(seconds: float, **options: Any) -> Callable[[Callable[[], Any]], Any]:
    """Declare a task that runs every `seconds` seconds; `options` are those of `shared_task`.

    A run that no worker has started before the next one is due is dropped, so that an outage leaves no backlog.
    """

    def declare(function: Callable[[], Any]) -> Any:
        name = f"{function.__module__}.{function.__name__}"
        SCHEDULE[name] = {"task": name, "schedule": seconds, "options": {"expires": 0.9 * seconds}}
        return shared_task(name=name, **options)(function)

    return declare
