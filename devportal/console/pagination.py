"""Keyset pagination of the console's lists, with the keys in the query string."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from django.db.models import Model, QuerySet
from django.http import HttpRequest

from core.database.batches import keyset_page, parse_key

PAGE_SIZE = 50
BEFORE, AFTER = "before", "after"

T = TypeVar("T", bound=Model)


@dataclass(frozen=True)
class Page(Generic[T]):
    """Rows, newest first, and the query strings of the previous and next pages ("" if there is none).

    `searched` is the number of rows that were searched for this page, 0 if no older ones are left.
    """

    rows: list[T]
    older: str
    newer: str
    searched: int = 0


def paginate(queryset: "QuerySet[T]", request: HttpRequest, size: int = PAGE_SIZE) -> "Page[T]":
    """Return the page of `queryset` given by the query parameters `before` or `after` (a row's key)."""
    page = keyset_page(queryset, parse_key(request.GET.get(BEFORE)), parse_key(request.GET.get(AFTER)), size)
    return Page(
        page.rows, query_of_page(request, BEFORE, page.older_than), query_of_page(request, AFTER, page.newer_than)
    )


def query_of_page(request: HttpRequest, name: str, key: int | None) -> str:
    """Return the query string of another page with the same filters, or "" if there is no such page."""
    if key is None:
        return ""
    query = request.GET.copy()
    for other in (BEFORE, AFTER):
        query.pop(other, None)
    query[name] = str(key)
    return f"?{query.urlencode()}"
