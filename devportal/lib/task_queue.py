"""Queueing a task behind a request's back: a broker that is lost, frozen or far away keeps no request waiting.

For tasks that a periodic task makes up for: one that can't be queued is left to it.
"""

import logging
import threading
from queue import Full, Queue
from typing import Any

from celery import Task
from kombu.exceptions import OperationalError

log = logging.getLogger(__name__)

# Tasks that wait for the broker in this process; what comes beyond is left to the periodic task.
MOST_WAITING = 1000

_waiting: "Queue[tuple[Task[Any, Any], tuple[Any, ...]]]" = Queue(MOST_WAITING)
_lock = threading.Lock()
_thread: threading.Thread | None = None


def queue_task(task: "Task[Any, Any]", *args: Any) -> None:
    """Hand a task to the broker, soon. Never raises for the broker."""
    try:
        _waiting.put_nowait((task, args))
    except Full:
        log.warning("%s is left to the periodic task: the broker does not answer.", task.name)
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
            log.warning("%s is left to the periodic task: the broker does not answer.", task.name)
        except Exception:
            log.exception("%s could not be queued.", task.name)
        finally:
            _waiting.task_done()
