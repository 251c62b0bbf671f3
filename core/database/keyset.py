"""Keyset pagination by primary key, newest first: every page costs the same, however many rows come before it."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from django.db.models import Model, QuerySet

from core.database.storable import is_key

T = TypeVar("T", bound=Model)


@dataclass(frozen=True)
class KeysetPage(Generic[T]):
    """Rows, newest first, and the keys where the neighbouring pages begin (None if there is none)."""

    rows: list[T]
    older_than: int | None
    newer_than: int | None


def keyset_page(queryset: "QuerySet[T]", older_than: int | None, newer_than: int | None, size: int) -> "KeysetPage[T]":
    """Return the next rows below `older_than`, or above `newer_than`, or the newest ones: at most `size` rows."""
    if newer_than is not None:
        rows = list(queryset.filter(pk__gt=newer_than).order_by("pk")[: size + 1])
        if len(rows) > size:
            rows = rows[:size][::-1]
            return KeysetPage(rows, older_than=rows[-1].pk, newer_than=rows[0].pk)
        # Fewer rows than a page: show the first page instead.
        older_than = None
    found = queryset if older_than is None else queryset.filter(pk__lt=older_than)
    rows = list(found.order_by("-pk")[: size + 1])
    is_more, rows = len(rows) > size, rows[:size]
    newer = None if older_than is None else rows[0].pk if rows else older_than - 1
    return KeysetPage(rows, older_than=rows[-1].pk if is_more else None, newer_than=newer)


def parse_key(text: str | None) -> int | None:
    """Return the key in a query parameter; None (the first page) if it is not a valid key."""
    return int(text) if text is not None and is_key(text) else None
