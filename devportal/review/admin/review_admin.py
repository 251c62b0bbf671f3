"""Admin pages of app review: the queue, oldest first, and the page of one review."""

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
from core import clock
from core.storage.stored_files import image_response, read_file
from devportal.review import targets
from devportal.review.admin import actions, other_pages, review_page
from devportal.review.admin.other_pages import EvidenceViews
from devportal.review.admin.review_page import live_context
from devportal.review.admin.review_queue import QueueChangeList
from devportal.review.conflicts import Conflict, message_of, review_conflict
from devportal.review.differences import reveal
from devportal.review.models import AppReview
from oidc.clients.lookup import find_client
from oidc.models import Client
from oidc.names import skeleton

# The maximum number of apps that a search by name considers.
MAX_SIMILAR = 500
# The prefix of the public ids of projects.
PROJECT_PREFIX = "prj_"
# The theme's color for each label and status.
LABEL_COLOURS = {"new": "info", "changed": "warning", "resubmitted": "primary", "appeal": "danger"}
TARGET_COLOURS = {"late": "danger", "soon": "warning", "due": ""}
STATUS_COLOURS = {"In review": "primary", "Approved": "success", "Rejected": "danger", "Changes requested": "warning"}


@admin.register(AppReview)
class AppReviewAdmin(EvidenceViews):
    """Admin of reviews, without drafts, which only their developers see."""

    list_display = ("app", "project", "kind", "age", "target", "assignee", "status_now")
    search_help_text = "Beginning of an app's name, or a whole client or project id"
    link_filters = ("client",)
    row_actions = actions.REVIEW_ACTIONS
    list_before_template = "admin/review/lists.html"

    def get_queryset(self, request: HttpRequest) -> QuerySet[AppReview]:
        rows: QuerySet[AppReview] = super().get_queryset(request).exclude(status=AppReview.Status.DRAFT)
        account = account_of(request)
        return rows.select_related("client__project", "assignee").annotate(conflict=review_conflict(account.pk))

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> Any:
        return QueueChangeList

    def search_filter(self, term: str) -> Q:
        client = find_client(term)
        if client is not None:
            return Q(client=client)
        if term.startswith(PROJECT_PREFIX):
            return Q(client__project__public_id=term)
        alike = Client.objects.filter(name_reading__startswith=skeleton(term)).values_list("pk", flat=True)
        return Q(client__in=list(alike[:MAX_SIMILAR]))

    def audit_target(self, row: AppReview) -> str:
        return str(row.client.client_id)

    # --- The list ---

    @admin.display(description="app")
    def app(self, review: AppReview) -> str:
        return reveal(str(review.snapshot.get("name") or review.client.name))

    @admin.display(description="project")
    def project(self, review: Any) -> str:
        project = review.client.project
        own = review.conflict in (Conflict.MEMBER, Conflict.TOOK_PART)
        notes = ["your own"] if own else ["not yours to decide"] if review.conflict else []
        notes += ["suspended"] if project.is_suspended else []
        name = reveal(project.name)
        return f"{name} ({', '.join(notes)})" if notes else name

    @display(description="kind", label=LABEL_COLOURS)  # type: ignore[untyped-decorator]
    def kind(self, review: AppReview) -> str:
        return review.label

    @admin.display(description="waits for")
    def age(self, review: AppReview) -> str:
        if review.submitted_at is None or not review.is_frozen:
            return "-"
        minutes = int((clock.now() - review.submitted_at).total_seconds() // 60)
        days, hours = minutes // 1440, minutes // 60 % 24
        return f"{days} d {hours} h" if days else f"{hours} h {minutes % 60} min"

    @display(description="target", label=TARGET_COLOURS)  # type: ignore[untyped-decorator]
    def target(self, review: AppReview) -> Any:
        """How much of REVIEW_TARGET_DAYS is left, as a code for its color and a text."""
        if review.submitted_at is None or not review.is_frozen:
            return None
        left = targets.time_left(review.submitted_at)
        if left < timedelta(0):
            return "late", f"late by {targets.in_words(-left)}"
        return "soon" if left < targets.DAY else "due", f"due in {targets.in_words(left)}"

    @display(description="status", label=STATUS_COLOURS)  # type: ignore[untyped-decorator]
    def status_now(self, review: AppReview) -> str:
        return AppReview.Status(review.status).label

    # --- The page of one review ---

    def get_urls(self) -> list[URLPattern]:
        logo = self.admin_site.admin_view(self.logo_view)
        account = self.admin_site.admin_view(partial(other_pages.test_account_view, self))
        mails = self.admin_site.admin_view(partial(other_pages.my_mails, self))
        return [
            path("<int:pk>/logo/<slug:which>/", logo, name="review_appreview_logo"),
            path("<int:pk>/test-account/", account, name="review_appreview_test_account"),
            path("my-mails/", mails, name="review_appreview_my_mails"),
            *super().get_urls(),
        ]

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """GET: the page of one review. Each step has a separate confirmation page, so there is no POST."""
        review: Any = self.get_object(request, object_id)
        if review is None:
            raise Http404
        if request.method not in ("GET", "HEAD") or not self.has_view_permission(request, review):
            raise PermissionDenied
        steps = {step["name"]: step for step in self.available_actions(request, review)}
        note = steps.pop(actions.NOTE.name, None)
        against = request.GET.get("against", "")
        logo_url = reverse("admin:review_appreview_logo", args=[review.pk, review_page.CURRENT])
        page = review_page.review_context(review, account_of(request), against, with_notes=note is not None)
        live = {"logo_url": logo_url, "with_people": not review.conflict, "domains": page["evidence"]["domains"]}
        context = {
            **self.admin_site.each_context(request),
            **page,
            **live_context(request, review.client.project, review.client, **live),
            "opts": self.opts,
            "original": review,
            "why_not": message_of(review.conflict),
            "waits": self.age(review),
            "note": note,
            "bar": [steps[name] for name in actions.in_order(steps) if name not in actions.OF_THE_APP],
            "of_the_app": [steps[name] for name in actions.OF_THE_APP if name in steps],
            "links": self._history(request, review),
        }
        return TemplateResponse(request, "admin/review/review.html", context)

    def logo_view(self, request: HttpRequest, pk: int, which: str) -> HttpResponse:
        """GET: a logo that was submitted for review, for reviewers only (docs/review.md#logos)."""
        review = self.get_object(request, str(pk))
        if review is None or which not in review_page.LOGOS:
            raise Http404
        if not self.has_view_permission(request, review):
            raise PermissionDenied
        name = review_page.logo_name(review, which)
        if not name:
            raise Http404
        return image_response(partial(read_file, name), "private, no-store")
