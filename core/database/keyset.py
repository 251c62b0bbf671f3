"""Keyset pagination by primary key, newest first: a page costs the same, however many rows come before it."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from django.db.models import Model, QuerySet

from core.database.storable import is_key

T = TypeVar("T", bound=Model)


@dataclass(frozen=True)
class KeysetPage(Generic[T]):
    """Rows, newest first, and the keys that the pages beside this one begin at (None where there is none)."""

    rows: list[T]
    older_than: int | None
    newer_than: int | None


def keyset_page(queryset: "QuerySet[T]", older_than: int | None, newer_than: int | None, size: int) -> "KeysetPage[T]":
    """Return the rows next below `older_than`, or next above `newer_than`, or the newest: at most `size` of them."""
    if newer_than is not None:
        rows = list(queryset.filter(pk__gt=newer_than).order_by("pk")[: size + 1])
        if len(rows) > size:
            rows = rows[:size][::-1]
            return KeysetPage(rows, older_than=rows[-1].pk, newer_than=rows[0].pk)
        # Not more than a page: all of them are on the first one.
        older_than = None
    found = queryset if older_than is None else queryset.filter(pk__lt=older_than)
    rows = list(found.order_by("-pk")[: size + 1])
    is_more, rows = len(rows) > size, rows[:size]
    newer = None if older_than is None else rows[0].pk if rows else older_than - 1
    return KeysetPage(rows, older_than=rows[-1].pk if is_more else None, newer_than=newer)


def parse_key(text: str | None) -> int | None:
    """Return the key of a query parameter; None, and so the first page, if it is none."""
    return int(text) if text is not None and is_key(text) else None
