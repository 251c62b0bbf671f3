"""Changing many rows in short transactions: deleting them, and filling new columns."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar

from django.db import connections, transaction
from django.db.models import Model, Q, QuerySet

from core.database.storable import is_key

BATCH = 2000


def delete_in_batches(rows: "QuerySet[Any]") -> int:
    """Delete the rows of a queryset and their dependent rows, BATCH per transaction. Return the number of rows.

    Meant for tables that no other table refers to; then each batch is one statement by primary key.
    """
    gone = 0
    while batch := list(rows.order_by().values_list("pk", flat=True)[:BATCH]):
        rows.model._default_manager.filter(pk__in=batch).delete()
        gone += len(batch)
    return gone


def delete_oldest(rows: "QuerySet[Any]", column: str, before: datetime) -> int:
    """Delete the rows whose `column` is before a time, and return their number.

    Only for tables whose rows are added in order of time. Because keys are then in the same order, no index on
    `column` is needed, and the function stops at the first batch that contains a newer row.
    """
    gone = 0
    while batch := list(rows.order_by("pk").values_list("pk", column)[:BATCH]):
        old = [key for key, moment in batch if moment < before]
        rows.model._default_manager.filter(pk__in=old).delete()
        gone += len(old)
        if len(old) < len(batch):
            break
    return gone


BACKFILL_BATCH = 1000


def backfill(rows: "QuerySet[Any]", fill: Callable[["QuerySet[Any]"], int], batch: int = BACKFILL_BATCH) -> int:
    """Call `fill` with `batch` rows at a time, in the order of their keys, each in a separate transaction.

    `rows` selects the rows that still need the change, so that an interrupted run continues where it stopped. `fill`
    changes the rows that it is given, and returns how many it changed. Returns the sum. Raises RuntimeError inside a
    transaction, which would keep all rows locked until its end: the migration needs `atomic = False`.
    """
    if connections[rows.db].in_atomic_block:
        raise RuntimeError("A backfill runs outside of transactions: set atomic = False on the migration.")
    done, last = 0, None
    while True:
        left = rows if last is None else rows.filter(pk__gt=last)
        keys = list(left.order_by("pk").values_list("pk", flat=True)[:batch])
        if not keys:
            return done
        last = keys[-1]
        with transaction.atomic(using=rows.db):
            # Filter again: another process may have changed some of them meanwhile.
            done += fill(rows.filter(pk__in=keys))


T = TypeVar("T", bound=Model)


@dataclass(frozen=True)
class KeysetPage(Generic[T]):
    """Rows, newest first, and the keys where the neighbouring pages begin (None if there is none)."""

    rows: list[T]
    older_than: int | None
    newer_than: int | None


def keyset_page(
    queryset: "QuerySet[T]", older_than: int | None, newer_than: int | None, size: int, parts: Sequence[Q] = ()
) -> "KeysetPage[T]":
    """Return the next rows below `older_than`, or above `newer_than`, or the newest ones: at most `size` rows.

    `parts` are conditions of which each row meets at least one. Each is read through its own index and the keys are
    merged; for the conditions joined by OR, the database would read and sort all rows that meet them.
    """
    if newer_than is not None:
        rows = _first(queryset.filter(pk__gt=newer_than).order_by("pk"), size + 1, parts)
        if len(rows) > size:
            rows = rows[:size][::-1]
            return KeysetPage(rows, older_than=rows[-1].pk, newer_than=rows[0].pk)
        # Fewer rows than a page: show the first page instead.
        older_than = None
    found = queryset if older_than is None else queryset.filter(pk__lt=older_than)
    rows = _first(found.order_by("-pk"), size + 1, parts)
    is_more, rows = len(rows) > size, rows[:size]
    newer = None if older_than is None else rows[0].pk if rows else older_than - 1
    return KeysetPage(rows, older_than=rows[-1].pk if is_more else None, newer_than=newer)


def _first(rows: "QuerySet[T]", size: int, parts: Sequence[Q]) -> list[T]:
    if not parts:
        return list(rows[:size])
    keys = {key for part in parts for key in rows.filter(part).values_list("pk", flat=True)[:size]}
    return list(rows.filter(pk__in=keys)[:size])


def parse_key(text: str | None) -> int | None:
    """Return the key in a query parameter; None (the first page) if it is not a valid key."""
    return int(text) if text is not None and is_key(text) else None
