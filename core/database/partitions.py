"""Tables partitioned by day on PostgreSQL, so that whole old days can be dropped (docs/retention.md#retention).

Each partition holds one day (UTC). A default partition takes rows of days that have no partition, so that no insert
fails. On other database engines the tables are not partitioned, and old rows are deleted in batches.
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
# The parent's lock is needed for milliseconds. Waiting for it blocks readers and writers, so the wait is at most 0.5 s.
LOCK_SECONDS, WITHIN_SECONDS = 0.5, 20.0
_BLOCKS_A_DELETE = 250  # 2 MB: some thousands of rows
_UPPER_BOUND = re.compile(r"TO \('([^']+)'\)")


@dataclass(frozen=True)
class Partition:
    """A partition: its table name, and the end of its time range; None for the default partition."""

    table: str
    until: datetime | None


@dataclass(frozen=True)
class DailyTable:
    """A table that is partitioned by day, on a timestamp column with time zone."""

    table: str
    column: str

    @property
    def default(self) -> str:
        return f"{self.table}_default"

    def name_of(self, day: datetime) -> str:
        return f"{self.table}_{day:%Y%m%d}"


def midnight(moment: datetime) -> datetime:
    """Return the beginning of the day (UTC) of `moment`."""
    return moment.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


def literal(moment: datetime) -> str:
    """Return a timestamp as an SQL literal: DDL statements take no parameters."""
    return f"'{moment.astimezone(UTC).isoformat(sep=' ')}'"


def partitions_of(cursor: Any, table: str) -> list[Partition]:
    """Return a table's partitions, the oldest first."""
    cursor.execute(
        "SELECT child.relname, pg_get_expr(child.relpartbound, child.oid) FROM pg_inherits "
        "JOIN pg_class child ON child.oid = inhrelid WHERE inhparent = to_regclass(%s)",
        [table],
    )
    # The bound comes from the newest catalog, the list from the statement's snapshot: partitions that were dropped in
    # between have no bound.
    found = [Partition(name, _upper_bound(bound)) for name, bound in cursor.fetchall() if bound is not None]
    return sorted(found, key=lambda partition: (partition.until is None, partition.until, partition.table))


def _upper_bound(bound: str) -> datetime | None:
    match = _UPPER_BOUND.search(bound)
    return datetime.fromisoformat(match[1]).astimezone(UTC) if match else None


def partition_by_day(connection: BaseDatabaseWrapper, daily: DailyTable) -> None:
    """Partition an empty table by day, on PostgreSQL; for the migration after the one that creates the table.

    The primary key becomes (id, time), because unique constraints must contain the time. Raises ValueError if the
    table has rows.
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
    """Delete the rows older than `before`; return the approximate number of deleted rows.

    On PostgreSQL, partitions are dropped when all their rows are older, and partitions for the next days are created.
    If another session holds a lock for too long, the day is left to the next run.
    """
    if default_connection.vendor == "postgresql":
        create_ahead(default_connection, daily)
        return _clear_partitions(daily, before)
    return delete_in_batches(model._default_manager.filter(**{f"{daily.column}__lt": before}))


def create_ahead(connection: BaseDatabaseWrapper, daily: DailyTable) -> int:
    """Create missing partitions for today and the next DAYS_AHEAD days; return how many were created."""
    today = midnight(clock.now())
    return sum(_create(connection, daily, today + _DAY * ahead) for ahead in range(DAYS_AHEAD + 1))


def _create(connection: BaseDatabaseWrapper, daily: DailyTable, day: datetime) -> bool:
    part, until = daily.name_of(day), day + _DAY

    def create(cursor: Any) -> bool:
        _only_one(cursor, daily)
        existing = partitions_of(cursor, daily.table)
        if any(one.table == part for one in existing):
            return False
        span = f"{daily.column} >= {literal(day)} AND {daily.column} < {literal(until)}"
        cursor.execute(f"SELECT EXISTS (SELECT FROM {daily.default} WHERE {span})")  # noqa: S608  (names are our own)
        if cursor.fetchone()[0]:
            return False  # rows of this day are in the default partition, and stay there until they are old
        # Create the table first and attach it afterwards: PARTITION OF would lock the whole parent against readers.
        cursor.execute(f"CREATE TABLE {part} (LIKE {daily.table} INCLUDING DEFAULTS INCLUDING CONSTRAINTS)")
        bounds = f"FROM ({literal(day)}) TO ({literal(until)})"
        cursor.execute(f"ALTER TABLE {daily.table} ATTACH PARTITION {part} FOR VALUES {bounds}")
        return True

    return bool(_unless_busy(connection, create, f"create {part}"))


def _clear_partitions(daily: DailyTable, before: datetime) -> int:
    deleted = 0
    with default_connection.cursor() as cursor:
        existing = partitions_of(cursor, daily.table)
    for partition in existing:
        if partition.until is not None and partition.until <= before:
            deleted += _drop(daily, partition.table)
        elif partition.table == daily.default:
            deleted += _delete_rows(daily, partition.table, before)
    return deleted


def _drop(daily: DailyTable, part: str) -> int:
    def drop(cursor: Any) -> int:
        _only_one(cursor, daily)
        # Check deferred constraints of these rows now: PostgreSQL refuses to drop a table with pending checks.
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        rows = _number_of_rows(cursor, part)
        cursor.execute(f"DROP TABLE IF EXISTS {part}")
        return rows

    return _unless_busy(default_connection, drop, f"drop {part}") or 0


def _number_of_rows(cursor: Any, part: str) -> int:
    """Return a partition's number of rows as the planner estimates it; counted if there is no estimate."""
    cursor.execute("SELECT reltuples::bigint FROM pg_class WHERE oid = to_regclass(%s)", [part])
    found = cursor.fetchone()
    if found and found[0] <= 0:
        cursor.execute(f"SELECT count(*) FROM {part}")  # noqa: S608  (names are our own)
        found = cursor.fetchone()
    return int(found[0]) if found else 0


def _delete_rows(daily: DailyTable, part: str, before: datetime) -> int:
    """Delete old rows from a partition that holds several days: one pass over its blocks, in small transactions."""
    deleted = 0
    for first, beyond in _block_ranges(part):
        with default_connection.cursor() as cursor:
            cursor.execute(
                f"DELETE FROM {part} WHERE ctid >= '({first},0)'::tid AND ctid < '({beyond},0)'::tid "  # noqa: S608  (as above)
                f"AND {daily.column} < {literal(before)}"
            )
            deleted += cursor.rowcount
    return deleted


def _block_ranges(part: str) -> Iterator[tuple[int, int]]:
    with default_connection.cursor() as cursor:
        size = "pg_relation_size(to_regclass(%s)) / current_setting('block_size')::int"
        cursor.execute(f"SELECT {size}", [part])
        found = cursor.fetchone()
    blocks = int(found[0] or 0) if found else 0
    for first in range(0, blocks, _BLOCKS_A_DELETE):
        yield first, first + _BLOCKS_A_DELETE


def _only_one(cursor: Any, daily: DailyTable) -> None:
    """Wait until no other transaction changes this table's partitions (with the usual lock time-out)."""
    cursor.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", [f"partitions of {daily.table}"])


def _unless_busy(connection: BaseDatabaseWrapper, work: Any, what: str) -> int | None:
    try:
        done: int = run_giving_way(connection, work, lock_seconds=LOCK_SECONDS, within=WITHIN_SECONDS)
    except DatabaseError:
        # Nothing is lost: the default partition takes new rows, and the next run drops the old day.
        log.warning("Could not %s; the next run tries again.", what, exc_info=True)
        return None
    return done
