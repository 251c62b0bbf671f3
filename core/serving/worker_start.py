"""What each worker process does before its first request, and garbage collection without what is loaded."""

import gc
from collections.abc import Callable

from django.urls import get_resolver

from core.database.connection_health import look_after_slots
from core.database.postgres import limits


def freeze_loaded_objects() -> None:
    """Exempt everything that is loaded now from garbage collection; call it last, when a process starts.

    A full collection would walk through hundreds of thousands of modules, classes and settings, of which none ever
    goes, and takes longer than many requests. It also writes to each of them: a parent that calls this before it forks
    shares their memory with its workers, which would otherwise copy it at their first collection.
    """
    # The first request would import the views, and so bring as many objects again.
    _ = get_resolver().url_patterns
    gc.collect()
    gc.freeze()


Start = Callable[[], None]

# Functions with the decorator `at_worker_start`, in the order in which their modules were imported.
STARTS: list[Start] = []


def at_worker_start(function: Start) -> Start:
    """Have each worker process call a function when it starts; an app imports its module when it is ready."""
    STARTS.append(function)
    return function


def run_starts() -> None:
    """Set up this process as a worker."""
    limits.apply_to_requests()
    look_after_slots()
    for start in STARTS:
        start()
    freeze_loaded_objects()
