"""Celery tasks: their class, and queueing one without waiting for a broker that does not respond.

In the embedded environment there is no broker: threads of the web server run queued tasks.
"""

import logging
import threading
from collections.abc import Callable, Iterable
from queue import Full, Queue
from typing import Any, TypeVar

from celery import Task, shared_task
from celery.contrib.django.task import DjangoTask
from django.conf import settings
from django.db import connections
from kombu.exceptions import OperationalError

from core.database.postgres import limits

log = logging.getLogger(__name__)

T = TypeVar("T")

# The most tasks that wait for the broker or a thread in this process; the periodic task does the others.
MOST_WAITING = 1000
# Threads that run tasks in the embedded environment, so that a slow task delays no other. One thread is enough to hand
# tasks to a broker, and keeps their order.
THREADS_OF_EMBEDDED = 3

_waiting: "Queue[tuple[Task[Any, Any], tuple[Any, ...]]]" = Queue(MOST_WAITING)
_lock = threading.Lock()
_threads: list[threading.Thread] = []


def queue_task(task: "Task[Any, Any]", *args: Any) -> None:
    """Hand a task to the broker soon, or to a thread of this process. Never raises if the broker fails."""
    try:
        _waiting.put_nowait((task, args))
    except Full:
        log.warning("%s is left to the periodic task: too many tasks wait.", task.name)
    _start()


def _start() -> None:
    with _lock:
        _threads[:] = [thread for thread in _threads if thread.is_alive()]
        for number in range(len(_threads), THREADS_OF_EMBEDDED if settings.CELERY_TASK_ALWAYS_EAGER else 1):
            thread = threading.Thread(target=_work_for_ever, args=(_waiting,), daemon=True, name=f"tasks-{number}")
            _threads.append(thread)
            thread.start()


def _work_for_ever(waiting: "Queue[tuple[Task[Any, Any], tuple[Any, ...]]]") -> None:
    limits.apply_to_tasks(this_thread_only=True)
    while True:
        task, args = waiting.get()
        try:
            task.apply_async(args, retry=False)  # without a broker, this runs the task
        except OperationalError:
            log.warning("%s is left to the periodic task: the broker does not respond.", task.name)
        except Exception:
            log.exception("%s could not be queued.", task.name)
        finally:
            connections.close_all()  # a task may have opened some in this thread
            waiting.task_done()


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


def sum_of_each(rows: Iterable[T], work: Callable[[T], int], failed: str) -> int:
    """Do the work of a task for each row, and return the sum of the results.

    If it fails for one row, this is logged as `failed`, with the row as its argument, and the other rows follow. So a
    row that fails again and again, or that someone else has locked, does not hold up the others.
    """
    done = 0
    for row in rows:
        try:
            done += work(row)
        except Exception:
            log.exception(failed, row)
    return done
