"""Keyset pagination: every page costs the same, however many rows come before it."""

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from django.db.models import Model, QuerySet
from django.http import HttpRequest

PAGE_SIZE = 50
_MOST_DIGITS = 18

T = TypeVar("T", bound=Model)


@dataclass(frozen=True)
class KeysetPage(Generic[T]):
    """Rows, newest first, and the query strings of the pages beside this one ("" where there is none)."""

    rows: list[T]
    older: str
    newer: str


def paginate(queryset: "QuerySet[T]", request: HttpRequest, size: int = PAGE_SIZE) -> "KeysetPage[T]":
    """Return the page of `queryset` given by the query parameters `before` or `after` (a row's key)."""
    before, after = _key(request, "before"), _key(request, "after")
    if after is not None:
        rows = list(queryset.filter(pk__gt=after).order_by("pk")[: size + 1])
        has_newer, rows = len(rows) > size, rows[:size][::-1]
        has_older = True
    else:
        rows = list((queryset if before is None else queryset.filter(pk__lt=before)).order_by("-pk")[: size + 1])
        has_older, rows = len(rows) > size, rows[:size]
        has_newer = before is not None
    older = _address(request, before=rows[-1].pk) if rows and has_older else ""
    newer = _address(request, after=rows[0].pk) if rows and has_newer else ""
    if not rows and (before is not None or after is not None):
        newer = _address(request)  # beyond the end: back to the start
    return KeysetPage(rows, older, newer)


def _key(request: HttpRequest, name: str) -> int | None:
    text = request.GET.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS else None


def _address(request: HttpRequest, **keys: Any) -> str:
    """Return the query string of another page, with the same filters."""
    query = request.GET.copy()
    for name in ("before", "after"):
        query.pop(name, None)
    for name, value in keys.items():
        query[name] = str(value)
    return f"?{query.urlencode()}"
