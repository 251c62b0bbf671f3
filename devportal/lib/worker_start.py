"""What a worker process sets up for itself before its first request."""

from collections.abc import Callable

from devportal.lib.connection_health import look_after_slots
from devportal.lib.garbage import freeze_loaded_objects
from devportal.lib.postgres import limits

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
