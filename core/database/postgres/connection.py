"""Connections to PostgreSQL: options of DATABASES beyond the URL, and the wrapper of a connection."""

import contextlib
import threading
import time
from collections.abc import Iterator
from typing import Any

import psycopg
from django.core.exceptions import ImproperlyConfigured
from psycopg.errors import _WaitTimeout

from core.database.postgres.limits import Patience

ENGINE = "core.database.postgres"
POOLINGS = ("none", "transaction")
# How the system detects a host or network that is gone: after 5 + 3 * 3 seconds on an idle connection, and after
# 10 seconds on one with data to send. Names and units are libpq's.
KEEPALIVES = {"keepalives_idle": 5, "keepalives_interval": 3, "keepalives_count": 3, "tcp_user_timeout": 10_000}


def configure(database: dict[str, Any], *, pooling: str, connect_seconds: int) -> None:
    """Complete an entry of DATABASES that came from a URL; options in the URL's query win. SQLite is not changed.

    `pooling` is "transaction" behind a pooler that assigns a server connection to each transaction, else "none".
    Raises ImproperlyConfigured for any other value.
    """
    if pooling not in POOLINGS:
        raise ImproperlyConfigured(f"DATABASE_POOLING is {pooling!r}. It must be one of: {', '.join(POOLINGS)}.")
    if not database["ENGINE"].endswith("postgresql"):
        return
    database["ENGINE"] = ENGINE
    # A connection lives as long as its slot (opening one takes 10 ms), and is checked before use.
    database["CONN_MAX_AGE"] = None
    database["CONN_HEALTH_CHECKS"] = True
    options = database.setdefault("OPTIONS", {})
    for name, value in {"connect_timeout": connect_seconds, **KEEPALIVES}.items():
        options.setdefault(name, value)
    # Parameters are sent separately from the statement, which the server prepares at its second use.
    options["server_side_binding"] = True
    if pooling == "transaction":
        # Server-side cursors and prepared statements would stay on a server connection that others use next.
        database["DISABLE_SERVER_SIDE_CURSORS"] = True
        database["POOLED"] = True
    else:
        options.setdefault("prepare_threshold", 2)


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
