"""Admin pages of cases, and the actions on a case, each with its consequence."""

from datetime import timedelta
from functools import partial
from typing import Any, cast

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from unfold.decorators import display

from accounts.authentication import account_of
from core.admin.actions import RowAction
from core.admin.model_admin import BoundedPaginator, KeysetChangeList, ReadOnlyModelAdmin
from core.storage.stored_files import image_response, read_file
from devportal.review import cases, targets
from devportal.review.admin import actions, forms
from devportal.review.admin.action_handlers import report_refusals
from devportal.review.admin.forms import CloseForm
from devportal.review.admin.review_admin import live_context
from devportal.review.app_reports import reporters_of
from devportal.review.conflicts import Conflict, message_of, project_conflict
from devportal.review.differences import reveal
from devportal.review.models import AppReview, ReviewCase, ReviewEntry
from devportal.review.notifications import REVIEWERS_ONLY
from devportal.review.snapshots import sensitive_among
from devportal.review.targets import case_late_before
from devportal.review.timeline import newest_of_each_side
from oidc import search

Kind = ReviewCase.Kind
# The conflicts of interest of people who take or took part in the project themselves.
OWN = (Conflict.MEMBER, Conflict.TOOK_PART)


@report_refusals
def _take(request: HttpRequest, case: ReviewCase, form: Any) -> str:
    cases.assign_case(case, account_of(request), account_of(request))
    return "The case is yours."


@report_refusals
def _assign(request: HttpRequest, case: ReviewCase, form: Any) -> str:
    assignee = form.cleaned_data["assignee"]
    cases.assign_case(case, account_of(request), assignee)
    return f"The case is with {assignee or 'nobody'}."


@report_refusals
def _note(request: HttpRequest, case: ReviewCase, form: Any) -> str:
    cases.add_note(case, account_of(request), form.cleaned_data["note"])
    return "The note is added."


@report_refusals
def _ask(request: HttpRequest, case: ReviewCase, form: Any) -> str:
    cases.ask_developers(case, account_of(request), form.cleaned_data["text"])
    return "The developers were notified."


def _text_and_seen(form: Any) -> dict[str, str]:
    return {name: form.cleaned_data[name] for name in ("text", "seen")}


@report_refusals
def _close(request: HttpRequest, case: ReviewCase, form: Any) -> str:
    cases.close_case(case, account_of(request), form.cleaned_data["outcome"], **_text_and_seen(form))
    return "The case is closed."


@report_refusals
def _renew(request: HttpRequest, case: ReviewCase, form: Any) -> str:
    text, outcome = form.cleaned_data["text"], ReviewCase.Outcome.IN_ORDER
    cases.close_case(case, account_of(request), outcome, for_developers=text, **_text_and_seen(form))
    return "The approval stays valid, and the developers were notified."


@report_refusals
def _confirm(request: HttpRequest, case: ReviewCase, form: Any) -> str:
    cases.close_case(case, account_of(request), ReviewCase.Outcome.IN_ORDER, **_text_and_seen(form))
    return "Your approval is noted as the second one."


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
    "You become the assignee, and other reviewers can see it. No mail is sent.",
    _take,
    is_open=lambda request, case: case.is_open and case.assignee_id != request.user.pk,
    icon="back_hand",
)
ASSIGN = RowAction(
    "assign",
    "Assign to …",
    "The new assignee sees it in the list. No mail is sent.",
    _assign,
    form=forms.AssigneeForm,
    is_open=_is_open,
    icon="assignment_ind",
)
NOTE = RowAction(
    "note", "Add a note", "Only reviewers read it.", _note, form=forms.InternalNoteForm, icon="sticky_note_2"
)
ASK = RowAction(
    "ask",
    "Write to the developers",
    "Your note is added to the app's timeline, and the developers get a notice.",
    _ask,
    form=forms.NoteForm,
    is_open=_is_open,
    icon="chat",
)
RENEW = RowAction(
    "renew",
    "Everything is in order",
    "The approval is renewed from now on, and the case is closed. The developers get a notice.",
    _renew,
    form=forms.EndingForm,
    is_open=lambda request, case: (
        case.is_open and case.kind == Kind.RE_REVIEW and case.client is not None and case.client.is_verified
    ),
    icon="verified",
)


def _confirming(case: Any) -> str:
    scopes = ", ".join(sensitive_among(case.client.approved_scopes.split()))
    return f"The approval of {scopes} stays, now with two reviewers, and the case is closed. Nobody gets a mail."


CONFIRM = RowAction(
    "confirm",
    "Approve as well",
    _confirming,
    _confirm,
    form=forms.ConfirmationForm,
    is_open=lambda request, case: case.is_open and case.kind == Kind.SECOND_APPROVAL,
    icon="verified",
)
CLOSE = RowAction(
    "close",
    "Close the case",
    _closing,
    _close,
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
    "nobodys": "Every open case is assigned to somebody.",
    "closed": "No case was closed yet.",
}
_BY_AGE = ("open", "late", "mine", "nobodys")


class CasePaginator(BoundedPaginator):
    """Paginator of a list that begins with the oldest case, where "older" and "newer" would mislead."""

    template_name = "admin/review/case_pages.html"


class CaseChangeList(KeysetChangeList):
    """One of the lists of cases, chosen by `which`. A link from the page of an app or project shows all of its cases.

    Open cases are paged by the time at which they were opened, using the index of cases by age. The next page begins
    after the last case of this one (`older_than`, which here means the following cases).
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
    def empty_text(self) -> str:
        return EMPTY.get(self.which or "", "There is no case about it.")

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

    def get_paginator(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        return CasePaginator(*args, **kwargs)

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
        notes = ["not yours to decide"] if case.conflict else []
        notes += ["suspended"] if case.project.is_suspended else []
        name = reveal(case.project.name)
        return f"{name} ({', '.join(notes)})" if notes else name

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

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> Any:
        which = request.GET.get("which")
        lists = [(name, title, name == (which or LISTS[0][0])) for name, title in LISTS]
        return super().changelist_view(request, {"lists": lists} | (extra_context or {}))

    # --- The page of one case ---

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """GET: the page of one case. Each step has a separate confirmation page, so there is no POST."""
        case: Any = self.get_object(request, object_id)
        if case is None:
            raise Http404
        if request.method not in ("GET", "HEAD") or not self.has_view_permission(request, case):
            raise PermissionDenied
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
        case = self.get_object(request, str(pk))
        if case is None:
            raise Http404
        if not self.has_view_permission(request, case):
            raise PermissionDenied
        name = case.client.logo.name if case.client is not None and case.client.logo else None
        if not name:
            raise Http404
        return image_response(partial(read_file, name), "private, no-store")


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
        "entries": newest_of_each_side(entries, MOST_ENTRIES).select_related("author", "review"),
        "others": list(others.order_by("-pk")[:MOST_EARLIER]),
        "last_review": sent.order_by("-number").first() if sent is not None else None,
    }
