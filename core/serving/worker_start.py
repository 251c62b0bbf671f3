"""The start of a worker process, and garbage collection that skips objects loaded before."""

import gc
from collections.abc import Callable

from django.urls import get_resolver

from core.database.connection_health import look_after_slots
from core.database.postgres import limits


def freeze_loaded_objects() -> None:
    """Exempt everything that is loaded now from garbage collection; call this last, when a process starts.

    A full collection would scan hundreds of thousands of modules, classes and settings that are never deleted, and take
    longer than many requests. It also writes to each of them: without this call, forked workers would copy the memory
    that they share with their parent at their first collection.
    """
    # Import the views now: the first request would otherwise add as many objects again.
    _ = get_resolver().url_patterns
    gc.collect()
    gc.freeze()


Start = Callable[[], None]

# Functions with the decorator `at_worker_start`, in the order in which their modules were imported.
STARTS: list[Start] = []


def at_worker_start(function: Start) -> Start:
    """Make each worker process call a function when it starts; its app imports the module in `ready`."""
    STARTS.append(function)
    return function


def run_starts() -> None:
    """Call all registered functions in this worker process."""
    limits.apply_to_requests()
    look_after_slots()
    for start in STARTS:
        start()
    freeze_loaded_objects()
