"""Invitations to projects.

The email names the sender and links to the console; opening a link changes nothing. People who sign in with the invited
email address, once it is verified, see the invitation in the console and answer it there. Nothing reveals whether an
email address has an account. Rules shared with other invitations are in accounts/plans/invitations.py.

An invitation ends when its sender may no longer invite: when they leave, are demoted or deactivated, or delete their
account. This is checked again when it is accepted.
"""

from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Q

from accounts.mail import outbox
from accounts.mail.samples import Sample, register
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
from core.email_addresses import stored_address
from oidc.models import Project, ProjectInvitation, ProjectMember
from oidc.projects.lifecycle import QuotaExceeded, check_project_quota
from oidc.projects.roles import Gone, Role, lock_for_change, lock_project, report_project_event
from oidc.signals import owner_added

MAX_SHOWN = 50
KEEP_ENDED = timedelta(days=1)
# How long an expired invitation is listed and can be renewed.
KEEP_EXPIRED = timedelta(days=30)


class AlreadyMember(Exception):
    """The email address belongs to a member."""


def invite(project: Project, email: str, role: str, actor: Account) -> ProjectInvitation:
    """Invite an email address, or renew its invitation, and send the email.

    A project sends at most one email an hour to the same email address. A renewal within that hour takes effect without
    an email. Raises AlreadyMember, QuotaExceeded, Gone; ValidationError for an email address that can't receive mail.
    """
    address = stored_address(email)
    with lock_for_change(project, actor, Role.OWNER) as me:
        return _invite(me.project, address, Role(role), actor)


def renew(invitation: ProjectInvitation, actor: Account) -> ProjectInvitation:
    """Renew an unanswered invitation, also an expired one, with the role that it has now. It is mailed as by `invite`.

    Raises InvitationNotFound if it was answered or withdrawn, AlreadyMember, QuotaExceeded, Gone.
    """
    with lock_for_change(invitation.project_id, actor, Role.OWNER) as me:
        row = ProjectInvitation.objects.filter(pk=invitation.pk, project=me.project, ended_at=None).first()
        if row is None:
            raise InvitationNotFound
        return _invite(me.project, row.email, Role(row.role), actor)


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
    """Check MEMBERS_PER_PROJECT and, if an email is sent, the limits for mails. Raises InvitationRefused."""
    taken = project.members.count() + ProjectInvitation.objects.filter(_open(), project=project).count()
    full = f"A project can have at most {settings.MEMBERS_PER_PROJECT} members, including invited people."
    check_places(found, taken, settings.MEMBERS_PER_PROJECT, full)
    if mails:
        # Per project, and per person across all their projects. lock_for_change has locked the actor's row, so that
        # concurrent invitations count each other's mails.
        check_mail_rate(ProjectInvitation.objects.filter(Q(project=project) | Q(invited_by=actor)))
        count_mail(address)


def _mail(invitation: ProjectInvitation, actor: Account) -> None:
    # Only the verified email address: names, including the project's, are free text, and anyone could use them to mail
    # any text to anyone.
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
    """End the unanswered invitations that `inviter` sent for a project. The caller has locked the project."""
    rows = ProjectInvitation.objects.filter(project=project, invited_by=inviter, ended_at=None)
    now = clock.now()
    for row in rows.order_by("pk"):
        # An invitation that was answered a moment ago is not changed.
        is_ended = rows.filter(pk=row.pk).update(ended_at=now)
        if is_ended and row.expires_at > now:
            report_project_event("invitation.ended", project, actor, row.email, before={"role": row.role})


@transaction.atomic
def end_everywhere(inviter: Account) -> None:
    """End all unanswered invitations that a person sent for any project, when their account is deactivated.

    The projects are not locked: a concurrent acceptance either came first, or finds the invitation ended.
    """
    sent = ProjectInvitation.objects.filter(invited_by=inviter, ended_at=None).select_related("project")
    projects = {row.project_id: row.project for row in sent}
    for pk in sorted(projects):
        end_of(projects[pk], inviter, None)


def invitations_to_account(account: Account) -> list[ProjectInvitation]:
    """Return the invitations that a person may answer: the open ones to their verified email address."""
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

    Idempotent: a person who already is a member keeps their role.
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
    """Decline an invitation. One that is no longer open is not changed. Raises InvitationNotFound."""
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


register(
    {
        "project_invitation": Sample(
            "Invitation: project",
            "The owner of a project invites someone to it",
            "the invited person",
            {"": {"inviter": "ada@example.com", "email": "grace@example.com", "days": 7}},
        )
    }
)
