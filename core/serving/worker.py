"""Loading the application in a granian worker process, with its background threads."""

import contextlib
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from django.conf import settings
from django.utils.module_loading import import_string

from core.database.postgres import limits
from core.http.uploads import largest_upload
from core.passwords import MOST_PASSWORDS, MOST_PAUSED
from core.serving.application import BoundedApplication
from core.serving.buffers import BodyReceiver, ResponseBuffer
from core.serving.slots import SlotPool
from core.storage.images import MOST_ENCODINGS, MOST_UPLOADS
from core.telemetry import metrics

log = logging.getLogger(__name__)

BEAT_SECONDS = 1.0
TIMER_TICK_SECONDS = 5.0

# The most requests of a worker process in each stage (core/serving/application.py).
SLOTS = 4  # of endpoints that programs call
PAGE_SLOTS = 4  # of everything else: people's pages
WAITING_FOR_SLOT = 64  # of each kind
BODIES = 256
LARGE_BODIES = 16
LONG_ANSWERS = 32
# One thread for each of them, and some for immediate responses. The server creates them when they are needed.
WAITING_FOR_WORK = MOST_PASSWORDS + MOST_PAUSED + MOST_UPLOADS + MOST_ENCODINGS
THREADS = SLOTS + PAGE_SLOTS + 2 * WAITING_FOR_SLOT + WAITING_FOR_WORK + BODIES + LONG_ANSWERS + 28
# Besides files, a form contains a few texts.
FORM_TEXT_BYTES = 256 * 1024


def load_application(target: str, beat: Connection | None = None) -> Callable[..., Any]:
    """Return the WSGI application `target` ("module.attribute"), with its background threads started.

    Through `beat`, this process tells its parent that it is not frozen (core/serving/supervisor.py).

    Granian calls this in each worker. The worker gets its own process group, so that Ctrl-C in the terminal only
    reaches the parent, which stops the workers in order.
    """
    os.setpgid(0, 0)
    # A thread that gets a response from the database waits at most this long for a busy one (default: 5 ms).
    sys.setswitchinterval(0.001)
    application: Callable[..., Any] = import_string(target)
    threading.Thread(target=_beat_until_orphaned, args=(os.getppid(), beat), daemon=True, name="parent").start()
    if settings.EMBEDDED:
        threading.Thread(target=_run_periodic_tasks, daemon=True, name="timer").start()
    return application


def load_bounded_application(target: str, beat: Connection | None = None) -> Callable[..., Any]:
    """Return `load_application(target, beat)` wrapped in BoundedApplication, for a server with THREADS threads."""
    application = load_application(target, beat)
    bodies = BodyReceiver(most=BODIES, most_large=LARGE_BODIES, most_bytes=largest_upload() + FORM_TEXT_BYTES)
    slots, page_slots = (
        SlotPool(count, most_waiting=WAITING_FOR_SLOT, seconds=settings.SLOT_WAIT_SECONDS)
        for count in (SLOTS, PAGE_SLOTS)
    )
    metrics.start_sampling(
        lambda: slots.usage() | page_slots.usage("page_slots") | {"bodies_under_way": bodies.under_way()}
    )
    answers = ResponseBuffer(LONG_ANSWERS)
    return BoundedApplication(application, bodies=bodies, slots=slots, page_slots=page_slots, answers=answers)


def _beat_until_orphaned(parent: int, beat: Connection | None) -> None:
    """Report to the parent. End this process when the parent is gone, so that no orphan keeps the port."""
    beaten = os.getpid().to_bytes(4)
    while os.getppid() == parent:
        if beat is not None:
            with contextlib.suppress(OSError):  # the parent is frozen, and the pipe is full
                beat.send_bytes(beaten)
        time.sleep(BEAT_SECONDS)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(BEAT_SECONDS)
    os._exit(1)


def _run_periodic_tasks() -> None:
    """Run the periodic tasks on Celery beat's schedule, without end (embedded environment)."""
    limits.apply_to_tasks(this_thread_only=True)
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
                log.exception("The periodic task %s failed. It runs again at its next scheduled time.", name)
