"""Changing many rows in short transactions: deleting them, and filling new columns."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.db import connections, transaction
from django.db.models import QuerySet

BATCH = 2000


def delete_in_batches(rows: "QuerySet[Any]", size: int = BATCH) -> int:
    """Delete the rows of a queryset, `size` in a transaction, with what Django deletes with them; return how many.

    Suits tables on which nothing hangs; then each batch is one statement by primary key.
    """
    gone = 0
    while batch := list(rows.order_by().values_list("pk", flat=True)[:size]):
        rows.model._default_manager.filter(pk__in=batch).delete()
        gone += len(batch)
    return gone


def delete_oldest(rows: "QuerySet[Any]", column: str, before: datetime, size: int = BATCH) -> int:
    """Delete the rows whose `column` is before a time, and return their number.

    For tables that are only added to: the order of keys is that of time, so it needs no index, and ends at the first
    batch in which a row is younger.
    """
    gone = 0
    while batch := list(rows.order_by("pk").values_list("pk", column)[:size]):
        old = [key for key, moment in batch if moment < before]
        rows.model._default_manager.filter(pk__in=old).delete()
        gone += len(old)
        if len(old) < len(batch):
            break
    return gone


BACKFILL_BATCH = 1000


def backfill(rows: "QuerySet[Any]", fill: Callable[["QuerySet[Any]"], int], batch: int = BACKFILL_BATCH) -> int:
    """Call `fill` with `batch` of the rows at a time, in the order of their keys, each in a transaction of its own.

    `rows` selects what is still to be done, so that a run that was broken off goes on from there. `fill` changes the
    rows that it is given, and returns how many it changed. Returns the sum. Raises RuntimeError inside a transaction,
    which would keep all rows locked to its end: the migration has `atomic = False`.
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
            # Asked again: another process may have filled in some of them meanwhile.
            done += fill(rows.filter(pk__in=keys))
