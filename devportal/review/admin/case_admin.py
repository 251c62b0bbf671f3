"""Admin pages of cases, and the actions on a case, each with its consequence."""

from datetime import timedelta
from functools import partial
from typing import Any, cast

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from unfold.decorators import display

from accounts.models import Account
from accounts.sessions.authentication import account_of
from core.admin.actions import RowAction
from core.admin.model_admin import ReadOnlyModelAdmin
from devportal.review.admin import actions, forms
from devportal.review.admin.action_handlers import assigning, taking
from devportal.review.admin.forms import CloseForm
from devportal.review.admin.other_pages import logo_response, readable_row
from devportal.review.admin.review_admin import live_context, timeline_context
from devportal.review.admin.review_queue import AgeChangeList, name_with_notes
from devportal.review.cases import cases
from devportal.review.cases.app_reports import reporters_of
from devportal.review.models import AppReview, ReviewCase, ReviewEntry
from devportal.review.rules import targets
from devportal.review.rules.conflicts import Conflict, message_of, project_conflict
from devportal.review.rules.notifications import REVIEWERS_ONLY
from devportal.review.rules.snapshots import sensitive_among
from devportal.review.rules.targets import case_late_before
from devportal.review.rules.timeline import newest_of_each_side
from devportal.review.submission.differences import reveal
from oidc.domains import search

Kind = ReviewCase.Kind
# The conflicts of interest of people who take or took part in the project themselves.
OWN = (Conflict.MEMBER, Conflict.TOOK_PART)


def _renew(case: ReviewCase, actor: Account, text: str, seen: str) -> None:
    cases.close_case(case, actor, ReviewCase.Outcome.IN_ORDER, text, for_developers=text, seen=seen)


def _is_open(request: HttpRequest, case: Any) -> bool:
    return bool(case.is_open)


def _closing(case: Any) -> str:
    if case.kind == Kind.APPEAL:
        return (
            "The developers get a notice with what you write. Lift the suspension first, if that is what you decided."
        )
    return "The case leaves the list of open cases. Only reviewers can read what you write."


TAKE = RowAction(
    "take",
    "Assign to me",
    "You become the assignee, and other reviewers can see it. No email is sent.",
    assigning(cases.assign_case, "case"),
    is_open=lambda request, case: case.is_open and case.assignee_id != request.user.pk,
    icon="back_hand",
)
ASSIGN = RowAction(
    "assign",
    "Assign to …",
    "The new assignee sees it in the list. No email is sent.",
    assigning(cases.assign_case, "case"),
    form=forms.AssigneeForm,
    is_open=_is_open,
    icon="assignment_ind",
)
NOTE = RowAction(
    "note",
    "Add a note",
    "Only reviewers read it.",
    taking(cases.add_note, "The note is added."),
    form=forms.InternalNoteForm,
    icon="sticky_note_2",
)
ASK = RowAction(
    "ask",
    "Write to the developers",
    "Your note is added to the app's timeline, and the developers get a notice.",
    taking(cases.ask_developers, "The developers were notified."),
    form=forms.NoteForm,
    is_open=_is_open,
    icon="chat",
)
RENEW = RowAction(
    "renew",
    "Everything is in order",
    "The approval is renewed from now on, and the case is closed. The developers get a notice.",
    taking(_renew, "The approval stays valid, and the developers were notified."),
    form=forms.EndingForm,
    is_open=lambda request, case: (
        case.is_open and case.kind == Kind.RE_REVIEW and case.client is not None and case.client.is_verified
    ),
    icon="verified",
)


def _confirming(case: Any) -> str:
    scopes = ", ".join(sensitive_among(case.client.approved_scopes.split()))
    return f"The approval of {scopes} stays, now with two reviewers, and the case is closed. Nobody gets an email."


CONFIRM = RowAction(
    "confirm",
    "Approve as well",
    _confirming,
    taking(partial(cases.close_case, outcome=ReviewCase.Outcome.IN_ORDER), "Your approval is noted as the second one."),
    form=forms.ConfirmationForm,
    is_open=lambda request, case: case.is_open and case.kind == Kind.SECOND_APPROVAL,
    icon="verified",
)
CLOSE = RowAction(
    "close",
    "Close the case",
    _closing,
    taking(cases.close_case, "The case is closed."),
    form=CloseForm,
    is_open=lambda request, case: case.is_open and not cases.undecided_scopes(case),
    icon="task_alt",
)

CASE_ACTIONS = (
    TAKE,
    ASSIGN,
    NOTE,
    ASK,
    RENEW,
    CONFIRM,
    CLOSE,
    actions.WITHDRAW,
    actions.SUSPEND,
    actions.LIFT,
)


LISTS = (("open", "Open"), ("late", "Late"), ("mine", "Mine"), ("nobodys", "Nobody's"), ("closed", "Closed"))
# What an empty list would hold.
EMPTY = {
    "open": "No case is open. Cases are opened, for example, for reports, appeals and lost domains.",
    "late": "No case has been open for too long.",
    "mine": "No open case is assigned to you.",
    "nobodys": "Every open case is assigned to someone.",
    "closed": "No case was closed yet.",
}
_BY_AGE = ("open", "late", "mine", "nobodys")


class CaseChangeList(AgeChangeList):
    """The lists of cases. Open cases are paged by the time at which they were opened, using the index of their age."""

    titles, empty_texts, by_age = LISTS, EMPTY, _BY_AGE
    moment, verb = "opened_at", "Opened"

    def get_queryset(self, request: HttpRequest, exclude_parameters: Any = None) -> QuerySet[Any]:
        rows = super().get_queryset(request, exclude_parameters)
        if self.which in _BY_AGE:
            rows = rows.filter(closed_at=None)
        if self.which == "late":
            rows = rows.filter(opened_at__lt=case_late_before()).exclude(kind=ReviewCase.Kind.RE_REVIEW)
        return rows.exclude(closed_at=None) if self.which == "closed" else rows

    @property
    def empty_text(self) -> str:
        return EMPTY.get(self.which or "", "There is no case about it.")


KIND_COLOURS = {
    "Appeal": "danger",
    "Reported by people": "warning",
    "Domain lost": "warning",
    "Needs a second approval": "warning",
    "Changed after submission": "warning",
    "Scope needs a review": "warning",
}
# The number of newest rows in each list on the page of one case.
MOST_REPORTS = 50
MOST_NOTES = 100
MOST_ENTRIES = 20  # of each side
MOST_EARLIER = 20


def due_in_words(case: ReviewCase) -> str:
    """Return how long reviewers still have for a case; "-" if it is closed or not urgent."""
    if not case.is_open or case.kind == ReviewCase.Kind.RE_REVIEW:
        return "-"
    left = targets.case_time_left(case.opened_at)
    return f"late by {targets.in_words(-left)}" if left < timedelta(0) else f"in {targets.in_words(left)}"


@admin.register(ReviewCase)
class ReviewCaseAdmin(ReadOnlyModelAdmin[ReviewCase]):
    """Admin of cases, without those of deleted projects."""

    list_display = ("subject", "project_name", "kind_now", "age", "due", "assignee", "state")
    search_help_text = search.HELP
    link_filters = ("client", "project")
    row_actions = CASE_ACTIONS
    list_before_template = "admin/review/case_lists.html"

    def get_queryset(self, request: HttpRequest) -> QuerySet[ReviewCase]:
        rows: QuerySet[ReviewCase] = super().get_queryset(request).filter(project__deleted_at=None)
        conflict = project_conflict(account_of(request).pk, "project")
        found: Any = rows.select_related("client__project", "project", "assignee").annotate(conflict=conflict)
        # Nobody learns from the admin that their own app was reported.
        return cast("QuerySet[ReviewCase]", found.exclude(kind=Kind.REPORT, conflict__in=OWN))

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> Any:
        return CaseChangeList

    def search_filter(self, term: str) -> Q:
        found = Q(client__in=search.find_clients(term)) | Q(project__in=search.find_projects(term))
        return found & Q(conflict="") if "@" in term else found  # as in the list of reviews

    def audit_target(self, row: ReviewCase) -> str:
        return str(row.client.client_id) if row.client else row.project.public_id

    def why_not(self, request: HttpRequest, action: RowAction, row: Any) -> str:
        if action in actions.OF_THE_APP:  # a conflict in one case does not concern these
            return message_of(row.conflict)
        return message_of(cases.case_conflict(account_of(request), row, row.conflict))

    # --- The lists ---

    @admin.display(description="about")
    def subject(self, case: ReviewCase) -> str:
        return reveal(case.client.name if case.client else f"The project {case.project.name}")

    @admin.display(description="project")
    def project_name(self, case: Any) -> str:
        return name_with_notes(case.project, "not yours to decide" if case.conflict else "")

    @display(description="kind", label=KIND_COLOURS)  # type: ignore[untyped-decorator]
    def kind_now(self, case: ReviewCase) -> str:
        return ReviewCase.Kind(case.kind).label

    @admin.display(description="open for")
    def age(self, case: ReviewCase) -> str:
        return targets.age_in_words(case.opened_at) if case.is_open else "-"

    @admin.display(description="due")
    def due(self, case: ReviewCase) -> str:
        return due_in_words(case)

    @admin.display(description="state")
    def state(self, case: ReviewCase) -> str:
        return "Open" if case.is_open else str(case.get_outcome_display()) or "Closed"

    # --- The page of one case ---

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """GET: the page of one case. Each step has a separate confirmation page, so there is no POST."""
        case = readable_row(self, request, object_id)
        logo_url = reverse("admin:review_reviewcase_logo", args=[case.pk])
        conflict = cases.case_conflict(account_of(request), case, case.conflict)
        context = {
            **self.admin_site.each_context(request),
            **case_context(case, with_inside=not conflict, is_own=case.conflict in OWN),
            **live_context(request, case.project, case.client, logo_url=logo_url, with_people=not case.conflict),
            "title": reveal(str(case)),
            "opts": self.opts,
            "original": case,
            "why_not": message_of(conflict),
            "steps": self.available_actions(request, case),
            "links": self._history(request, case),
        }
        return TemplateResponse(request, "admin/review/case.html", context)

    def get_urls(self) -> list[URLPattern]:
        logo = self.admin_site.admin_view(self.logo_view)
        return [path("<int:pk>/logo/", logo, name="review_reviewcase_logo"), *super().get_urls()]

    def logo_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """GET: the current logo of the app of a case, for reviewers only (docs/review.md#logos)."""
        case = readable_row(self, request, pk)
        return logo_response(case.client.logo.name if case.client else "")


def case_context(case: ReviewCase, *, with_inside: bool, is_own: bool) -> dict[str, Any]:
    """Return the template context of the page of a case, in a fixed number of SQL statements.

    `with_inside` adds what only reviewers who may work on the case read. Reviewers with a conflict of interest must not
    learn who reported their app, or what colleagues think of it or of their decision. `is_own` leaves out that it was
    reported at all, for people who take or took part in the project.
    """
    client = case.client
    reports = list(case.reports.select_related("reporter").order_by("-pk")[: MOST_REPORTS + 1]) if with_inside else []
    reporters = reporters_of(reports, client) if with_inside else {}
    entries = ReviewEntry.objects.filter(project=case.project, client=client)
    # The page of the review shows what the first of two reviewers decided (docs/review.md#two-approvals).
    entries = entries.exclude(kind__in=REVIEWERS_ONLY)
    others = ReviewCase.objects.filter(project=case.project, client=client).exclude(pk=case.pk)
    others = others.exclude(kind=Kind.REPORT) if is_own else others
    sent = AppReview.objects.filter(client=client).exclude(status=AppReview.Status.DRAFT) if client else None
    return {
        "case": case,
        "seen": cases.content_of(case) if with_inside else "",
        "client": client,
        "project": case.project,
        "age": targets.age_in_words(case.opened_at),
        "due": due_in_words(case),
        "reports": [(report, reporters.get(report.pk)) for report in reports[:MOST_REPORTS]],
        "has_more_reports": len(reports) > MOST_REPORTS,
        "with_inside": with_inside,
        "notes": list(case.notes.select_related("author").order_by("-pk")[:MOST_NOTES])[::-1] if with_inside else [],
        "entries": timeline_context(newest_of_each_side(entries, MOST_ENTRIES).select_related("author", "review")),
        "others": list(others.order_by("-pk")[:MOST_EARLIER]),
        "last_review": sent.order_by("-number").first() if sent is not None else None,
    }
