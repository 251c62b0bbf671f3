"""What a role in a project allows, and the one place where a change of a project begins.

A page reads a role to know what it may show. A change asks anew, with the project locked: of somebody who was demoted,
removed or deactivated in between, nothing is taken any more. Locks are taken in one order: the project, the people of
the change by their key, then clients, and what hangs on them.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import transaction

from accounts.models import Account
from oidc.models import Project, ProjectMember
from oidc.projects.locking import Gone

Role = ProjectMember.Role
_RANKS = {Role.VIEWER: 0, Role.DEVELOPER: 1, Role.OWNER: 2}


class InsufficientRole(Gone):
    """The actor is a member, whose role does not allow the change (any more)."""


def is_at_least(role: str, least: str) -> bool:
    """Tell whether `role` may do what `least` may."""
    return _RANKS[Role(role)] >= _RANKS[Role(least)]


@contextmanager
def lock_for_change(
    project: Project | int, actor: Account, at_least: str, *others: int, deleted: bool = False
) -> Iterator[ProjectMember]:
    """Begin a change of a project by one of its members, in a transaction, and yield them as they are now.

    Their `project` is locked until the transaction ends, and so is their account: who deactivates them meanwhile comes
    after, and ends what they have made. `others` are the accounts of members whom the change locks as well. With
    `deleted` it is about a project that is deleted, and else about one that is not. Raises Gone, InsufficientRole.
    """
    pk = project if isinstance(project, int) else project.pk
    with transaction.atomic():
        row = Project.objects.select_for_update(no_key=True).filter(pk=pk, deleted_at__isnull=not deleted).first()
        if row is None:
            raise Gone
        people = ProjectMember.objects.select_related("account").filter(project=row, account__in={actor.pk, *others})
        locked = people.select_for_update(no_key=True, of=("self", "account")).order_by("account_id")
        member = next((one for one in locked if one.account_id == actor.pk), None)
        if member is None or not member.account.is_active:
            raise Gone
        if not is_at_least(member.role, at_least):
            raise InsufficientRole
        member.project = row
        yield member
