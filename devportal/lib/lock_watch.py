"""Who is in the way of a statement that waits for a lock on PostgreSQL: for the messages of `manage.py migrate`."""

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.db import DatabaseError
from django.db.backends.base.base import BaseDatabaseWrapper

TELL_SECONDS = 10.0
_LOOK_SECONDS = 0.25
# The blocking session's statement is not told: it may hold what people wrote.
_WAITING = """
SELECT COALESCE(waiting.relation::regclass::text, waiting.locktype), blocker.pid, blocker.application_name,
  blocker.state, EXTRACT(epoch FROM clock_timestamp() - blocker.xact_start)
FROM pg_locks waiting, unnest(pg_blocking_pids(waiting.pid)) AS by, pg_stat_activity blocker
WHERE waiting.pid = %s AND NOT waiting.granted AND blocker.pid = by
LIMIT 1
"""


@dataclass(frozen=True)
class Blocker:
    """What a statement waited for, and which session held it. `age` is that of its transaction, in seconds."""

    table: str
    pid: int
    application: str
    state: str
    age: float

    def __str__(self) -> str:
        by = f"process {self.pid}" + (f" ({self.application})" if self.application else "")
        return f"{self.table} is held by {by}, {self.state}, whose transaction is {self.age:.0f} s old"


class LockWatch:
    """While a block of code runs: who last kept a connection waiting for a lock (`last`), seen from another one.

    Waits of more than TELL_SECONDS are told, once for each who is in the way.
    """

    def __init__(self, connection: BaseDatabaseWrapper, tell: Callable[[str], object]) -> None:
        self.last: Blocker | None = None
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            self._watched = int(cursor.fetchone()[0])
        self._connection, self._tell = connection.copy(), tell
        self._since: dict[int, float] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)

    def __enter__(self) -> "LockWatch":
        self._connection.inc_thread_sharing()
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._over.set()
        self._thread.join()

    def _work(self) -> None:
        try:
            while not self._over.wait(_LOOK_SECONDS):
                if blocker := find_blocker(self._connection, self._watched):
                    self._note(blocker)
        except DatabaseError:
            return  # only the messages are the poorer for it
        finally:
            self._connection.close()

    def _note(self, blocker: Blocker) -> None:
        self.last = blocker
        since = self._since.setdefault(blocker.pid, time.monotonic())
        if time.monotonic() - since > TELL_SECONDS:
            self._since[blocker.pid] = math.inf
            self._tell(f"\nWaiting: {blocker}.")


def find_blocker(connection: BaseDatabaseWrapper, watched: int) -> Blocker | None:
    """Return who holds what a session (its process id) waits for; None when it waits for nothing."""
    with connection.cursor() as cursor:
        cursor.execute(_WAITING, [watched])
        row: Any = cursor.fetchone()
    return Blocker(row[0], row[1], row[2] or "", row[3] or "", float(row[4] or 0)) if row else None
