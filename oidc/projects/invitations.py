"""Invitations to projects.

The mail says who invites and where to look, and nothing in it acts by being opened. Who signs in with the invited
address, once that is proven, sees the invitation in the console and answers there. Nothing tells whether an address has
an account.

The rules that these share with other invitations stand in accounts/plans/invitations.py.

An invitation is its sender's word, and ends with their right to give it: when they leave, are demoted or deactivated,
or delete their account. Whether they may still invite is asked once more when it is accepted.
"""

from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Q

from accounts.mail import outbox
from accounts.models import Account
from accounts.plans.invitations import (
    InvitationNotFound,
    InvitationRefused,
    check_mail_rate,
    check_places,
    count_mail,
    lock_answerable,
    needs_mail,
)
from core import clock
from core.mail.backends import validate_mail_address
from oidc.models import Project, ProjectInvitation, ProjectMember
from oidc.projects.lifecycle import QuotaExceeded, check_project_quota
from oidc.projects.roles import Gone, Role, lock_for_change, lock_project, report_project_event
from oidc.signals import owner_added

MAX_SHOWN = 50
KEEP_ENDED = timedelta(days=1)
# For so long an expired invitation is listed and can be renewed.
KEEP_EXPIRED = timedelta(days=30)


class AlreadyMember(Exception):
    """The address is that of a member."""


def invite(project: Project, email: str, role: str, actor: Account) -> ProjectInvitation:
    """Invite an email address, or renew its invitation, and send the mail.

    One project mails one address once an hour; between mails a renewal still counts. Raises AlreadyMember,
    QuotaExceeded, Gone; ValidationError for an address that can't be mailed.
    """
    address = email.strip().lower()
    validate_mail_address(address)
    with lock_for_change(project, actor, Role.OWNER) as me:
        return _invite(me.project, address, Role(role), actor)


def _invite(row: Project, address: str, role: Role, actor: Account) -> ProjectInvitation:
    now = clock.now()
    if row.members.filter(account__email=address).exists():
        raise AlreadyMember
    found = ProjectInvitation.objects.filter(project=row, email=address).first()
    mails = needs_mail(found)
    try:
        _check_limits(row, address, found, actor, mails=mails)
    except InvitationRefused as refused:
        raise QuotaExceeded(str(refused)) from refused
    invitation = found or ProjectInvitation(project=row, email=address)
    invitation.role, invitation.invited_by, invitation.ended_at = role, actor, None
    invitation.expires_at = now + timedelta(days=settings.PROJECT_INVITATION_DAYS)
    invitation.mailed_at = now if mails else invitation.mailed_at
    invitation.save()
    if mails:
        _mail(invitation, actor)
    report_project_event("invitation.sent", row, actor, address, after={"role": str(invitation.role)})
    return invitation


def _open() -> Q:
    return Q(ended_at=None, expires_at__gt=clock.now())


def _check_limits(
    project: Project, address: str, found: ProjectInvitation | None, actor: Account, *, mails: bool
) -> None:
    """Check MEMBERS_PER_PROJECT and, if a mail goes out, the limits of mails. Raises InvitationRefused."""
    taken = project.members.count() + ProjectInvitation.objects.filter(_open(), project=project).count()
    full = f"A project has up to {settings.MEMBERS_PER_PROJECT} members, those who are invited included."
    check_places(found, taken, settings.MEMBERS_PER_PROJECT, full)
    if mails:
        # Per project, and per person over all their projects. The actor's row is locked
        # (oidc.projects.roles.lock_for_change), so that concurrent invitations see each other's mails.
        check_mail_rate(ProjectInvitation.objects.filter(Q(project=project) | Q(invited_by=actor)))
        count_mail(address)


def _mail(invitation: ProjectInvitation, actor: Account) -> None:
    # The proven address alone: a name, the project's included, is free text, and would make this a way to mail
    # anything to anybody.
    context = {"inviter": actor.email, "email": invitation.email, "days": settings.PROJECT_INVITATION_DAYS}
    outbox.queue_mail(invitation.email, "project_invitation", context)


def withdraw(invitation: ProjectInvitation, actor: Account) -> None:
    """Withdraw an invitation, open or expired. Raises InvitationNotFound if it was answered, Gone."""
    with lock_for_change(invitation.project_id, actor, Role.OWNER) as me:
        rows = ProjectInvitation.objects.filter(pk=invitation.pk, project=me.project, ended_at=None)
        if not rows.update(ended_at=clock.now()):
            raise InvitationNotFound
        report_project_event("invitation.withdrawn", me.project, actor, invitation.email)


def end_of(project: Project, inviter: Account, actor: Account | None) -> None:
    """End the unanswered invitations that `inviter` has sent for a locked project."""
    rows = ProjectInvitation.objects.filter(project=project, invited_by=inviter, ended_at=None)
    now = clock.now()
    for row in rows.order_by("pk"):
        # One that is answered at this moment was answered before.
        is_ended = rows.filter(pk=row.pk).update(ended_at=now)
        if is_ended and row.expires_at > now:
            report_project_event("invitation.ended", project, actor, row.email, before={"role": row.role})


@transaction.atomic
def end_everywhere(inviter: Account) -> None:
    """End the unanswered invitations that somebody has sent for any project, when their account is deactivated.

    The projects are not locked: whoever accepts at this moment did so before, or finds the invitation ended.
    """
    sent = ProjectInvitation.objects.filter(invited_by=inviter, ended_at=None).select_related("project")
    projects = {row.project_id: row.project for row in sent}
    for pk in sorted(projects):
        end_of(projects[pk], inviter, None)


def invitations_to_account(account: Account) -> list[ProjectInvitation]:
    """Return the invitations that a person may answer: the open ones to their verified address."""
    if not account.email_verified:
        return []
    rows = ProjectInvitation.objects.filter(_open(), email=account.email, project__deleted_at=None)
    return list(rows.select_related("project", "invited_by").order_by("pk")[:MAX_SHOWN])


def invitations_to_project(project: Project) -> list[ProjectInvitation]:
    """Return the unanswered invitations of a project, expired ones included."""
    rows = ProjectInvitation.objects.filter(project=project, ended_at=None)
    return list(rows.select_related("invited_by").order_by("pk")[: settings.MEMBERS_PER_PROJECT])


def _answerable(pk: int, account: Account) -> tuple[Project, ProjectInvitation]:
    """Return a person's invitation and its project, locked. Raises InvitationNotFound."""
    rows = ProjectInvitation.objects.select_related("project")
    try:
        row = lock_answerable(rows, pk, account, lambda found: lock_project(found.project_id))
    except Gone as gone:
        raise InvitationNotFound from gone
    return row.project, row


@transaction.atomic
def accept(pk: int, account: Account) -> ProjectMember:
    """Make the invited person a member. Raises InvitationNotFound, QuotaExceeded.

    Idempotent: somebody who is a member already keeps their role.
    """
    project, row = _answerable(pk, account)
    member = ProjectMember.objects.filter(project=project, account=account).first()
    if not row.is_open:
        if member is not None:
            return member
        raise InvitationNotFound
    if not _may_still_invite(row):
        raise InvitationNotFound
    if member is None:
        if row.role == Role.OWNER:
            check_project_quota(account)
        member = ProjectMember.objects.create(project=project, account=account, role=row.role)
        if row.role == Role.OWNER:
            owner_added.send(sender=ProjectMember, project=project, transferred=False)
    _end(row)
    report_project_event(
        "invitation.accepted", project, account, row.email, after={"role": member.role}, person=account.pk
    )
    return member


def _may_still_invite(row: ProjectInvitation) -> bool:
    """Return whether the sender of an invitation is still an active owner of the project."""
    owners = ProjectMember.objects.filter(project=row.project_id, role=Role.OWNER, account__is_active=True)
    return owners.filter(account=row.invited_by_id).exists()


@transaction.atomic
def decline(pk: int, account: Account) -> None:
    """Decline an invitation; one that is no longer open stays as it is. Raises InvitationNotFound."""
    project, row = _answerable(pk, account)
    if row.is_open:
        _end(row)
        report_project_event("invitation.declined", project, account, row.email, person=account.pk)


def _end(row: ProjectInvitation) -> None:
    row.ended_at = clock.now()
    row.save(update_fields=["ended_at"])


def clear_ended_invitations() -> int:
    """Delete invitations that were answered or expired some time ago; return how many were deleted."""
    now = clock.now()
    old = Q(ended_at__lt=now - KEEP_ENDED) | Q(expires_at__lt=now - KEEP_EXPIRED)
    gone, _ = ProjectInvitation.objects.filter(old).delete()
    return gone
