"""Project roles: their order, the check that every change makes with the project locked, and its audit events."""

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
    """The object was deleted, or the actor has no access to it any more."""


def lock_project(project_pk: int, *, deleted: bool = False) -> Project:
    """Return a project with its row locked, as it is now. Raises Gone. Call it inside a transaction.

    With `deleted` it has to be deleted, otherwise it must not be. For what a member does there is
    `oidc.projects.roles.lock_for_change`, which checks their role as well. This is for what others do: who answers an
    invitation, operators, commands. Of many at once each sees what the others did.
    """
    rows = Project.objects.select_for_update(no_key=True)
    row = rows.filter(pk=project_pk, deleted_at__isnull=not deleted).first()
    if row is None:
        raise Gone
    return row


# A change checks the role again, with the project locked: nothing is accepted from somebody who was demoted, removed
# or deactivated since the page was shown. Locks are taken in one order: the project, the accounts by their key, then
# clients and their rows.

Role = ProjectMember.Role
_RANKS = {Role.VIEWER: 0, Role.DEVELOPER: 1, Role.OWNER: 2}


class InsufficientRole(Gone):
    """The actor is a member, but the role does not allow the change (any more)."""


def is_at_least(role: str, least: str) -> bool:
    """Return whether `role` is `least` or higher."""
    return _RANKS[Role(role)] >= _RANKS[Role(least)]


@contextmanager
def lock_for_change(
    project: Project | int, actor: Account, at_least: str, *others: int, deleted: bool = False
) -> Iterator[ProjectMember]:
    """Open a transaction for a change of a project, check the actor's role in it, and yield their membership.

    The project and the actor's account are locked until the transaction ends: a concurrent deactivation waits, and then
    revokes what the change has created. `others` are further accounts to lock. With `deleted` the project has to be
    deleted, otherwise it must not be. Raises Gone, InsufficientRole.
    """
    pk = project if isinstance(project, int) else project.pk
    with transaction.atomic():
        row = lock_project(pk, deleted=deleted)
        people = ProjectMember.objects.select_related("account").filter(project=row, account__in={actor.pk, *others})
        locked = people.select_for_update(no_key=True, of=("self", "account")).order_by("account_id")
        member = next((one for one in locked if one.account_id == actor.pk), None)
        if member is None or not member.account.is_active:
            raise Gone
        if not is_at_least(member.role, at_least):
            raise InsufficientRole
        member.project = row
        yield member
