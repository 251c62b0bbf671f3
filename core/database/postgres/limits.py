"""How long a process, or one of its threads, waits for PostgreSQL.

Requests and tasks have limits, each of their own. Management commands have none but for connecting: a migration may
take long, and somebody looks on.
"""

import threading
import time
from dataclasses import dataclass

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connections

# The server gets so much more time to say that a statement took too long, before it is taken for gone.
GRACE_SECONDS = 0.5
# Shorter waits do not count against the limit of a whole request: an export makes thousands of them.
NOTICED_SECONDS = 0.25


@dataclass(frozen=True)
class Limits:
    """Longest times in seconds, 0 for none. `of_all`: the statement's counts for all slow ones of a request together.

    `name` is the application_name of the connections, as pg_stat_activity shows it.
    """

    name: str = "devportal command"
    statement: float = 0
    lock: float = 0
    idle_in_transaction: float = 0
    of_all: bool = False

    @property
    def answer(self) -> float | None:
        """How long an answer of the server is waited for."""
        return self.statement + GRACE_SECONDS if self.statement else None

    def server_options(self) -> str:
        """Return libpq's `options`, by which the server applies them."""
        given = {
            "statement_timeout": self.statement,
            "lock_timeout": self.lock,
            "idle_in_transaction_session_timeout": self.idle_in_transaction,
        }
        return " ".join(f"-c {name}={int(seconds * 1000)}" for name, seconds in given.items() if seconds)


# What is rare, and may have to read a large table: see `allow_long_statements`.
LONG_SECONDS = 30.0

_of_process = Limits()
_of_thread = threading.local()


def current() -> Limits:
    """Return the limits of connections that this thread makes."""
    limits: Limits = getattr(_of_thread, "limits", _of_process)
    return limits


def apply_to_requests() -> None:
    """Limit this process as one that answers requests."""
    global _of_process
    _of_process = _limits(settings.DATABASE_STATEMENT_TIMEOUT_SECONDS, "devportal requests", of_all=True)


def apply_to_tasks(*, this_thread_only: bool = False) -> None:
    """Limit this process, or a thread of a process that answers requests, as one that runs tasks."""
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
    """What is left of the time for which answers of the server are waited for; None without a limit."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self.left = limits.answer

    def renew(self) -> None:
        """A request begins."""
        self.left = self._limits.answer

    def spend(self, since: float) -> None:
        """Something was waited for since `since` (time.monotonic)."""
        took = time.monotonic() - since
        if self.left is not None and self._limits.of_all and took > NOTICED_SECONDS:
            self.left = max(self.left - took, NOTICED_SECONDS)


def allow_long_statements() -> None:
    """Allow the rest of this transaction LONG_SECONDS for its statements, where they are limited.

    For what a person does once, and must not fail because there is much of it.
    """
    connection = connections[DEFAULT_DB_ALIAS]
    patience = getattr(connection, "patience", None)
    if isinstance(patience, Patience) and patience.left is not None:
        with connection.cursor() as cursor:
            milliseconds = str(int(LONG_SECONDS * 1000))
            cursor.execute("SELECT set_config('statement_timeout', %s, true)", [milliseconds])
        patience.left = LONG_SECONDS + GRACE_SECONDS
