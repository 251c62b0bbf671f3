"""Lists of reviews: the waiting ones, oldest first; the others, newest first."""

from typing import Any, cast

from django.db.models import QuerySet
from django.http import HttpRequest

from devportal.console.models import AppReview
from devportal.console.models.reviews import AppReviewQuerySet
from devportal.lib.admin.changelists import KeysetChangeList

Status = AppReview.Status
# The queue has no paging: more reviews appear as these are decided.
MAX_WAITING = 50
LISTS = (
    ("waiting", "Waiting"),
    ("mine", "Mine"),
    ("nobodys", "Nobody's"),
    ("developers", "With the developers"),
    ("all", "All"),
)
_BY_AGE = ("waiting", "mine", "nobodys")


class QueueChangeList(KeysetChangeList):
    """One of the desk's lists, chosen by `which`; a search looks through all reviews."""

    which: str | None = None

    def get_queryset(self, request: HttpRequest, exclude_parameters: Any = None) -> QuerySet[AppReview]:
        if self.which is None:
            known = [name for name, _ in LISTS]
            asked = self.params.pop("which", None)
            self.filter_params.pop("which", None)
            narrowed = self.query or any(name.startswith("client") for name in self.params)
            self.which = asked if asked in known else "all" if narrowed else known[0]
        rows = cast(AppReviewQuerySet, super().get_queryset(request, exclude_parameters))
        if self.which in _BY_AGE:
            rows = rows.waiting()
        if self.which == "mine":
            rows = rows.filter(assignee=request.user.pk)
        if self.which == "nobodys":
            rows = rows.filter(assignee=None)
        return rows.filter(status=Status.CHANGES_REQUESTED) if self.which == "developers" else rows

    def _page(self) -> list[Any]:
        return list(self.queryset[:MAX_WAITING]) if self.which in _BY_AGE else super()._page()

    def get_query_string(self, new_params: Any = None, remove: Any = None) -> str:
        """Keep the chosen list in the links to older and newer rows."""
        return str(super().get_query_string({"which": self.which} | (new_params or {}), remove))
