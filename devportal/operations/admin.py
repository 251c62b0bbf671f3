"""Admin pages of the audit trail, the sign-in log and the periodic tasks. All are read-only."""

from collections.abc import Iterable
from typing import Any

from django.conf import settings
from django.contrib import admin
from django.db.models import OuterRef, Q, QuerySet, Subquery
from django.db.models.lookups import IsNull
from django.http import HttpRequest
from django.utils.timesince import timesince

from accounts.authentication import account_of
from accounts.models import Account
from accounts.roles import is_operator
from core import clock
from core.admin.model_admin import LogModelAdmin, ReadOnlyModelAdmin
from devportal.console import activity
from devportal.console.models import AuditEvent, SignInEvent
from devportal.operations import task_runs
from devportal.operations.models import TaskRun
from devportal.review.conflicts import project_conflict
from oidc.clients.lookup import find_client
from oidc.models import Project
from oidc.models.projects import PROJECT_PREFIX


def _has_conflict(account: Account) -> IsNull:
    """Return the condition that this account has a conflict of interest in the project of an event.

    It is a scalar subquery, so that PostgreSQL evaluates it for the rows of a page alone
    (devportal/review/conflicts.py).
    """
    projects = Project.objects.filter(public_id=OuterRef("project")).annotate(conflict=project_conflict(account.pk))
    return IsNull(Subquery(projects.exclude(conflict="").order_by().values("pk")[:1]), False)


@admin.register(AuditEvent)
class AuditEventAdmin(LogModelAdmin[AuditEvent]):
    """Audit events: actor, IP address, action, values before and after."""

    list_display = ("at", "action", "actor_email", "project", "target", "address", "request_id")
    search_help_text = "A whole email address, project, client id, account:…, or request id"
    link_filters = ("actor",)

    # Columns for operators only: the IP address, the request id, and links to accounts.
    private_columns = ("ip", "address", "request_id", "actor", "person")

    def get_queryset(self, request: HttpRequest) -> QuerySet[AuditEvent]:
        """Return the whole trail for operators, and only events of projects for reviewers.

        Reviewers don't read the events of projects in which they have a conflict of interest, nor what only reviewers
        without a conflict read on the page of a case.
        """
        rows: QuerySet[AuditEvent] = super().get_queryset(request)
        account = account_of(request)
        if is_operator(account):
            return rows
        return rows.exclude(project="").exclude(activity.REVIEWERS_ONLY).exclude(_has_conflict(account))

    def get_list_display(self, request: HttpRequest) -> list[Any]:
        return self._readable(request, self.list_display)

    def get_fields(self, request: HttpRequest, obj: AuditEvent | None = None) -> list[Any]:
        return self._readable(request, [str(field) for field in super().get_fields(request, obj)])

    def _readable(self, request: HttpRequest, names: Iterable[str]) -> list[Any]:
        if is_operator(account_of(request)):
            return list(names)
        return [name for name in names if name not in self.private_columns]

    def search_filter(self, term: str) -> Q:
        if "@" in term:
            # Look up the key first: a condition across two tables would read the whole trail.
            people = list(Account.objects.filter(email=term.lower()).values_list("pk", flat=True))
            return Q(actor__in=people) | Q(person__in=people) | Q(target=term.lower())
        return Q(project=term) if term.startswith(PROJECT_PREFIX) else Q(target=term) | Q(request_id=term)

    @admin.display(description="IP address")
    def address(self, event: AuditEvent) -> str:
        return event.ip or "-"


@admin.register(SignInEvent)
class SignInEventAdmin(LogModelAdmin[SignInEvent]):
    """Steps of sign-ins to clients, with their outcomes."""

    list_display = ("at", "client", "endpoint", "outcome", "error", "reason_shown", "request_id")
    list_select_related = ("client",)
    search_help_text = "A whole client id, or a whole request id"
    link_filters = ("client",)

    def search_filter(self, term: str) -> Q:
        # Look up the client's key first, for the same reason.
        return Q(client=find_client(term) or 0) if term.startswith(settings.CLIENT_ID_PREFIX) else Q(request_id=term)

    @admin.display(description="Reason")
    def reason_shown(self, event: SignInEvent) -> str:
        return event.reason_text or "-"


@admin.register(TaskRun)
class TaskRunAdmin(ReadOnlyModelAdmin[TaskRun]):
    """When each periodic task last succeeded, and whether it is late."""

    is_long = False
    ordering = ("task",)
    list_display = ("task", "state", "last_success", "failed_at", "seconds")

    @admin.display(description="State")
    def state(self, row: TaskRun) -> str:
        """Return whether the task is on time, or "not scheduled" for a task of an earlier version."""
        state = task_runs.state_of(row)
        return "not scheduled" if state is None else "late" if state.is_late else "on time"

    @admin.display(description="Last success")
    def last_success(self, row: TaskRun) -> str:
        """Return how long ago the task succeeded."""
        return f"{timesince(row.succeeded_at, clock.now(), depth=1)} ago" if row.succeeded_at else "not yet"
