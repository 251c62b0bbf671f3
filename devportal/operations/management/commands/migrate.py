"""`manage.py migrate`, which can run while the service is running (docs/upgrades.md#migrate)."""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser
from django.core.management.commands.migrate import Command as DjangoCommand
from django.db import DatabaseError, connections
from django.db.backends.base.base import BaseDatabaseWrapper

from core.database.first_migrations import HINT, other_baseline
from core.database.schema_changes import LockWatch, gave_way, pauses

GIVE_UP_SECONDS = 300.0
WAIT_SECONDS = 1800.0
ADVISORY_LOCK = 7_305_491  # an arbitrary number, the same in all versions
# Session time-outs that are switched off, because migrations may take long.
_TIMEOUTS = ("statement_timeout", "idle_session_timeout", "idle_in_transaction_session_timeout", "transaction_timeout")


def _lock_seconds() -> float:
    """Return how long to wait for a lock: half as long as requests, which wait behind the migration, do."""
    return min(settings.DATABASE_LOCK_TIMEOUT_SECONDS or 1, 1) / 2


class Command(DjangoCommand):
    """Django's command, extended for PostgreSQL: only one runs at a time, and it never blocks requests for long."""

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        locks = parser.add_argument_group("PostgreSQL")
        locks.add_argument(
            "--lock-timeout", type=float, default=_lock_seconds(), metavar="SECONDS",
            help="how long a statement, and those queued behind it, wait for a lock (default: %(default)s)",
        )  # fmt: skip
        locks.add_argument(
            "--give-up-after", type=float, default=GIVE_UP_SECONDS, metavar="SECONDS",
            help="how long to retry a migration that does not get its lock (default: %(default)s)",
        )  # fmt: skip
        locks.add_argument(
            "--wait", type=float, default=WAIT_SECONDS, metavar="SECONDS",
            help="how long to wait for another migrate (default: %(default)s)",
        )  # fmt: skip

    def handle(self, *args: Any, **options: Any) -> None:
        connection = connections[options["database"]]
        if reason := other_baseline(connection):
            raise CommandError(f"{reason} {HINT}")
        if connection.vendor != "postgresql" or options["plan"] or options["check_unapplied"]:
            super().handle(*args, **options)
            return
        with self._alone(connection, options["wait"]), _own_timeouts(connection, options["lock_timeout"]):
            left = pauses(options["give_up_after"])
            with LockWatch(connection, self.stderr.write) as watch:
                while not self._try(watch, left, *args, **options):
                    pass

    def _try(self, watch: LockWatch, left: Iterator[float], *args: Any, **options: Any) -> bool:
        """Run Django's command; return False if a migration did not get its lock. Applied migrations are kept."""
        try:
            super().handle(*args, **options)
        except DatabaseError as error:
            if not gave_way(error):
                raise
            blocker = str(watch.last or "a table is locked")
            pause = next(left, None)
            if pause is None:
                after = f"{options['give_up_after']:.0f} s"
                raise CommandError(f"Gave up after {after}: {blocker}. Nothing is half done. Run it again.") from error
            self.stderr.write(f"\n{blocker}. Trying again in {pause:.1f} s.")
            time.sleep(pause)
            return False
        return True

    @contextmanager
    def _alone(self, connection: BaseDatabaseWrapper, longest: float) -> Iterator[None]:
        """Hold the lock that only one `migrate` can hold at a time, on a separate connection.

        The lock belongs to a transaction, so that it holds through a pooler in transaction mode, too. While it is held
        that transaction runs no statement: an index that is built concurrently would wait for its end.
        """
        guard, end, has_reported = connection.copy(), time.monotonic() + longest, False
        try:
            while holder := _take(guard):
                if time.monotonic() > end:
                    raise CommandError(f"Another migrate has been running for {longest:.0f} s: {holder}.")
                if not has_reported:
                    self.stderr.write(f"Another migrate is running ({holder}); waiting for it to end.")
                    has_reported = True
                time.sleep(0.5)
            yield
            guard.rollback()
        finally:
            guard.close()


def _take(guard: BaseDatabaseWrapper) -> str:
    """Begin a transaction that holds the lock and return "", or end it and return who holds the lock."""
    guard.set_autocommit(False)
    with guard.cursor() as cursor:
        for name in _known(cursor, _TIMEOUTS):
            cursor.execute(f"SET LOCAL {name} = 0")
        # Without a parameter: a statement with one keeps its snapshot until the next, which the index would wait for.
        cursor.execute(f"SELECT pg_try_advisory_xact_lock({ADVISORY_LOCK})")
        holder = "" if cursor.fetchone()[0] else _holder(cursor)
    if holder:
        guard.rollback()
    return holder


@contextmanager
def _own_timeouts(connection: BaseDatabaseWrapper, lock_seconds: float) -> Iterator[None]:
    """Limit how long the session's statements wait for locks, and remove their other time limits."""
    with connection.cursor() as cursor:
        names = _known(cursor, _TIMEOUTS)
        for name in names:
            cursor.execute(f"SET {name} = 0")
        cursor.execute(f"SET lock_timeout = {math.ceil(lock_seconds * 1000)}")
    try:
        yield
    finally:
        if connection.is_usable():
            with connection.cursor() as cursor:
                for name in (*names, "lock_timeout"):
                    cursor.execute(f"RESET {name}")


def _known(cursor: Any, names: tuple[str, ...]) -> list[str]:
    cursor.execute("SELECT name FROM pg_settings WHERE name = ANY(%s)", [list(names)])
    return [name for (name,) in cursor.fetchall()]


def _holder(cursor: Any) -> str:
    cursor.execute(
        "SELECT pid, client_addr::text, date_trunc('second', backend_start)::text FROM pg_locks "
        "JOIN pg_stat_activity USING (pid) WHERE locktype = 'advisory' AND objid = %s AND granted LIMIT 1",
        [ADVISORY_LOCK],
    )
    found = cursor.fetchone()
    if found is None:
        return "it has just ended"
    pid, source, since = found
    if since is None:  # PostgreSQL tells nobody but the role itself
        return f"process {pid} of another role"
    return f"process {pid}, from {source or 'this machine'}, since {since}"
