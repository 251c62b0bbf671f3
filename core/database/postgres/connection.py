"""Connections to PostgreSQL: each has a time limit for responses, and one attempt to connect runs at a time."""

import contextlib
import threading
import time
from collections.abc import Iterator
from typing import Any

import psycopg
from psycopg.errors import _WaitTimeout

from core.database.postgres.limits import Patience

PAUSE_SECONDS = 1.0


class Gate:
    """Whether to connect: open while the server responds, closed for a second after a failure, then one try decides."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._closed_at: float | None = None
        self._is_tried = False

    def close(self) -> None:
        """Close the gate, because the server did not respond."""
        with self._lock:
            self._closed_at = time.monotonic()

    @contextlib.contextmanager
    def attempt(self) -> Iterator[None]:
        """Connect within this block. Raises psycopg.OperationalError immediately while the gate is closed."""
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


WAKE_SECONDS = 0.1  # how often psycopg checks whether its time is over


class BoundedConnection(psycopg.Connection[Any]):
    """A connection that waits for responses as long as its patience lasts, and is closed after that.

    The server's own statement_timeout ends statements that run too long. It does not help when the server is frozen or
    unreachable, because its clock does not run and its kernel still acknowledges packets. Only the client can notice.
    """

    patience: Patience | None = None
    gate: Gate | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.statements: set[bytes] = set()  # names of the statements that the server has prepared (statements.py)

    def wait(self, gen: Any, interval: float = WAKE_SECONDS, timeout: float | None = None) -> Any:
        patience = self.patience
        if patience is None or patience.left is None:
            return super().wait(gen, interval=interval, timeout=timeout)
        began = time.monotonic()
        try:
            return super().wait(gen, interval=interval, timeout=timeout or patience.left)
        except _WaitTimeout:
            if self.gate:
                self.gate.close()
            self.close()
            raise psycopg.OperationalError("the database does not answer") from None
        finally:
            patience.spend(began)
