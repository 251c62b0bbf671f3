"""Connecting to a server that is gone: one attempt at a time, so that everybody else is told at once.

Without it, each of a worker's few slots would spend the whole time-out on each request, and most requests would not
even come that far.
"""

import contextlib
import threading
import time
from collections.abc import Iterator

import psycopg

PAUSE_SECONDS = 1.0


class Gate:
    """Open while the server answers. Closed for a second after it did not; then one attempt decides."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._closed_at: float | None = None
        self._is_tried = False

    def close(self) -> None:
        """The server did not answer."""
        with self._lock:
            self._closed_at = time.monotonic()

    @contextlib.contextmanager
    def attempt(self) -> Iterator[None]:
        """Connect within this block. Raises psycopg.OperationalError at once while the gate is closed."""
        with self._lock:
            closed_at = self._closed_at
            if closed_at is not None:
                if self._is_tried or time.monotonic() - closed_at < PAUSE_SECONDS:
                    raise psycopg.OperationalError("the database did not answer a moment ago")
                self._is_tried = True
        try:
            yield
        except psycopg.Error:
            self.close()
            raise
        else:
            with self._lock:
                if self._closed_at == closed_at:
                    self._closed_at = None
        finally:
            if closed_at is not None:
                with self._lock:
                    self._is_tried = False
