"""Keyset pagination for admin lists of large tables: no COUNT, no sorting by columns without an index."""

from typing import Any

from django.core.paginator import Paginator
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils.functional import cached_property
from unfold.views import ChangeList

from devportal.lib.keyset import keyset_page, parse_key

OLDER, NEWER = "older_than", "newer_than"
# Most rows that an autocomplete field pages through; for others, type more of the name.
MAX_ROWS = 2000


class BoundedPaginator(Paginator):  # type: ignore[type-arg]
    """Paginator of autocomplete fields: without COUNT, and for at most 2,000 rows."""

    template_name = "admin/older_newer.html"  # the theme puts it below the list

    @cached_property
    def count(self) -> int:
        return MAX_ROWS


class KeysetChangeList(ChangeList):  # type: ignore[misc]  # the library is untyped
    """ChangeList with keyset pagination, newest rows first: links to older and newer rows instead of page numbers."""

    _keys: tuple[int | None, int | None] | None = None
    older_than: int | None = None
    newer_than: int | None = None

    def get_queryset(self, request: HttpRequest, exclude_parameters: Any = None) -> QuerySet[Any]:
        """Remove the key from the parameters first: it is no filter, and links must not repeat it."""
        if self._keys is None:
            older_than, newer_than = (parse_key(self.params.pop(name, None)) for name in (OLDER, NEWER))
            for name in (OLDER, NEWER):
                self.filter_params.pop(name, None)
            self._keys = older_than, newer_than
        rows: QuerySet[Any] = super().get_queryset(request, exclude_parameters)
        return rows

    def get_ordering(self, request: HttpRequest, queryset: QuerySet[Any]) -> list[str]:
        return ["-pk"]

    def get_results(self, request: HttpRequest) -> None:
        rows = self._page()
        self.result_list = rows
        self.result_count = len(rows)
        self.show_full_result_count = False
        self.full_result_count = len(rows)  # the theme says something of counts where the two differ
        self.show_admin_actions = False
        self.can_show_all = self.multi_page = False
        self.paginator = self.model_admin.get_paginator(request, rows, self.list_per_page)

    def _page(self) -> list[Model]:
        assert self._keys is not None
        page = keyset_page(self.queryset, *self._keys, self.list_per_page)
        self.older_than, self.newer_than = page.older_than, page.newer_than
        return page.rows

    @property
    def older_url(self) -> str:
        """The URL of the page with older rows; "" if there are none."""
        return "" if self.older_than is None else self.get_query_string({OLDER: self.older_than})

    @property
    def newer_url(self) -> str:
        """The URL of the page with newer rows; "" on the first page."""
        return "" if self.newer_than is None else self.get_query_string({NEWER: self.newer_than})

    @property
    def newest_url(self) -> str:
        return "" if self.newer_than is None else str(self.get_query_string())


class ShortChangeList(ChangeList):  # type: ignore[misc]
    """ChangeList of a small table: all rows on one page, in the model's order."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.full_result_count = self.result_count  # the theme says something of counts where the two differ
