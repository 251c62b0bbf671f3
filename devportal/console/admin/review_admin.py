"""Admin pages of app review: the queue, oldest first, and the page of one review."""

from functools import partial
from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from unfold.decorators import display

from devportal.console.admin import review_actions, review_page
from devportal.console.admin.evidence_views import EvidenceViews
from devportal.console.admin.review_queue import LISTS, QueueChangeList
from devportal.console.models import AppReview, ReviewEntry
from devportal.lib import clock
from devportal.lib.stored_files import image_response, read_file
from oidc.clients.lookup import find_client
from oidc.models import Client, FormerMember, ProjectMember
from oidc.names import skeleton

# Most apps that a search by name considers.
MAX_SIMILAR = 500
# The theme's colour for each label and status.
LABEL_COLOURS = {"new": "info", "changed": "warning", "resubmitted": "primary"}
STATUS_COLOURS = {"In review": "primary", "Approved": "success", "Rejected": "danger", "Changes requested": "warning"}
OWN_PROJECT_MESSAGE = "You are a member of this project: others decide on it."
PART = "You were a member of this project since this was drafted, or sent it or wrote in it: others decide on it."


@admin.register(AppReview)
class AppReviewAdmin(EvidenceViews):
    """Reviews without drafts, which only their developers see."""

    list_display = ("app", "project", "kind", "age", "assignee", "status_now")
    search_help_text = "Beginning of an app's name, or a whole client id"
    link_filters = ("client",)
    row_actions = review_actions.REVIEW_ACTIONS
    list_before_template = "admin/console/lists.html"

    def get_queryset(self, request: HttpRequest) -> QuerySet[AppReview]:
        # The same as devportal.console.reviews.workflow.has_conflict_of_interest, for many rows at once.
        here = {"project": OuterRef("client__project"), "account": request.user.pk}
        left = FormerMember.objects.filter(**here, left_at__gte=OuterRef("created_at"))
        said = ReviewEntry.objects.filter(author=request.user.pk, side=ReviewEntry.Side.DEVELOPER)
        rows: QuerySet[AppReview] = super().get_queryset(request).exclude(status=AppReview.Status.DRAFT)
        return rows.select_related("client__project", "assignee").annotate(
            is_own=Exists(ProjectMember.objects.filter(**here)),
            took_part=Exists(left) | Exists(said.filter(review=OuterRef("pk"))) | Q(submitted_by=request.user.pk),
        )

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> Any:
        return QueueChangeList

    def search_filter(self, term: str) -> Q:
        client = find_client(term)
        if client is not None:
            return Q(client=client)
        alike = Client.objects.filter(name_reading__startswith=skeleton(term)).values_list("pk", flat=True)
        return Q(client__in=list(alike[:MAX_SIMILAR]))

    def audit_target(self, row: AppReview) -> str:
        return str(row.client.client_id)

    # --- The list ---

    @admin.display(description="app")
    def app(self, review: AppReview) -> str:
        return str(review.snapshot.get("name") or review.client.name)

    @admin.display(description="project")
    def project(self, review: Any) -> str:
        project = review.client.project
        notes = ["your own"] if review.is_own or review.took_part else []
        notes += ["suspended"] if project.is_suspended else []
        return f"{project.name} ({', '.join(notes)})" if notes else str(project.name)

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

    @display(description="status", label=STATUS_COLOURS)  # type: ignore[untyped-decorator]
    def status_now(self, review: AppReview) -> str:
        return AppReview.Status(review.status).label

    # --- The page of one review ---

    def get_urls(self) -> list[URLPattern]:
        logo = self.admin_site.admin_view(self.logo_view)
        name = "console_appreview_logo"
        return [path("<int:pk>/logo/<slug:which>/", logo, name=name), *super().get_urls()]

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """GET: the page of one review. Each step has a confirmation page of its own, so there is no POST."""
        review: Any = self.get_object(request, object_id)
        if review is None:
            raise Http404
        if request.method not in ("GET", "HEAD") or not self.has_view_permission(request, review):
            raise PermissionDenied
        context = {
            **self.admin_site.each_context(request),
            **review_page.review_context(review),
            "opts": self.opts,
            "original": review,
            "why_not": OWN_PROJECT_MESSAGE if review.is_own else PART if review.took_part else "",
            "steps": self.available_actions(request, review),
            "links": self._history(request, review),
        }
        return TemplateResponse(request, "admin/console/review.html", context)

    def logo_view(self, request: HttpRequest, pk: int, which: str) -> HttpResponse:
        """GET: a logo that was submitted for review, for reviewers only (docs/review.md#logos)."""
        review = self.get_object(request, str(pk))
        if review is None or which not in ("asked", "before"):
            raise Http404
        if not self.has_view_permission(request, review):
            raise PermissionDenied
        name = review_page.logo_name(review, which)
        if not name:
            raise Http404
        return image_response(partial(read_file, name), "private, no-store")

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> Any:
        which = request.GET.get("which")
        lists = [(name, title, name == (which or LISTS[0][0])) for name, title in LISTS]
        return super().changelist_view(request, {"lists": lists} | (extra_context or {}))
