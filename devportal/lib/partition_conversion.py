"""Makes a daily table (partitions.py) of one that is in use, for migrations (docs/upgrades.md#tables-by-day).

What takes long is done first, beside readers and writers: an index that has the day in it, and a constraint that says
up to when the rows go. Then one short transaction puts a parent in the table's place, and the table becomes its
partition `…_before`, without being read. Each step can be repeated after a crash.
"""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper

from devportal.lib import clock
from devportal.lib.partitions import DailyTable, create_ahead, is_partitioned, literal, midnight
from devportal.lib.table_locks import patient, run_giving_way

# Days whose rows still go to `…_before`. Until the table is parted, a row beyond them is refused: a migration that was
# killed halfway has to be run again within that time.
DAYS_BEFORE = 7
# Of those tables that every token check reads: it waits behind us as long as we wait.
LOCK_SECONDS, WITHIN_SECONDS = 0.5, 300.0
_MOMENT = re.compile(r"< '([^']+)'")


def partition_by_day(connection: BaseDatabaseWrapper, daily: DailyTable) -> None:
    """Part a table by day, on PostgreSQL; nothing is done elsewhere, or to one that is parted already.

    Call it outside of transactions. Its key becomes (id, time); ids go on from where they were. Raises DatabaseError
    when a lock can't be had within WITHIN_SECONDS.
    """
    if connection.vendor != "postgresql":
        return
    with connection.cursor() as cursor:
        if not is_partitioned(cursor, daily.table):
            cutoff = _bound(connection, daily)
            with patient(cursor):
                _index(cursor, daily)
                cursor.execute(f"ALTER TABLE {daily.table} VALIDATE CONSTRAINT {_check(daily)}")
            _giving_way(connection, lambda swapping: _swap(swapping, daily, cutoff))
    create_ahead(connection, daily)


def _giving_way(connection: BaseDatabaseWrapper, act: Any) -> None:
    run_giving_way(connection, act, lock_seconds=LOCK_SECONDS, within=WITHIN_SECONDS)


def _check(daily: DailyTable) -> str:
    return f"{daily.table}_before_check"


def _bound(connection: BaseDatabaseWrapper, daily: DailyTable) -> datetime:
    """Have a constraint say up to when the table's rows go, and return that; it need not be true of old rows yet."""
    with connection.cursor() as cursor:
        if known := _known_bound(cursor, daily):
            return known
        # A row of a day to come, by a clock that was wrong, must not be in the way.
        cursor.execute(f"SELECT max({daily.column}) FROM {daily.table}")  # noqa: S608  (names are our own)
        newest = cursor.fetchone()[0] or clock.now()
    cutoff = midnight(max(newest, clock.now())) + timedelta(days=DAYS_BEFORE)
    definition = f"CHECK ({daily.column} < {literal(cutoff)}) NOT VALID"
    _giving_way(
        connection,
        lambda cursor: cursor.execute(f"ALTER TABLE {daily.table} ADD CONSTRAINT {_check(daily)} {definition}"),
    )
    return cutoff


def _known_bound(cursor: Any, daily: DailyTable) -> datetime | None:
    cursor.execute(
        "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = to_regclass(%s) AND conname = %s",
        [daily.table, _check(daily)],
    )
    found = cursor.fetchone()
    match = _MOMENT.search(found[0]) if found else None
    return datetime.fromisoformat(match[1]).astimezone(UTC) if match else None


def _index(cursor: Any, daily: DailyTable) -> None:
    """Make the index of the key that the parent will have, beside readers and writers."""
    name = f"{daily.before}_pkey"
    cursor.execute("SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)", [name])
    found = cursor.fetchone()
    if found and not found[0]:
        cursor.execute(f"DROP INDEX CONCURRENTLY {name}")  # of an attempt that was broken off
    if not found or not found[0]:
        cursor.execute(f"CREATE UNIQUE INDEX CONCURRENTLY {name} ON {daily.table} (id, {daily.column})")


def _swap(cursor: Any, daily: DailyTable, cutoff: datetime) -> None:
    """Put a parent in the table's place. Nothing here reads a row."""
    for other in _referenced(cursor, daily.table):
        # In the order in which writers come to these tables, so that neither waits for the other.
        cursor.execute(f"LOCK TABLE {other} IN ACCESS EXCLUSIVE MODE")
    cursor.execute(f"LOCK TABLE {daily.table} IN ACCESS EXCLUSIVE MODE")
    cursor.execute(f"SELECT NOT EXISTS (SELECT FROM {daily.table})")  # noqa: S608  (names are our own)
    is_empty = cursor.fetchone()[0]
    indexes, constraints = _indexes(cursor, daily), _constraints(cursor, daily)
    _rename(cursor, daily, [name for name, _ in indexes] + [name for name, kind, _ in constraints if kind == "u"])
    _make_parent(cursor, daily)
    for name, _, definition in constraints:
        cursor.execute(f"ALTER TABLE {daily.table} ADD CONSTRAINT {name} {definition}")
    for _, definition in indexes:
        cursor.execute(definition)  # it names the table, which is the parent now
    cursor.execute(f"CREATE TABLE {daily.default} PARTITION OF {daily.table} DEFAULT")
    if is_empty:
        cursor.execute(f"DROP TABLE {daily.before}")
        return
    bounds = f"FROM (MINVALUE) TO ({literal(cutoff)})"
    cursor.execute(f"ALTER TABLE {daily.table} ATTACH PARTITION {daily.before} FOR VALUES {bounds}")
    cursor.execute(f"ALTER TABLE {daily.before} DROP CONSTRAINT {_check(daily)}")


def _referenced(cursor: Any, table: str) -> list[str]:
    cursor.execute(
        "SELECT DISTINCT confrelid::regclass::text FROM pg_constraint "
        "WHERE conrelid = to_regclass(%s) AND contype = 'f' ORDER BY 1",
        [table],
    )
    return [name for (name,) in cursor.fetchall()]


def _indexes(cursor: Any, daily: DailyTable) -> list[tuple[str, str]]:
    """Return name and definition of the table's indexes that belong to no constraint."""
    cursor.execute(
        "SELECT relname, pg_get_indexdef(indexrelid) FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid "
        "WHERE indrelid = to_regclass(%s) AND relname <> %s "
        "AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid) ORDER BY 1",
        [daily.table, f"{daily.before}_pkey"],
    )
    return list(cursor.fetchall())


def _constraints(cursor: Any, daily: DailyTable) -> list[tuple[str, str, str]]:
    """Return name, kind and definition of the constraints that the parent gets as well: all but the key."""
    cursor.execute(
        "SELECT conname, contype::text, pg_get_constraintdef(oid) FROM pg_constraint "
        "WHERE conrelid = to_regclass(%s) AND contype IN ('c', 'u', 'f') AND conname <> %s ORDER BY 1",
        [daily.table, _check(daily)],
    )
    return list(cursor.fetchall())


def _rename(cursor: Any, daily: DailyTable, indexes: list[str]) -> None:
    """Make room for the parent's names. A name has at most 63 bytes."""
    cursor.execute(f"ALTER TABLE {daily.table} RENAME TO {daily.before}")
    for name in indexes:
        cursor.execute(f"ALTER INDEX {name} RENAME TO {name[:56]}_before")
    cursor.execute(f"ALTER SEQUENCE {daily.table}_id_seq RENAME TO {daily.before}_id_seq")
    cursor.execute(f"ALTER TABLE {daily.before} DROP CONSTRAINT {daily.table}_pkey")
    name = f"{daily.before}_pkey"
    cursor.execute(f"ALTER TABLE {daily.before} ADD CONSTRAINT {name} PRIMARY KEY USING INDEX {name}")


def _make_parent(cursor: Any, daily: DailyTable) -> None:
    like = f"LIKE {daily.before} INCLUDING DEFAULTS INCLUDING IDENTITY"
    cursor.execute(f"CREATE TABLE {daily.table} ({like}) PARTITION BY RANGE ({daily.column})")
    cursor.execute(f"ALTER TABLE {daily.table} ADD CONSTRAINT {daily.table}_pkey PRIMARY KEY (id, {daily.column})")
    last = f"SELECT last_value, is_called FROM {daily.before}_id_seq"  # noqa: S608  (as above)
    cursor.execute(f"SELECT setval('{daily.table}_id_seq', last_value, is_called) FROM ({last}) AS old")  # noqa: S608  (as above)
    cursor.execute(f"ALTER TABLE {daily.before} ALTER COLUMN id DROP IDENTITY")
