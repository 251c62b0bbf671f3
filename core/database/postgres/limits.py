"""How long a process, one of its threads, or one block of statements waits for PostgreSQL.

Requests and tasks have separate limits. Management commands only limit the time for connecting: a migration may take
long, and a person watches it.
"""

import contextlib
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connection, connections, transaction

# How much longer the client waits, so that the server can report a time-out before the client gives up.
GRACE_SECONDS = 0.5
# Shorter waits do not count against the limit of a request: an export makes thousands of them.
NOTICED_SECONDS = 0.25


@dataclass(frozen=True)
class Limits:
    """Time limits in seconds, 0 for none. With `of_all`, the slow statements of a request share one limit.

    `name` is the application_name of the connections, which pg_stat_activity shows.
    """

    name: str = "devportal command"
    statement: float = 0
    lock: float = 0
    idle_in_transaction: float = 0
    of_all: bool = False

    @property
    def answer(self) -> float | None:
        """The seconds to wait for a response of the server, None without a limit."""
        return self.statement + GRACE_SECONDS if self.statement else None

    def server_options(self) -> str:
        """Return libpq's `options`, which make the server apply the limits."""
        given = {
            "statement_timeout": self.statement,
            "lock_timeout": self.lock,
            "idle_in_transaction_session_timeout": self.idle_in_transaction,
        }
        return " ".join(f"-c {name}={int(seconds * 1000)}" for name, seconds in given.items() if seconds)


# For rare statements that may have to read a large table: see `allow_long_statements`.
LONG_SECONDS = 30.0

_of_process = Limits()
_of_thread = threading.local()


def current() -> Limits:
    """Return the limits of connections that this thread opens."""
    limits: Limits = getattr(_of_thread, "limits", _of_process)
    return limits


def apply_to_requests() -> None:
    """Apply the limits of processes that serve requests to this process."""
    global _of_process
    _of_process = _limits(settings.DATABASE_STATEMENT_TIMEOUT_SECONDS, "devportal requests", of_all=True)


def apply_to_tasks(*, this_thread_only: bool = False) -> None:
    """Apply the limits of tasks to this process, or only to this thread of a process that serves requests."""
    global _of_process
    limits = _limits(settings.DATABASE_TASK_STATEMENT_TIMEOUT_SECONDS, "devportal tasks", of_all=False)
    if this_thread_only:
        _of_thread.limits = limits
    else:
        _of_process = limits


def _limits(statement: float, name: str, *, of_all: bool) -> Limits:
    return Limits(
        name=name,
        statement=statement,
        lock=settings.DATABASE_LOCK_TIMEOUT_SECONDS,
        idle_in_transaction=settings.DATABASE_IDLE_TRANSACTION_TIMEOUT_SECONDS,
        of_all=of_all,
    )


class Patience:
    """The time that is left for waiting for responses of the server; None without a limit."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self.left = limits.answer

    def renew(self) -> None:
        """Start with the full time, at the beginning of a request."""
        self.left = self._limits.answer

    def spend(self, since: float) -> None:
        """Subtract the time since `since` (time.monotonic)."""
        took = time.monotonic() - since
        if self.left is not None and self._limits.of_all and took > NOTICED_SECONDS:
            self.left = max(self.left - took, NOTICED_SECONDS)


def allow_long_statements() -> None:
    """Allow the rest of this transaction LONG_SECONDS for its statements, if they are limited.

    For actions that a person does once, and that must not fail because of the amount of data.
    """
    connection = connections[DEFAULT_DB_ALIAS]
    patience = getattr(connection, "patience", None)
    if isinstance(patience, Patience) and patience.left is not None:
        with connection.cursor() as cursor:
            milliseconds = str(int(LONG_SECONDS * 1000))
            cursor.execute("SELECT set_config('statement_timeout', %s, true)", [milliseconds])
        patience.left = LONG_SECONDS + GRACE_SECONDS


@contextlib.contextmanager
def bounded_statements(milliseconds: int) -> Iterator[None]:
    """Limit each statement in this block to `milliseconds` (PostgreSQL); a longer one raises OperationalError.

    The limit ends with the transaction, so a pooler does not pass it on to others. SQLite has no such limit, and reads
    without a transaction here, since a transaction would take its write lock.
    """
    if connection.vendor != "postgresql":
        yield
        return
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SELECT set_config('statement_timeout', %s, true)", [str(milliseconds)])
        yield


@contextlib.contextmanager
def attempt() -> Iterator[None]:
    """Keep the transaction of `bounded_statements` usable when a statement in this block fails; the error is raised."""
    if connection.vendor != "postgresql":
        yield
        return
    with transaction.atomic():
        yield
