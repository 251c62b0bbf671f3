"""Admin pages of cases: the lists, and the page of one case with all that reviewers need to settle it."""

from datetime import timedelta
from functools import partial
from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from unfold.decorators import display

from accounts.authentication import account_of
from devportal.console.admin.case_actions import CASE_ACTIONS
from devportal.console.admin.case_list import LISTS, CaseChangeList, CasePaginator
from devportal.console.admin.live_context import live_context
from devportal.console.models import AppReview, ReviewCase, ReviewEntry
from devportal.console.reviews import cases, targets
from devportal.console.reviews.conflicts import message_of, project_conflict
from devportal.console.reviews.desk_differences import reveal
from devportal.console.reviews.notifications import DESK_ONLY
from devportal.console.reviews.reporters import reporters_of
from devportal.lib import clock
from devportal.lib.admin.model_admin import ReadOnlyModelAdmin
from devportal.lib.stored_files import image_response, read_file
from oidc.clients.lookup import find_client

KIND_COLOURS = {
    "Appeal": "danger",
    "Reported by people": "warning",
    "Domain lost": "warning",
    "Needs a second approval": "warning",
    "Changed after approval": "warning",
}
# Rows of each list on the page of one case, the newest.
MOST_REPORTS = 50
MOST_NOTES = 100
MOST_ENTRIES = 20
MOST_EARLIER = 20


def age_in_words(since: Any) -> str:
    """Return how long ago a moment was, in days and hours, or in hours and minutes."""
    passed: timedelta = clock.now() - since
    minutes = int(passed.total_seconds() // 60)
    days, hours = minutes // 1440, minutes // 60 % 24
    return f"{days} d {hours} h" if days else f"{hours} h {minutes % 60} min"


def due_in_words(case: ReviewCase) -> str:
    """Return how long reviewers have for a case; "-" for one that is closed, or that is not urgent."""
    if not case.is_open or case.kind == ReviewCase.Kind.RE_REVIEW:
        return "-"
    left = targets.case_time_left(case.opened_at)
    return f"late by {targets.in_words(-left)}" if left < timedelta(0) else f"in {targets.in_words(left)}"


@admin.register(ReviewCase)
class ReviewCaseAdmin(ReadOnlyModelAdmin[ReviewCase]):
    """Cases, without those of deleted projects."""

    list_display = ("subject", "project_name", "kind_now", "age", "due", "assignee", "state")
    search_help_text = "A whole client id, or a whole project id"
    link_filters = ("client", "project")
    row_actions = CASE_ACTIONS
    list_before_template = "admin/console/case_lists.html"

    def get_queryset(self, request: HttpRequest) -> QuerySet[ReviewCase]:
        rows: QuerySet[ReviewCase] = super().get_queryset(request).filter(project__deleted_at=None)
        conflict = project_conflict(account_of(request).pk, "project")
        return rows.select_related("client__project", "project", "assignee").annotate(conflict=conflict)

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> Any:
        return CaseChangeList

    def get_paginator(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        return CasePaginator(*args, **kwargs)

    def search_filter(self, term: str) -> Q:
        client = find_client(term)
        return Q(client=client) if client is not None else Q(project__public_id=term)

    def audit_target(self, row: ReviewCase) -> str:
        return str(row.client.client_id) if row.client else row.project.public_id

    # --- The lists ---

    @admin.display(description="about")
    def subject(self, case: ReviewCase) -> str:
        return reveal(case.client.name if case.client else f"The project {case.project.name}")

    @admin.display(description="project")
    def project_name(self, case: Any) -> str:
        notes = ["not yours to decide"] if case.conflict else []
        notes += ["suspended"] if case.project.is_suspended else []
        name = reveal(case.project.name)
        return f"{name} ({', '.join(notes)})" if notes else name

    @display(description="kind", label=KIND_COLOURS)  # type: ignore[untyped-decorator]
    def kind_now(self, case: ReviewCase) -> str:
        return ReviewCase.Kind(case.kind).label

    @admin.display(description="open for")
    def age(self, case: ReviewCase) -> str:
        return age_in_words(case.opened_at) if case.is_open else "-"

    @admin.display(description="due")
    def due(self, case: ReviewCase) -> str:
        return due_in_words(case)

    @admin.display(description="state")
    def state(self, case: ReviewCase) -> str:
        return "Open" if case.is_open else str(case.get_outcome_display()) or "Closed"

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> Any:
        which = request.GET.get("which")
        lists = [(name, title, name == (which or LISTS[0][0])) for name, title in LISTS]
        return super().changelist_view(request, {"lists": lists} | (extra_context or {}))

    # --- The page of one case ---

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """GET: the page of one case. Each step has a confirmation page of its own, so there is no POST."""
        case: Any = self.get_object(request, object_id)
        if case is None:
            raise Http404
        if request.method not in ("GET", "HEAD") or not self.has_view_permission(request, case):
            raise PermissionDenied
        logo_url = reverse("admin:console_reviewcase_logo", args=[case.pk])
        with_inside = not case.conflict
        context = {
            **self.admin_site.each_context(request),
            **case_context(case, with_inside=with_inside),
            **live_context(request, case.project, case.client, logo_url=logo_url, with_people=with_inside),
            "title": reveal(str(case)),
            "opts": self.opts,
            "original": case,
            "why_not": message_of(cases.case_conflict(account_of(request), case, case.conflict)),
            "steps": self.available_actions(request, case),
            "links": self._history(request, case),
        }
        return TemplateResponse(request, "admin/console/case.html", context)

    def get_urls(self) -> list[URLPattern]:
        logo = self.admin_site.admin_view(self.logo_view)
        return [path("<int:pk>/logo/", logo, name="console_reviewcase_logo"), *super().get_urls()]

    def logo_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """GET: the logo that the app of a case has now, for reviewers only (docs/review.md#logos)."""
        case = self.get_object(request, str(pk))
        if case is None:
            raise Http404
        if not self.has_view_permission(request, case):
            raise PermissionDenied
        name = case.client.logo.name if case.client is not None and case.client.logo else None
        if not name:
            raise Http404
        return image_response(partial(read_file, name), "private, no-store")


def case_context(case: ReviewCase, *, with_inside: bool) -> dict[str, Any]:
    """Return what the page of a case shows beside the case itself, in a fixed number of SQL statements.

    `with_inside`: with what is for the reviewers alone who may decide on the project. Whoever has a conflict of
    interest would read who reported their app, and what colleagues think of it.
    """
    client = case.client
    reports = list(case.reports.select_related("reporter").order_by("-pk")[: MOST_REPORTS + 1]) if with_inside else []
    reporters = reporters_of(reports, client) if with_inside else {}
    entries = ReviewEntry.objects.filter(project=case.project, client=client).select_related("author", "review")
    # What the first of two reviewers decided is on the page of the review (docs/review.md#two-approvals).
    entries = entries.exclude(kind__in=DESK_ONLY)
    others = ReviewCase.objects.filter(project=case.project, client=client).exclude(pk=case.pk)
    sent = AppReview.objects.filter(client=client).exclude(status=AppReview.Status.DRAFT) if client else None
    return {
        "case": case,
        "client": client,
        "project": case.project,
        "age": age_in_words(case.opened_at),
        "due": due_in_words(case),
        "reports": [(report, reporters.get(report.pk)) for report in reports[:MOST_REPORTS]],
        "has_more_reports": len(reports) > MOST_REPORTS,
        "with_inside": with_inside,
        "notes": list(case.notes.select_related("author").order_by("-pk")[:MOST_NOTES])[::-1] if with_inside else [],
        "entries": list(entries.order_by("-pk")[:MOST_ENTRIES])[::-1],
        "others": list(others.order_by("-pk")[:MOST_EARLIER]),
        "last_review": sent.order_by("-number").first() if sent is not None else None,
    }
