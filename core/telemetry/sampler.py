"""Gauges of a worker process, read once a second, so that requests do not have to update them."""

import threading
import time
from collections.abc import Callable, Mapping

from core.telemetry import metrics

SAMPLE_SECONDS = 1.0


def start(read: Callable[[], Mapping[str, float]]) -> None:
    """Set the gauges that `read` returns once a second from now on; do nothing while metrics are off."""
    if metrics.is_enabled():
        threading.Thread(target=_run, args=(read,), daemon=True, name="gauges").start()


def sample(read: Callable[[], Mapping[str, float]]) -> None:
    """Set the gauges once."""
    for name, value in read().items():
        metrics.set_gauge(name, value)


def _run(read: Callable[[], Mapping[str, float]]) -> None:
    while True:
        sample(read)
        time.sleep(SAMPLE_SECONDS)
