"""Lists of cases: the open ones, oldest first; the closed ones, newest first. Both are paged by key."""

from typing import Any

from django.db.models import Q, QuerySet
from django.http import HttpRequest

from devportal.console.models import ReviewCase
from devportal.console.reviews.targets import case_late_before
from devportal.lib.admin.changelists import BoundedPaginator, KeysetChangeList

LISTS = (("open", "Open"), ("late", "Late"), ("mine", "Mine"), ("nobodys", "Nobody's"), ("closed", "Closed"))
_BY_AGE = ("open", "late", "mine", "nobodys")


class CasePaginator(BoundedPaginator):
    """The pages of a list that begins with the oldest, where "older" and "newer" would mislead."""

    template_name = "admin/console/case_pages.html"


class CaseChangeList(KeysetChangeList):
    """One of the lists, chosen by `which`; a link from an app's or a project's page shows all cases of it.

    Open cases are paged by the moment at which they were opened, with the index of cases by age: the page after one
    begins at its last case (`older_than`, which here means the next ones).
    """

    which: str | None = None

    def get_queryset(self, request: HttpRequest, exclude_parameters: Any = None) -> QuerySet[Any]:
        if self.which is None:
            known = [name for name, _ in LISTS]
            asked = self.params.pop("which", None)
            self.filter_params.pop("which", None)
            narrowed = self.query or any(name.startswith(("client", "project")) for name in self.params)
            self.which = asked if asked in known else "all" if narrowed else known[0]
        rows: QuerySet[Any] = super().get_queryset(request, exclude_parameters)
        if self.which in _BY_AGE:
            rows = rows.filter(closed_at=None)
        if self.which == "late":
            rows = rows.filter(opened_at__lt=case_late_before()).exclude(kind=ReviewCase.Kind.RE_REVIEW)
        if self.which == "mine":
            rows = rows.filter(assignee=request.user.pk)
        if self.which == "nobodys":
            rows = rows.filter(assignee=None)
        return rows.exclude(closed_at=None) if self.which == "closed" else rows

    def _page(self) -> list[Any]:
        if self.which not in _BY_AGE:
            return super()._page()
        assert self._keys is not None
        after = self._keys[0]
        rows = self.queryset.order_by("opened_at", "pk")
        last = ReviewCase.objects.filter(pk=after).first() if after else None
        if last is not None:
            rows = rows.filter(opened_at__gte=last.opened_at).filter(
                Q(opened_at__gt=last.opened_at) | Q(opened_at=last.opened_at, pk__gt=last.pk)
            )
        found = list(rows[: self.list_per_page + 1])
        is_more, found = len(found) > self.list_per_page, found[: self.list_per_page]
        self.older_than = found[-1].pk if is_more else None
        self.newer_than = None
        return found

    @property
    def is_by_age(self) -> bool:
        return self.which in _BY_AGE

    @property
    def first_url(self) -> str:
        """The URL of the first page; "" on the first page."""
        return str(self.get_query_string()) if self._keys and self._keys[0] else ""

    def get_query_string(self, new_params: Any = None, remove: Any = None) -> str:
        """Keep the chosen list in the links to other pages of it."""
        return str(super().get_query_string({"which": self.which} | (new_params or {}), remove))
