"""Members of a project: change roles, remove members, leave, transfer ownership.

Each of these functions starts with `oidc.projects.roles.lock_for_change`, which locks the project and checks the
actor's role again.
"""

from typing import Any

from django.db.models import Model, QuerySet
from django.db.models.signals import post_delete
from django.dispatch import receiver
from django.http import HttpRequest

from accounts.models import Account
from core import clock
from oidc.models import FormerMember, Project, ProjectMember
from oidc.projects import invitations
from oidc.projects.lifecycle import check_project_quota
from oidc.projects.roles import Gone, Role, lock_for_change, report_project_event
from oidc.signals import owner_added

# Session key of people who have a project or have opened the console: their pages link to it (templates/base.html).
DEVELOPER = "developer"


def note_developer(request: HttpRequest) -> None:
    """Show the link to the console in this session from now on."""
    if DEVELOPER not in request.session:
        request.session[DEVELOPER] = True


class LastOwner(Exception):
    """The change would leave the project without an active owner."""


def _current(member: ProjectMember) -> ProjectMember:
    """Read a member again while the project is locked. Raises Gone."""
    row = ProjectMember.objects.select_related("account").filter(pk=member.pk, project=member.project_id).first()
    if row is None:
        raise Gone
    return row


def _require_another_owner(member: ProjectMember) -> None:
    """Raise LastOwner unless the project has another owner whose account is active."""
    owners = ProjectMember.objects.filter(project=member.project_id, role=Role.OWNER, account__is_active=True)
    if member.role == Role.OWNER and not owners.exclude(pk=member.pk).exists():
        raise LastOwner


def _check_room(account: Account, actor: Account) -> None:
    check_project_quota(account, "You own" if account == actor else f"{account.email} owns")


def change_role(member: ProjectMember, role: str, actor: Account) -> None:
    """Give a member another role. Raises LastOwner, QuotaExceeded, Gone."""
    with lock_for_change(member.project_id, actor, Role.OWNER, member.account_id) as me:
        row, role = _current(member), Role(role)
        if role == row.role:
            return
        _require_another_owner(row)
        if role == Role.OWNER:
            _check_room(row.account, actor)
        _set_role(me.project, row, role, actor, "member.role_changed")


def declare_member(project: Project, account: Account, role: str) -> None:
    """Make a person a member with this role for the operator, in the caller's transaction.

    The only events are those of invitations that end because their sender is no longer an owner.
    """
    row = ProjectMember.objects.filter(project=project, account=account).first()
    member = row or ProjectMember(project=project, account=account)
    if member.role == Role.OWNER != role:
        member.owner_until = clock.now()
        invitations.end_of(project, account, None)
    member.role = role
    member.save()


def _set_role(project: Project, member: ProjectMember, role: Role, actor: Account, action: str) -> None:
    before, member.role = member.role, role
    if before == Role.OWNER != role:
        member.owner_until = clock.now()
    member.save(update_fields=["role", "owner_until"])
    fields = {"before": {"role": before}, "after": {"role": str(role)}, "person": member.account_id}
    report_project_event(action, project, actor, member.account.email, **fields)
    if before == Role.OWNER != role:
        invitations.end_of(project, member.account, actor)
    if role == Role.OWNER:
        owner_added.send(sender=ProjectMember, project=project, transferred=action == "project.transferred")


def remove_member(member: ProjectMember, actor: Account) -> None:
    """Remove a member from a project; their API keys there are revoked. Raises LastOwner, Gone."""
    with lock_for_change(member.project_id, actor, Role.OWNER, member.account_id) as me:
        _take_out(me.project, _current(member), actor, "member.removed")


def leave_project(project: Project, account: Account) -> None:
    """Leave a project; the member's API keys there are revoked. Raises LastOwner, Gone."""
    with lock_for_change(project, account, Role.VIEWER) as me:
        _take_out(me.project, me, account, "member.left")


def _take_out(project: Project, member: ProjectMember, actor: Account, action: str) -> None:
    _require_another_owner(member)
    report_project_event(
        action, project, actor, member.account.email, before={"role": member.role}, person=member.account_id
    )
    invitations.end_of(project, member.account, actor)
    member.delete()


def transfer_ownership(project: Project, to: ProjectMember, actor: Account) -> None:
    """Transfer ownership to another member. The former owner becomes a developer. Raises QuotaExceeded, Gone."""
    with lock_for_change(project, actor, Role.OWNER, to.account_id) as me:
        member = _current(to)
        if member.account_id == actor.pk or member.project_id != me.project_id or not member.account.is_active:
            raise Gone
        if member.role != Role.OWNER:
            _check_room(member.account, actor)
        _set_role(me.project, member, Role.OWNER, actor, "project.transferred")
        ProjectMember.objects.filter(pk=me.pk).update(role=Role.DEVELOPER, owner_until=clock.now())
        invitations.end_of(me.project, actor, actor)


@receiver(post_delete, sender=ProjectMember)
def record_former_member(
    sender: Any, instance: ProjectMember, origin: "Model | QuerySet[Any] | None" = None, **kwargs: Any
) -> None:
    """Store a former member, unless the project or the account itself is being deleted."""
    if (origin.model if isinstance(origin, QuerySet) else type(origin)) is ProjectMember:
        now = clock.now()
        known = {"left_at": now}
        if owner_until := now if instance.role == Role.OWNER else instance.owner_until:
            known["owner_until"] = owner_until
        FormerMember.objects.update_or_create(
            project_id=instance.project_id,
            account_id=instance.account_id,
            defaults=known,
            create_defaults=known | {"joined_at": instance.created_at},
        )
