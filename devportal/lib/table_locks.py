"""Locks on PostgreSQL's tables: a statement that waits for one lets every later query of that table wait behind it.

So what needs a strong lock waits for it briefly, gives way, and tries again (docs/upgrades.md#locks). On other engines
there is nothing to wait for: a statement is just run.
"""

import logging
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from django.db import DatabaseError, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

log = logging.getLogger(__name__)

T = TypeVar("T")

# SQLSTATE lock_not_available (lock_timeout) and deadlock_detected.
_GAVE_WAY = frozenset({"55P03", "40P01"})
_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 5.0  # seconds


def gave_way(error: DatabaseError) -> bool:
    """Return whether a statement failed because it did not get its lock in time: it may be tried again."""
    return getattr(error.__cause__, "sqlstate", None) in _GAVE_WAY


def pauses(within: float) -> Iterator[float]:
    """Yield pauses in seconds, growing and with jitter, until `within` seconds have passed since the first call."""
    end, pause = time.monotonic() + within, _FIRST_PAUSE
    while time.monotonic() < end:
        # Not below half: who holds the lock shall have the time to finish. Not in time with others, who retry as well.
        yield pause * random.uniform(0.5, 1)  # noqa: S311  (no secret)
        pause = min(pause * 2, _LONGEST_PAUSE)


@contextmanager
def patient(cursor: Any) -> Iterator[None]:
    """Let statements wait for locks as long as it takes: for those for which nobody else waits meanwhile.

    Such as CREATE INDEX CONCURRENTLY, which waits for the transactions that are older than it.
    """
    cursor.execute("SELECT current_setting('lock_timeout')")
    before = cursor.fetchone()[0]
    cursor.execute("SET lock_timeout = 0")
    yield
    cursor.execute("SELECT set_config('lock_timeout', %s, false)", [before])


def run_giving_way(
    connection: BaseDatabaseWrapper, act: Callable[[Any], T], *, lock_seconds: float, within: float
) -> T:
    """Run `act(cursor)` in a transaction in which no statement waits longer than `lock_seconds` for a table's lock.

    It is tried again, with pauses, for `within` seconds in all; then the DatabaseError is raised (`gave_way` tells it).
    """
    left = pauses(within)
    while True:
        try:
            with transaction.atomic(using=connection.alias), connection.cursor() as cursor:
                if connection.vendor == "postgresql":
                    cursor.execute(f"SET LOCAL lock_timeout = {int(lock_seconds * 1000)}")
                return act(cursor)
        except DatabaseError as error:
            pause = next(left, None) if gave_way(error) else None
            if pause is None:
                raise
            log.info("A table is locked; trying again in %.1f s.", pause)
            time.sleep(pause)
