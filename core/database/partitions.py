"""Tables that are partitioned by day on PostgreSQL, so that old days are dropped whole (docs/retention.md#retention).

A partition holds a day (UTC). There is always a default partition, which takes rows of days without one, so that no
insert fails. On other engines the tables are plain, and old rows are deleted in batches.
"""

import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import DatabaseError, models
from django.db import connection as default_connection
from django.db.backends.base.base import BaseDatabaseWrapper

from core import clock
from core.database.batches import delete_in_batches
from core.database.schema_changes import run_giving_way

log = logging.getLogger(__name__)

DAYS_AHEAD = 7
_DAY = timedelta(days=1)
# The parent's lock is needed for milliseconds. Whoever waits for it stops readers and writers: half a second at most.
LOCK_SECONDS, WITHIN_SECONDS = 0.5, 20.0
_BLOCKS_A_DELETE = 250  # 2 MB: some thousands of rows
_UPPER_BOUND = re.compile(r"TO \('([^']+)'\)")


@dataclass(frozen=True)
class Partition:
    """A partition: its table, and when its rows end; None for the default partition."""

    table: str
    until: datetime | None


@dataclass(frozen=True)
class DailyTable:
    """A table that is partitioned by day of a column with a time zone."""

    table: str
    column: str

    @property
    def default(self) -> str:
        return f"{self.table}_default"

    def name_of(self, day: datetime) -> str:
        return f"{self.table}_{day:%Y%m%d}"


def midnight(moment: datetime) -> datetime:
    """Return the beginning of a moment's day (UTC)."""
    return moment.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


def literal(moment: datetime) -> str:
    """Return a moment as SQL: definitions take no parameters."""
    return f"'{moment.astimezone(UTC).isoformat(sep=' ')}'"


def partitions_of(cursor: Any, table: str) -> list[Partition]:
    """Return a table's partitions, the oldest first."""
    cursor.execute(
        "SELECT child.relname, pg_get_expr(child.relpartbound, child.oid) FROM pg_inherits "
        "JOIN pg_class child ON child.oid = inhrelid WHERE inhparent = to_regclass(%s)",
        [table],
    )
    # The bound is looked up in today's catalog, the list is the statement's: a day that was dropped meanwhile has none.
    found = [Partition(name, _upper_bound(bound)) for name, bound in cursor.fetchall() if bound is not None]
    return sorted(found, key=lambda partition: (partition.until is None, partition.until, partition.table))


def _upper_bound(bound: str) -> datetime | None:
    match = _UPPER_BOUND.search(bound)
    return datetime.fromisoformat(match[1]).astimezone(UTC) if match else None


def partition_by_day(connection: BaseDatabaseWrapper, daily: DailyTable) -> None:
    """Partition an empty table by day, on PostgreSQL; for the migration that follows the one that creates the table.

    Its key becomes (id, time), because a unique constraint has to hold the time. Raises ValueError if it has rows.
    """
    if connection.vendor != "postgresql":
        return
    table, plain = daily.table, f"{daily.table}_plain"
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT EXISTS (SELECT FROM {table})")  # noqa: S608  (names are our own)
        if cursor.fetchone()[0]:
            raise ValueError(f"{table} has rows.")
        definitions = _definitions(cursor, table)
        cursor.execute(f"ALTER TABLE {table} RENAME TO {plain}")
        cursor.execute(f"ALTER SEQUENCE {table}_id_seq RENAME TO {plain}_id_seq")
        like = f"LIKE {plain} INCLUDING DEFAULTS INCLUDING IDENTITY"
        cursor.execute(f"CREATE TABLE {table} ({like}) PARTITION BY RANGE ({daily.column})")
        cursor.execute(f"DROP TABLE {plain}")
        cursor.execute(f"ALTER TABLE {table} ADD CONSTRAINT {table}_pkey PRIMARY KEY (id, {daily.column})")
        for definition in definitions:
            cursor.execute(definition)
        cursor.execute(f"CREATE TABLE {daily.default} PARTITION OF {table} DEFAULT")
    create_ahead(connection, daily)


def _definitions(cursor: Any, table: str) -> list[str]:
    """Return the statements that create a table's constraints and indexes, except for its primary key."""
    cursor.execute(
        "SELECT format('ALTER TABLE %%s ADD CONSTRAINT %%I %%s', "
        "conrelid::regclass, conname, pg_get_constraintdef(oid)) FROM pg_constraint "
        "WHERE conrelid = to_regclass(%s) AND contype IN ('c', 'u', 'f') UNION ALL "
        "SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = to_regclass(%s) "
        "AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid)",
        [table, table],
    )
    return [definition for (definition,) in cursor.fetchall()]


# --- Periodic work ---


def clear_before(model: type[models.Model], daily: DailyTable, before: datetime) -> int:
    """Delete what is older than `before`; return about how many rows went.

    On PostgreSQL a day goes whole, when all of it is older, and the partitions of the days to come are made. Where
    somebody else holds a lock for long, a day is left to the next run.
    """
    if default_connection.vendor == "postgresql":
        create_ahead(default_connection, daily)
        return _clear_partitions(daily, before)
    return delete_in_batches(model._default_manager.filter(**{f"{daily.column}__lt": before}))


def create_ahead(connection: BaseDatabaseWrapper, daily: DailyTable, days: int = DAYS_AHEAD) -> int:
    """Make the partitions of today and the days to come that are missing; return how many were made."""
    today = midnight(clock.now())
    return sum(_create(connection, daily, today + _DAY * ahead) for ahead in range(days + 1))


def _create(connection: BaseDatabaseWrapper, daily: DailyTable, day: datetime) -> bool:
    part, until = daily.name_of(day), day + _DAY

    def act(cursor: Any) -> bool:
        _only_one(cursor, daily)
        existing = partitions_of(cursor, daily.table)
        if any(one.table == part for one in existing):
            return False
        span = f"{daily.column} >= {literal(day)} AND {daily.column} < {literal(until)}"
        cursor.execute(f"SELECT EXISTS (SELECT FROM {daily.default} WHERE {span})")  # noqa: S608  (names are our own)
        if cursor.fetchone()[0]:
            return False  # the rows of this day are in the default partition, and stay there until they are old
        # Apart from its parent first: PARTITION OF would lock all of it against readers.
        cursor.execute(f"CREATE TABLE {part} (LIKE {daily.table} INCLUDING DEFAULTS INCLUDING CONSTRAINTS)")
        bounds = f"FROM ({literal(day)}) TO ({literal(until)})"
        cursor.execute(f"ALTER TABLE {daily.table} ATTACH PARTITION {part} FOR VALUES {bounds}")
        return True

    return bool(_unless_busy(connection, act, f"make {part}"))


def _clear_partitions(daily: DailyTable, before: datetime) -> int:
    gone = 0
    with default_connection.cursor() as cursor:
        existing = partitions_of(cursor, daily.table)
    for partition in existing:
        if partition.until is not None and partition.until <= before:
            gone += _drop(daily, partition.table)
        elif partition.table == daily.default:
            gone += _delete_rows(daily, partition.table, before)
    return gone


def _drop(daily: DailyTable, part: str) -> int:
    def act(cursor: Any) -> int:
        _only_one(cursor, daily)
        # What a caller's transaction has still to check of these rows is checked now: a table goes only without.
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        rows = _number_of_rows(cursor, part)
        cursor.execute(f"DROP TABLE IF EXISTS {part}")
        return rows

    return _unless_busy(default_connection, act, f"drop {part}") or 0


def _number_of_rows(cursor: Any, part: str) -> int:
    """Return how many rows a partition has, as the planner knows; counted where it knows of none."""
    cursor.execute("SELECT reltuples::bigint FROM pg_class WHERE oid = to_regclass(%s)", [part])
    found = cursor.fetchone()
    if found and found[0] <= 0:
        cursor.execute(f"SELECT count(*) FROM {part}")  # noqa: S608  (names are our own)
        found = cursor.fetchone()
    return int(found[0]) if found else 0


def _delete_rows(daily: DailyTable, part: str, before: datetime) -> int:
    """Delete old rows from a partition that holds several days, in one pass over its blocks, a transaction each."""
    gone = 0
    for first, beyond in _block_ranges(part):
        with default_connection.cursor() as cursor:
            cursor.execute(
                f"DELETE FROM {part} WHERE ctid >= '({first},0)'::tid AND ctid < '({beyond},0)'::tid "  # noqa: S608  (as above)
                f"AND {daily.column} < {literal(before)}"
            )
            gone += cursor.rowcount
    return gone


def _block_ranges(part: str) -> Iterator[tuple[int, int]]:
    with default_connection.cursor() as cursor:
        size = "pg_relation_size(to_regclass(%s)) / current_setting('block_size')::int"
        cursor.execute(f"SELECT {size}", [part])
        found = cursor.fetchone()
    blocks = int(found[0] or 0) if found else 0
    for first in range(0, blocks, _BLOCKS_A_DELETE):
        yield first, first + _BLOCKS_A_DELETE


def _only_one(cursor: Any, daily: DailyTable) -> None:
    """Wait until no other transaction works on this table's partitions (as long as for any lock)."""
    cursor.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", [f"partitions of {daily.table}"])


def _unless_busy(connection: BaseDatabaseWrapper, act: Any, what: str) -> int | None:
    try:
        done: int = run_giving_way(connection, act, lock_seconds=LOCK_SECONDS, within=WITHIN_SECONDS)
    except DatabaseError:
        # Nothing is lost: the default partition takes what comes, and an old day goes with the next run.
        log.warning("Could not %s; the next run tries again.", what, exc_info=True)
        return None
    return done
