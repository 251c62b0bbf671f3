"""A circuit breaker: a Redis that is lost, frozen or far away costs a process one time-out a second, not one a command.

All of a process's counters share it. While it is open, they count in the process.
"""

import functools
import logging
import threading
import time

from devportal.lib.telemetry import metrics

# Seconds for which a Redis that failed is left alone; then one caller asks, and the others still do without.
PAUSE_SECONDS = 1.0

log = logging.getLogger(__name__)


class Breaker:
    """Says whether Redis may be asked, and is told what came of it."""

    def __init__(self) -> None:
        self.failures = 0  # how often Redis did not answer, for monitoring
        self._asked_again_at: float | None = None  # None: closed
        self._lock = threading.Lock()

    @property
    def is_open(self) -> bool:
        return self._asked_again_at is not None

    def may_ask(self) -> bool:
        """Tell whether this caller may ask Redis."""
        if not self.is_open:
            return True
        with self._lock:
            now = time.monotonic()
            if now < (self._asked_again_at or 0):
                return False
            self._asked_again_at = now + PAUSE_SECONDS  # one asks, for all
            return True

    def answered(self) -> None:
        """Note that Redis answered."""
        if self._asked_again_at is not None:
            with self._lock:
                self._asked_again_at = None
            log.info("The counter store answers again.")

    def failed(self, error: Exception) -> None:
        """Note that Redis did not answer, or refused."""
        metrics.redis_failed()
        with self._lock:
            self.failures += 1
            self._asked_again_at = time.monotonic() + PAUSE_SECONDS
        text = "The counter store does not answer (failure %d, %s); this process counts by itself."
        log.warning(text, self.failures, type(error).__name__)


@functools.cache
def process_breaker() -> Breaker:
    """Return this process's breaker."""
    return Breaker()
