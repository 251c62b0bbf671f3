"""Projects and who works on them: making, renaming, sharing, handing over, deleting and restoring."""

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.dispatch import Signal

from accounts.models import Account, PairwiseSubject
from devportal.lib import clock
from devportal.lib.audit import Event, report
from oidc.models import ClientSecret, Family, Project, ProjectInvitation, ProjectMember
from oidc.names import check_name

Role = ProjectMember.Role

# Sent when a project is deleted: `project`. Floors above end what they gave out for it.
project_ended = Signal()


class TooMany(Exception):
    """There are as many of these as there may be; the argument is a sentence for the person."""


class LastOwner(Exception):
    """A project is never left without an owner."""


class NoSuchInvitation(Exception):
    """The invitation is not there (any more), or is for another address."""


def create(owner: Account, name: str) -> Project:
    """Return a new project of `owner`. Raises ValidationError for the name, TooMany."""
    check_name(name)
    with transaction.atomic():
        Account.objects.select_for_update(no_key=True).get(pk=owner.pk)
        owned = ProjectMember.objects.filter(account=owner, role=Role.OWNER, project__deleted_at=None)
        if owned.count() >= settings.PROJECTS_PER_PERSON:
            raise TooMany(f"You own {settings.PROJECTS_PER_PERSON} projects, which is as many as one person may own.")
        project = Project.objects.create(name=name.strip())
        ProjectMember.objects.create(project=project, account=owner, role=Role.OWNER)
        report(Event("project.created", owner.pk, project.public_id, after={"name": project.name}))
    return project


def rename(project: Project, name: str, actor: Account) -> None:
    """Give a project another name. Raises ValidationError."""
    check_name(name)
    before, project.name = project.name, name.strip()
    if project.name == before:
        return
    with transaction.atomic():
        project.save(update_fields=["name"])
        _report("project.renamed", project, actor, before={"name": before}, after={"name": project.name})


# --- Members ---


def _locked(project: Project) -> Project:
    """Lock a project: its members change one at a time, so that the last owner is always seen."""
    return Project.objects.select_for_update(no_key=True).get(pk=project.pk)


def _report(action: str, project: Project, actor: Account | None, target: str = "", **fields: Any) -> None:
    report(Event(action, actor.pk if actor else None, project.public_id, target, **fields))


def _require_another_owner(member: ProjectMember) -> None:
    others = ProjectMember.objects.filter(project=member.project_id, role=Role.OWNER).exclude(pk=member.pk)
    if member.role == Role.OWNER and not others.exists():
        raise LastOwner


@transaction.atomic
def change_role(member: ProjectMember, role: str, actor: Account) -> None:
    """Give a member another role. Raises LastOwner."""
    _locked(member.project)
    member.refresh_from_db()
    if role == member.role:
        return
    _require_another_owner(member)
    before, member.role = member.role, role
    member.save(update_fields=["role"])
    email = member.account.email
    _report("member.role_changed", member.project, actor, email, before={"role": before}, after={"role": role})


@transaction.atomic
def remove_member(member: ProjectMember, actor: Account) -> None:
    """Take somebody out of a project (or let them leave); their API keys there end with it. Raises LastOwner."""
    _locked(member.project)
    member.refresh_from_db()
    _require_another_owner(member)
    _report("member.removed", member.project, actor, member.account.email, before={"role": member.role})
    member.delete()


@transaction.atomic
def transfer(project: Project, to: ProjectMember, actor: Account) -> None:
    """Make another member the owner; whoever hands the project over stays as a developer."""
    _locked(project)
    to.refresh_from_db()
    before = to.role
    to.role = Role.OWNER
    to.save(update_fields=["role"])
    ProjectMember.objects.filter(project=project, account=actor).exclude(pk=to.pk).update(role=Role.DEVELOPER)
    _report(
        "project.transferred", project, actor, to.account.email, before={"role": before}, after={"role": Role.OWNER}
    )


# --- Invitations: no token, the address itself has to be proven ---


@transaction.atomic
def invite(project: Project, email: str, role: str, actor: Account) -> ProjectInvitation:
    """Invite an address, or renew its invitation; the caller queues the mail in the same transaction."""
    address = email.strip().lower()
    row, _ = ProjectInvitation.objects.update_or_create(
        project=project,
        email=address,
        defaults={
            "role": role,
            "invited_by": actor,
            "expires_at": clock.now() + timedelta(days=settings.PROJECT_INVITATION_DAYS),
        },
    )
    _report("invitation.sent", project, actor, address, after={"role": role})
    return row


def withdraw(invitation: ProjectInvitation, actor: Account) -> None:
    """Take an invitation back."""
    _report("invitation.withdrawn", invitation.project, actor, invitation.email)
    invitation.delete()


def invitations_for(account: Account) -> list[ProjectInvitation]:
    """Return the invitations that a person may answer: open ones to the address that they have proven."""
    if not account.email_verified:
        return []
    rows = ProjectInvitation.objects.filter(
        email=account.email.lower(), expires_at__gt=clock.now(), project__deleted_at=None
    )
    return list(rows.select_related("project", "invited_by").order_by("pk")[:50])


@transaction.atomic
def accept(invitation: ProjectInvitation, account: Account) -> ProjectMember:
    """Make the invited person a member. Raises NoSuchInvitation. Who is a member already keeps their role."""
    _locked(invitation.project)
    row = ProjectInvitation.objects.filter(pk=invitation.pk).first()
    if row is None or not row.is_open or row.email != account.email.lower() or not account.email_verified:
        raise NoSuchInvitation
    member, _ = ProjectMember.objects.get_or_create(project=row.project, account=account, defaults={"role": row.role})
    _report("invitation.accepted", row.project, account, account.email, after={"role": member.role})
    row.delete()
    return member


@transaction.atomic
def decline(invitation: ProjectInvitation, account: Account) -> None:
    """Refuse an invitation. Raises NoSuchInvitation."""
    row = ProjectInvitation.objects.filter(pk=invitation.pk, email=account.email.lower()).first()
    if row is None or not account.email_verified:
        raise NoSuchInvitation
    _report("invitation.declined", row.project, account, account.email)
    row.delete()


# --- Deleting and restoring ---


@transaction.atomic
def delete(project: Project, actor: Account) -> None:
    """End every credential of a project now (security rule 17); what it was can be restored for a while."""
    moment = clock.now()
    row = _locked(project)
    if row.is_deleted:
        return
    Project.objects.filter(pk=project.pk).update(deleted_at=moment)
    project.deleted_at = moment
    ClientSecret.objects.filter(client__project=project, ended_at=None).update(ended_at=moment)
    live = Family.objects.filter(connection__client__project=project, revoked_at=None)
    live.update(revoked_at=moment, revoked_why="project deleted")
    project_ended.send(sender=Project, project=project)
    _report("project.deleted", project, actor, before={"name": project.name})


def restore(project: Project, actor: Account) -> None:
    """Bring a deleted project back: clients, members, logs and its people's ids, but no secret and no key."""
    with transaction.atomic():
        Project.objects.filter(pk=project.pk).update(deleted_at=None)
        project.deleted_at = None
        _report("project.restored", project, actor)


@transaction.atomic
def remove_for_good(project: Project) -> None:
    """Delete a project and everything that hangs on it; its ids are random, so none is ever given out again."""
    sector = project.public_id
    report(Event("project.removed", None, sector, before={"name": project.name}))
    project.delete()
    PairwiseSubject.objects.filter(sector=sector).delete()
