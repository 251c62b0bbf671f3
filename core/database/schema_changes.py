"""Migrations while other processes serve: operations and table locks (docs/upgrades.md#expand-and-contract)."""

import logging
import math
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from django.db import DatabaseError, migrations, transaction
from django.db.backends.base.base import BaseDatabaseWrapper


class AddIndexConcurrently(migrations.AddIndex):
    """AddIndex without a lock against writers on PostgreSQL. Its migration needs `atomic = False`.

    Unlike the operation of django.contrib.postgres it works on other engines, and can be repeated: it first removes the
    invalid index that an interrupted attempt has left.
    """

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        if schema_editor.connection.vendor != "postgresql":
            super().database_forwards(app_label, schema_editor, from_state, to_state)
            return
        model = to_state.apps.get_model(app_label, self.model_name)
        with schema_editor.connection.cursor() as cursor, patient(cursor):
            cursor.execute("SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)", [self.index.name])
            found = cursor.fetchone()
            if found and not found[0]:
                cursor.execute(f"DROP INDEX CONCURRENTLY {schema_editor.quote_name(self.index.name)}")
            if not found or not found[0]:
                schema_editor.add_index(model, self.index, concurrently=True)


class DropForeignKeyIndex(migrations.AlterField):
    """AlterField to a foreign key with `db_index=False`, which on PostgreSQL only drops the index.

    Django would drop and re-create the foreign key, which locks the table that it refers to against readers.
    """

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        model = from_state.apps.get_model(app_label, self.model_name)
        field = to_state.apps.get_model(app_label, self.model_name)._meta.get_field(self.name)
        if schema_editor.connection.vendor != "postgresql" or field.db_index:
            super().database_forwards(app_label, schema_editor, from_state, to_state)
            return
        with schema_editor.connection.cursor() as cursor:
            known = schema_editor.connection.introspection.get_constraints(cursor, model._meta.db_table)
        for name, of in known.items():
            if of["columns"] == [field.column] and of["index"] and not of["unique"]:
                schema_editor.execute(f"DROP INDEX {schema_editor.quote_name(name)}")


# A statement that needs a strong lock waits for it briefly, gives up, and tries again (docs/upgrades.md#locks). On
# other engines there is no lock to wait for, and the statement just runs.

log = logging.getLogger(__name__)

T = TypeVar("T")

# SQLSTATE lock_not_available (lock_timeout) and deadlock_detected.
_GAVE_WAY = frozenset({"55P03", "40P01"})
# In seconds. The shortest pause is as long as a try, so that the requests behind it end before the next one.
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 5.0


def gave_way(error: DatabaseError) -> bool:
    """Return whether a statement failed because it did not get its lock in time, so that it can be retried."""
    return getattr(error.__cause__, "sqlstate", None) in _GAVE_WAY


def pauses(within: float) -> Iterator[float]:
    """Yield pauses in seconds, growing and with jitter, until `within` seconds have passed since the first call."""
    end, pause = time.monotonic() + within, _FIRST_PAUSE
    while time.monotonic() < end:
        # At least half, so that the lock's holder has time to finish; random, so that retries do not coincide.
        yield pause * random.uniform(0.5, 1)  # noqa: S311  (no secret)
        pause = min(pause * 2, _LONGEST_PAUSE)


@contextmanager
def patient(cursor: Any) -> Iterator[None]:
    """Turn off the lock time-out for statements that block nobody while they wait.

    An example is CREATE INDEX CONCURRENTLY, which waits for all transactions that are older than it.
    """
    cursor.execute("SELECT current_setting('lock_timeout')")
    before = cursor.fetchone()[0]
    cursor.execute("SET lock_timeout = 0")
    yield
    cursor.execute("SELECT set_config('lock_timeout', %s, false)", [before])


def run_giving_way(
    connection: BaseDatabaseWrapper, work: Callable[[Any], T], *, lock_seconds: float, within: float
) -> T:
    """Run `work(cursor)` in a transaction in which no statement waits longer than `lock_seconds` for a table lock.

    If a lock is not available, it is retried after a pause, for `within` seconds in all. After that the DatabaseError
    is raised; `gave_way` recognizes it.
    """
    left = pauses(within)
    while True:
        try:
            with transaction.atomic(using=connection.alias), connection.cursor() as cursor:
                if connection.vendor == "postgresql":
                    cursor.execute(f"SET LOCAL lock_timeout = {int(lock_seconds * 1000)}")
                return work(cursor)
        except DatabaseError as error:
            pause = next(left, None) if gave_way(error) else None
            if pause is None:
                raise
            log.info("A table is locked; trying again in %.1f s.", pause)
            time.sleep(pause)


REPORT_SECONDS = 10.0
_LOOK_SECONDS = 0.1
# The blocking session's statement is not selected: it may contain personal data.
_WAITING = """
SELECT COALESCE(waiting.relation::regclass::text, waiting.locktype), blocker.pid, blocker.application_name,
  blocker.state, EXTRACT(epoch FROM clock_timestamp() - blocker.xact_start)
FROM pg_locks waiting, unnest(pg_blocking_pids(waiting.pid)) AS by, pg_stat_activity blocker
WHERE waiting.pid = %s AND NOT waiting.granted AND blocker.pid = by
LIMIT 1
"""


@dataclass(frozen=True)
class Blocker:
    """What a statement waited for, and which session held it. `age` is the age of its transaction, in seconds.

    Unless it may read them, PostgreSQL tells a role neither `state` nor `age` of another role's sessions.
    """

    table: str
    pid: int
    application: str
    state: str
    age: float

    def __str__(self) -> str:
        by = f"process {self.pid}" + (f" ({self.application})" if self.application else "")
        if not self.state:
            return f"{self.table} is held by {by} of another role"
        age = f"{self.age:.0f} s" if self.age >= 1 else "less than 1 s"
        return f"{self.table} is held by {by}, {self.state}, whose transaction is {age} old"


class LockWatch:
    """Watches, from a second connection, who last blocked a connection (`last`) while a block of code runs.

    Waits of more than REPORT_SECONDS are reported with `report`, once for each blocking session.
    """

    def __init__(self, connection: BaseDatabaseWrapper, report: Callable[[str], object]) -> None:
        self.last: Blocker | None = None
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            self._watched = int(cursor.fetchone()[0])
        self._connection, self._report = connection.copy(), report
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
            return  # only the messages are missing then
        finally:
            self._connection.close()

    def _note(self, blocker: Blocker) -> None:
        self.last = blocker
        since = self._since.setdefault(blocker.pid, time.monotonic())
        if time.monotonic() - since > REPORT_SECONDS:
            self._since[blocker.pid] = math.inf
            self._report(f"\nWaiting: {blocker}.")


def find_blocker(connection: BaseDatabaseWrapper, watched: int) -> Blocker | None:
    """Return the session that blocks the session with process id `watched`; None when it waits for nothing."""
    with connection.cursor() as cursor:
        cursor.execute(_WAITING, [watched])
        row: Any = cursor.fetchone()
    return Blocker(row[0], row[1], row[2] or "", row[3] or "", float(row[4] or 0)) if row else None
