"""Deleting many rows in short transactions, so that nobody waits long for a lock."""

from datetime import datetime
from typing import Any

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
