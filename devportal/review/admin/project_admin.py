"""Admin page of projects. It is part of app review because suspending a project sends review mails."""

from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db.models import OuterRef, Q, Subquery
from django.http import HttpRequest
from django.utils.html import format_html_join
from unfold.widgets import UnfoldAdminTextInputWidget

from accounts.roles import is_operator
from accounts.sessions.authentication import account_of
from core import names
from core.admin.actions import ActionForm, ActionRefused, RowAction
from core.admin.model_admin import ReadOnlyModelAdmin
from core.time_zones import in_utc
from devportal.review.admin import actions
from devportal.review.models import AppReview
from devportal.review.rules.conflicts import conflict_of, project_conflict
from devportal.review.submission.differences import reveal
from oidc.domains import search
from oidc.models import Client, Project
from oidc.projects import lifecycle
from oidc.projects.roles import Gone

MAX_MEMBERS = 50
MAX_REVIEWS = 50


class NameForm(ActionForm):
    name = forms.CharField(
        max_length=names.MAX_LENGTH, widget=UnfoldAdminTextInputWidget, validators=[names.validate_name]
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial = {"name": self.row.name}


def _rename(request: HttpRequest, project: Project, form: Any) -> str:
    try:
        lifecycle.rename_project(project, form.cleaned_data["name"], account_of(request))
    except ValidationError as error:
        raise ActionRefused(" ".join(error.messages)) from error
    except Gone as gone:
        raise ActionRefused("You can't rename this project, because it is deleted.") from gone
    return "The project is renamed."


RENAME = RowAction(
    "rename",
    "Rename",
    "The new name appears immediately wherever the project is named.",
    _rename,
    form=NameForm,
    is_open=lambda request, row: not row.is_deleted,
    icon="edit",
)


@admin.register(Project)
class ProjectAdmin(ReadOnlyModelAdmin[Project]):
    """Admin of projects: name, members and suspension."""

    empty_text = "There is no project yet. Developers create them in the console."
    list_display = ("name", "public_id", "suspended_at", "deleted_at", "created_at")
    search_help_text = search.HELP
    fields = ("name", "public_id", "members", "reviews", "suspended_at", "deleted_at", "created_at")
    readonly_fields = ("members", "reviews")
    row_actions = (RENAME, actions.SUSPEND, actions.LIFT)

    def search_filter(self, term: str) -> Q:
        return Q(pk__in=search.find_projects(term))

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> tuple[Any, bool]:
        """Leave out projects of which this person doesn't read the members, if the search is for a member."""
        rows, may_repeat = super().get_search_results(request, queryset, search_term)
        account = account_of(request)
        if "@" in search_term and not is_operator(account):
            rows = rows.annotate(conflict=project_conflict(account.pk)).filter(conflict="")
        return rows, may_repeat

    def audit_target(self, row: Project) -> str:
        return row.public_id

    def get_fields(self, request: HttpRequest, obj: Project | None = None) -> list[Any]:
        """Omit the members and reviewers for reviewers with a conflict of interest, as the pages of cases do."""
        account = account_of(request)
        if obj is None or is_operator(account) or not conflict_of(account, obj):
            return list(self.fields)
        return [name for name in self.fields if name not in ("members", "reviews")]

    @admin.display(description="members")
    def members(self, project: Project) -> str:
        rows = list(project.members.select_related("account").order_by("pk")[: MAX_MEMBERS + 1])
        lines = [f"{row.account.email} ({row.role})" for row in rows[:MAX_MEMBERS]]
        if len(rows) > MAX_MEMBERS:
            lines.append(f"and more; these are the first {MAX_MEMBERS}")
        return format_html_join("", "<div>{}</div>", ((line,) for line in lines))

    @admin.display(description="app reviews")
    def reviews(self, project: Project) -> str:
        """The newest review of each app that was submitted, for operators, who can't open the reviews."""
        of_app = AppReview.objects.exclude(status=AppReview.Status.DRAFT).filter(client=OuterRef("pk"))
        newest = Subquery(of_app.order_by("-number").values("pk")[:1])
        found = Client.objects.filter(project=project).order_by("pk").annotate(newest=newest).exclude(newest=None)
        shown = AppReview.objects.filter(pk__in=[row.newest for row in found[:MAX_REVIEWS]])
        lines = [_standing(review) for review in shown.select_related("client", "assignee").order_by("client")]
        return format_html_join("", "<div>{}</div>", ((line,) for line in lines)) or "none"


def _standing(review: AppReview) -> str:
    """Return where a review stands, in a line."""
    line = f"{reveal(review.client.name)}: {review.get_status_display()}"
    at = review.submitted_at if review.is_frozen else review.decided_at
    line += f", since {in_utc(at)}" if at else ""
    return f"{line}, with {review.assignee or 'nobody yet'}" if review.is_open else line
