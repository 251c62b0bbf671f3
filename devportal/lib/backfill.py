"""Filling in what a new column holds for old rows, in short transactions (docs/upgrades.md#expand-and-contract)."""

from collections.abc import Callable
from typing import Any

from django.db import connections, transaction
from django.db.models import QuerySet

BATCH = 1000


def backfill(rows: "QuerySet[Any]", fill: Callable[["QuerySet[Any]"], int], batch: int = BATCH) -> int:
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
