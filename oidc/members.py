"""Who works on a project: changing roles, removing people, leaving, handing over.

Each of these locks the project first (oidc/projects.py), and then looks whether who does it still may.
"""

from django.db import transaction

from accounts.models import Account
from oidc.models import Project, ProjectMember
from oidc.projects import Gone, check_room, lock, tell

Role = ProjectMember.Role


class LastOwner(Exception):
    """A project is never left without an owner."""


def _current(member: ProjectMember) -> ProjectMember:
    """Return a member as they are now that nobody else decides. Raises Gone."""
    row = ProjectMember.objects.select_related("account").filter(pk=member.pk, project=member.project_id).first()
    if row is None:
        raise Gone
    return row


def _require_another_owner(member: ProjectMember) -> None:
    """An owner whose account is closed can't act, and does not count. Raises LastOwner."""
    owners = ProjectMember.objects.filter(project=member.project_id, role=Role.OWNER, account__is_active=True)
    if member.role == Role.OWNER and not owners.exclude(pk=member.pk).exists():
        raise LastOwner


def _check_room(account: Account, actor: Account) -> None:
    check_room(account, "You own" if account == actor else f"{account.email} owns")


@transaction.atomic
def change_role(member: ProjectMember, role: str, actor: Account) -> None:
    """Give a member another role. Raises LastOwner, TooMany, Gone."""
    project = lock(member.project_id, actor)
    row, role = _current(member), Role(role)
    if role == row.role:
        return
    _require_another_owner(row)
    if role == Role.OWNER:
        _check_room(row.account, actor)
    _set_role(project, row, role, actor, "member.role_changed")


def _set_role(project: Project, member: ProjectMember, role: Role, actor: Account, action: str) -> None:
    before, member.role = member.role, role
    member.save(update_fields=["role"])
    fields = {"before": {"role": before}, "after": {"role": str(role)}, "person": member.account_id}
    tell(action, project, actor, member.account.email, **fields)


@transaction.atomic
def remove(member: ProjectMember, actor: Account) -> None:
    """Take somebody out of a project; their API keys there end with it. Raises LastOwner, Gone."""
    project = lock(member.project_id, actor)
    _take_out(project, _current(member), actor, "member.removed")


@transaction.atomic
def leave(project: Project, account: Account) -> None:
    """Leave a project; one's API keys there end with it. Raises LastOwner, Gone."""
    row = lock(project.pk)
    member = ProjectMember.objects.select_related("account").filter(project=row, account=account).first()
    if member is None:
        raise Gone
    _take_out(row, member, account, "member.left")


def _take_out(project: Project, member: ProjectMember, actor: Account, action: str) -> None:
    _require_another_owner(member)
    tell(action, project, actor, member.account.email, before={"role": member.role}, person=member.account_id)
    member.delete()


@transaction.atomic
def transfer(project: Project, to: ProjectMember, actor: Account) -> None:
    """Make another member an owner; whoever hands the project over stays as a developer. Raises TooMany, Gone."""
    row = lock(project.pk, actor)
    member = _current(to)
    if member.account_id == actor.pk or member.project_id != row.pk or not member.account.is_active:
        raise Gone
    if member.role != Role.OWNER:
        _check_room(member.account, actor)
    _set_role(row, member, Role.OWNER, actor, "project.transferred")
    ProjectMember.objects.filter(project=row, account=actor).update(role=Role.DEVELOPER)
