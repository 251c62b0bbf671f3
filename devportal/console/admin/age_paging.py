"""Pages of a list by age: oldest first, by the time of submission and the key, without counting or sorting a table."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Q, QuerySet

from devportal.lib.admin.changelists import BoundedPaginator
from devportal.lib.storable import FIRST_MOMENT, LAST_MOMENT, is_key

_MICROSECOND = timedelta(microseconds=1)

Place = tuple[datetime, int]


class AgePaginator(BoundedPaginator):
    """Paginator of the lists by age."""

    template_name = "admin/console/queue_pages.html"


@dataclass(frozen=True)
class AgePage:
    """Rows, oldest first, and the places that the pages beside this one begin at ("" where there is none)."""

    rows: list[Any]
    after: str
    before: str


def format_place(row: Any) -> str:
    """Return where a row stands: its time in microseconds, and its key."""
    return f"{(row.submitted_at - FIRST_MOMENT) // _MICROSECOND}.{row.pk}"


def parse_place(text: str | None) -> Place | None:
    """Return the place that a query parameter names; None, and so the first page, if it names none."""
    moment, _, key = (text or "").partition(".")
    if not (is_key(moment) and is_key(key)):
        return None
    since = min(int(moment), (LAST_MOMENT - FIRST_MOMENT) // _MICROSECOND)
    return FIRST_MOMENT + since * _MICROSECOND, int(key)


def _beyond(place: Place, comparison: str) -> Q:
    moment, key = place
    # The first condition is implied by the second; it is what an index by time can begin at.
    near = Q(**{f"submitted_at__{comparison}e": moment})
    return near & (Q(**{f"submitted_at__{comparison}": moment}) | Q(**{f"pk__{comparison}": key}))


def read_page(
    rows: "QuerySet[Any]", parts: Iterable[Mapping[str, Any]], after: Place | None, before: Place | None, size: int
) -> AgePage:
    """Return the `size` rows behind a place, or in front of one, or the oldest.

    `parts` are conditions that divide the rows, such that an index has each part in the order of time: the keys of each
    are read in that order and put together, which reads no more rows than a few pages, however many wait.
    """
    parts = list(parts)
    if before is not None:
        found = _keys(rows.filter(_beyond(before, "lt")), parts, size + 1, backwards=True)
        if len(found) > size:
            return _page(rows, found[:size][::-1], is_more=True, is_first=False)
        after = None  # not more than a page: all of them are on the first one
    wanted = rows if after is None else rows.filter(_beyond(after, "gt"))
    found = _keys(wanted, parts, size + 1)
    return _page(rows, found[:size], is_more=len(found) > size, is_first=after is None)


def _keys(rows: "QuerySet[Any]", parts: list[Mapping[str, Any]], size: int, *, backwards: bool = False) -> list[Place]:
    sign = "-" if backwards else ""
    plain = rows.order_by(f"{sign}submitted_at", f"{sign}pk").values_list("submitted_at", "pk")
    return sorted((key for part in parts for key in plain.filter(**part)[:size]), reverse=backwards)[:size]


def _page(rows: "QuerySet[Any]", keys: list[Place], *, is_more: bool, is_first: bool) -> AgePage:
    by_key = rows.in_bulk([key for _, key in keys])
    # A row that was decided in between is on no page by age any more.
    page = [by_key[key] for _, key in keys if key in by_key]
    after = format_place(page[-1]) if page and is_more else ""
    return AgePage(page, after, format_place(page[0]) if page and not is_first else "")
