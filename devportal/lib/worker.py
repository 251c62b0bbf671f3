"""What runs inside a server's worker process, beside the application."""

import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.utils.module_loading import import_string

log = logging.getLogger(__name__)

PARENT_CHECK_SECONDS = 1.0
TIMER_TICK_SECONDS = 5.0


def load_application(target: str) -> Callable[..., Any]:
    """Return the WSGI application `target` ("module.attribute"), with its companions started.

    Granian calls this in each worker it makes. In a process group of its own a worker gets no Ctrl-C from the
    terminal: the parent stops it, in order.
    """
    os.setpgid(0, 0)
    # A thread that gets its answer from a database waits at most this long for the one that computes (default: 5 ms).
    sys.setswitchinterval(0.001)
    application: Callable[..., Any] = import_string(target)
    threading.Thread(target=_stop_without_parent, args=(os.getppid(),), daemon=True, name="parent").start()
    if settings.EMBEDDED:
        threading.Thread(target=_run_periodic_tasks, daemon=True, name="timer").start()
    return application


def _stop_without_parent(parent: int) -> None:
    """End this process when the one that made it is gone (killed hard): no orphan keeps the port."""
    while os.getppid() == parent:
        time.sleep(PARENT_CHECK_SECONDS)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(PARENT_CHECK_SECONDS)
    os._exit(1)


def _run_periodic_tasks() -> None:
    """Run what Celery beat would run in production, on the same schedule."""
    due = {name: time.monotonic() + entry["schedule"] for name, entry in settings.CELERY_BEAT_SCHEDULE.items()}
    while True:
        time.sleep(TIMER_TICK_SECONDS)
        for name, entry in settings.CELERY_BEAT_SCHEDULE.items():
            if time.monotonic() < due[name]:
                continue
            due[name] = time.monotonic() + entry["schedule"]
            try:
                import_string(entry["task"]).apply()
            except Exception:
                log.exception("The periodic task %s failed; it runs again at its next time.", name)
