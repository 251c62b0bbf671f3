"""Project roles: their order, the check that every change makes with the project locked, and audit events.

A change checks the role again while the project is locked, so that nothing is accepted from a person who was demoted,
removed or deactivated after the page was loaded. Locks are taken in one order: the project, the accounts by their
primary key, then clients and their rows.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import transaction

from accounts.models import Account
from core.audit import Event, report
from oidc.models import Project, ProjectMember


def report_project_event(action: str, project: Project, actor: Account | None, target: str = "", **fields: Any) -> None:
    """Report an audit event of a project; `fields` are those of Event."""
    report(Event(action, actor.pk if actor else None, project.public_id, target, **fields))


class Gone(Exception):
    """The object was deleted, or the actor no longer has access to it."""


def lock_project(project_pk: int, *, deleted: bool = False) -> Project:
    """Lock a project and return it as it is now. Raises Gone. Call it inside a transaction.

    With `deleted` the project has to be deleted, otherwise it must not be. Use `lock_for_change` for a member's change,
    because it also checks their role. This function is for other changes: by invited people, operators and commands.
    """
    rows = Project.objects.select_for_update(no_key=True)
    row = rows.filter(pk=project_pk, deleted_at__isnull=not deleted).first()
    if row is None:
        raise Gone
    return row


Role = ProjectMember.Role
_RANKS = {Role.VIEWER: 0, Role.DEVELOPER: 1, Role.OWNER: 2}


class InsufficientRole(Gone):
    """The actor is a member, but their role does not allow the change, or no longer does."""

    def __init__(self, member: ProjectMember, at_least: str) -> None:
        super().__init__()
        self.member = member
        self.at_least = at_least


def is_at_least(role: str, least: str) -> bool:
    """Return whether `role` is `least` or higher."""
    return _RANKS[Role(role)] >= _RANKS[Role(least)]


@contextmanager
def lock_for_change(
    project: Project | int, actor: Account, at_least: str, *others: int, deleted: bool = False
) -> Iterator[ProjectMember]:
    """Open a transaction to change a project, check the actor's role, and yield their membership.

    The project and the actor's account stay locked until the transaction ends: a concurrent deactivation waits, and
    then revokes what the change has created. `others` are the primary keys of further accounts to lock. With `deleted`
    the project has to be deleted, otherwise it must not be. Raises Gone, InsufficientRole.
    """
    pk = project if isinstance(project, int) else project.pk
    with transaction.atomic():
        row = lock_project(pk, deleted=deleted)
        people = ProjectMember.objects.select_related("account").filter(project=row, account__in={actor.pk, *others})
        locked = people.select_for_update(no_key=True, of=("self", "account")).order_by("account_id")
        member = next((one for one in locked if one.account_id == actor.pk), None)
        if member is None or not member.account.is_active:
            raise Gone
        member.project = row
        if not is_at_least(member.role, at_least):
            raise InsufficientRole(member, at_least)
        yield member
