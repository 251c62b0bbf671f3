"""Admin pages of the audit trail, the sign-in log and the periodic tasks. All are read-only."""

from collections.abc import Iterable, Mapping
from functools import reduce
from operator import or_
from typing import Any

from django.conf import settings
from django.contrib import admin
from django.db.models import OuterRef, Q, QuerySet, Subquery
from django.db.models.lookups import IsNull
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.timesince import timesince

from accounts.models import Account
from accounts.roles import is_operator
from accounts.sessions.authentication import account_of
from core import clock
from core.admin.model_admin import LogModelAdmin, ReadOnlyModelAdmin
from devportal.console import activity
from devportal.console.models import AuditEvent, SignInEvent
from devportal.operations import audit_list, task_runs
from devportal.operations.audit_list import AuditChangeList
from devportal.operations.models import TaskRun
from devportal.review.rules.conflicts import project_conflict
from devportal.review.submission.differences import reveal
from oidc.clients.lookup import find_client
from oidc.models import Project


def _has_conflict(account: Account) -> IsNull:
    """Return the condition that this account has a conflict of interest in the project of an event.

    It is a scalar subquery, so that PostgreSQL evaluates it for the rows of a page alone
    (devportal/review/rules/conflicts.py).
    """
    projects = Project.objects.filter(public_id=OuterRef("project")).annotate(conflict=project_conflict(account.pk))
    return IsNull(Subquery(projects.exclude(conflict="").order_by().values("pk")[:1]), False)


def _named(public_id: str, names: Mapping[str, str]) -> str:
    """Return an id with the name of what it belongs to, if that still exists."""
    name = names.get(public_id)
    return format_html("{}<div class='text-subtle'>{}</div>", reveal(name), public_id) if name else public_id or "-"


@admin.register(AuditEvent)
class AuditEventAdmin(LogModelAdmin[AuditEvent]):
    """Audit events: actor, IP address, action, values before and after."""

    empty_text = "Nothing was recorded yet. What developers and staff do is listed here."
    list_display = ("at", "action", "actor_email", "project_named", "target_named", "address", "request_id")
    list_before_template = "admin/audit_filters.html"
    search_help_text = "A whole email address, project, client id, account:…, or request id"

    # Columns for operators only: the IP address, the request id, and links to accounts.
    private_columns = ("ip", "address", "request_id", "actor", "person")

    def get_queryset(self, request: HttpRequest) -> QuerySet[AuditEvent]:
        """Return the whole trail for operators, and only events of projects for reviewers.

        Reviewers don't read the events of projects in which they have a conflict of interest, nor what only reviewers
        without a conflict read on the page of a case, nor the developers' drafts.
        """
        rows: QuerySet[AuditEvent] = super().get_queryset(request)
        account = account_of(request)
        if is_operator(account):
            return rows
        rows = rows.exclude(project="").exclude(activity.REVIEWERS_ONLY).exclude(activity.DRAFTS)
        return rows.exclude(_has_conflict(account))

    def get_list_display(self, request: HttpRequest) -> list[Any]:
        return self._readable(request, self.list_display)

    def get_fields(self, request: HttpRequest, obj: AuditEvent | None = None) -> list[Any]:
        return self._readable(request, [str(field) for field in super().get_fields(request, obj)])

    def _readable(self, request: HttpRequest, names: Iterable[str]) -> list[Any]:
        if is_operator(account_of(request)):
            return list(names)
        return [name for name in names if name not in self.private_columns]

    def search_filter(self, term: str) -> Q:
        return reduce(or_, audit_list.search_parts(term))

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> Any:
        return AuditChangeList

    @admin.display(description="project")
    def project_named(self, event: Any) -> str:
        return _named(event.project, event.names)

    @admin.display(description="object")
    def target_named(self, event: Any) -> str:
        return _named(event.target, event.names)

    @admin.display(description="IP address")
    def address(self, event: AuditEvent) -> str:
        return event.ip or "-"


@admin.register(SignInEvent)
class SignInEventAdmin(LogModelAdmin[SignInEvent]):
    """Steps of sign-ins to clients, with their outcomes."""

    empty_text = "Nobody signed in to an app lately."
    list_display = ("at", "client", "endpoint", "outcome", "error", "reason_shown", "request_id")
    list_select_related = ("client",)
    search_help_text = "A whole client id, or a whole request id"
    link_filters = ("client",)

    def search_filter(self, term: str) -> Q:
        # Look up the client's key first: a condition across two tables would read the whole log.
        return Q(client=find_client(term) or 0) if term.startswith(settings.CLIENT_ID_PREFIX) else Q(request_id=term)

    @admin.display(description="Reason")
    def reason_shown(self, event: SignInEvent) -> str:
        return event.reason_text or "-"


@admin.register(TaskRun)
class TaskRunAdmin(ReadOnlyModelAdmin[TaskRun]):
    """When each periodic task last succeeded, and whether it is late."""

    is_long = False
    ordering = ("task",)
    empty_text = "No periodic task has run yet. They begin with the worker."
    list_display = ("task", "state", "last_success", "failed_at", "duration")

    @admin.display(description="State")
    def state(self, row: TaskRun) -> str:
        """Return whether the task is on time, or "not scheduled" for a task of an earlier version."""
        state = task_runs.state_of(row)
        return "not scheduled" if state is None else "late" if state.is_late else "on time"

    @admin.display(description="Seconds")
    def duration(self, row: TaskRun) -> str:
        """Return how many seconds the last successful run took."""
        return f"{row.seconds:.3f}"

    @admin.display(description="Last success")
    def last_success(self, row: TaskRun) -> str:
        """Return how long ago the task succeeded."""
        return f"{timesince(row.succeeded_at, clock.now(), depth=1)} ago" if row.succeeded_at else "not yet"
