"""Invitations to projects.

The mail says who invites and where to look, and nothing in it acts by being opened. Who signs in with the invited
address, once that is proven, sees the invitation in the console and answers there. Nothing tells whether an address has
an account.
"""

from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Q

from accounts import outbox
from accounts.models import Account
from devportal.lib import clock
from devportal.lib.mail import check_address
from oidc.models import Project, ProjectInvitation, ProjectMember
from oidc.projects import Gone, TooMany, check_room, lock, tell

Role = ProjectMember.Role
PACE = timedelta(hours=1)
MOST_SHOWN = 50
KEEP_ENDED = timedelta(days=1)
# One that ran out can be seen and renewed for so long.
KEEP_EXPIRED = timedelta(days=30)


class NoSuchInvitation(Exception):
    """The invitation is not there (any more), or is for another address."""


class AlreadyMember(Exception):
    """The address is that of a member."""


@transaction.atomic
def invite(project: Project, email: str, role: str, actor: Account) -> ProjectInvitation:
    """Invite an address, or renew its invitation, and mail it.

    One project mails one address once an hour; between mails a renewal still counts. Raises AlreadyMember, TooMany,
    Gone; ValidationError for an address that can't be mailed.
    """
    address, now = email.strip().lower(), clock.now()
    check_address(address)
    row = lock(project.pk, actor)
    if row.members.filter(account__email=address).exists():
        raise AlreadyMember
    found = ProjectInvitation.objects.filter(project=row, email=address).first()
    if found is None or not found.is_open:
        _check_places(row)
    mails = found is None or found.mailed_at <= now - PACE
    if mails:
        _check_pace(row, actor)
    invitation = found or ProjectInvitation(project=row, email=address)
    invitation.role, invitation.invited_by, invitation.ended_at = Role(role), actor, None
    invitation.expires_at = now + timedelta(days=settings.PROJECT_INVITATION_DAYS)
    invitation.mailed_at = now if mails else invitation.mailed_at
    invitation.save()
    if mails:
        _mail(invitation, actor)
    tell("invitation.sent", row, actor, address, after={"role": str(invitation.role)})
    return invitation


def _open() -> Q:
    return Q(ended_at=None, expires_at__gt=clock.now())


def _check_places(project: Project) -> None:
    """Count each open invitation as a member: nobody is invited to what is full. Raises TooMany."""
    invited = ProjectInvitation.objects.filter(_open(), project=project).count()
    if project.members.count() + invited >= settings.MEMBERS_PER_PROJECT:
        raise TooMany(
            f"A project has up to {settings.MEMBERS_PER_PROJECT} members, those who are invited included. "
            "Remove a member or withdraw an invitation first."
        )


def _check_pace(project: Project, actor: Account) -> None:
    """Keep the mails within bounds, of one project and of one person in all of theirs. Raises TooMany."""
    Account.objects.select_for_update(no_key=True).get(pk=actor.pk)
    lately = ProjectInvitation.objects.filter(mailed_at__gt=clock.now() - PACE)
    if lately.filter(Q(project=project) | Q(invited_by=actor)).count() >= settings.INVITATIONS_PER_HOUR:
        raise TooMany("These are many invitations within one hour. Please go on later.")


def _mail(invitation: ProjectInvitation, actor: Account) -> None:
    # The proven address alone: a name, the project's included, is free text, and would make this a way to mail
    # anything to anybody.
    context = {"inviter": actor.email, "email": invitation.email, "days": settings.PROJECT_INVITATION_DAYS}
    outbox.queue(invitation.email, "project_invitation", context)


@transaction.atomic
def withdraw(invitation: ProjectInvitation, actor: Account) -> None:
    """Take an invitation back, open or run out. Raises NoSuchInvitation when it was answered, Gone."""
    row = lock(invitation.project_id, actor)
    ended = ProjectInvitation.objects.filter(pk=invitation.pk, project=row, ended_at=None).update(ended_at=clock.now())
    if not ended:
        raise NoSuchInvitation
    tell("invitation.withdrawn", row, actor, invitation.email)


def invitations_for(account: Account) -> list[ProjectInvitation]:
    """Return the invitations that a person may answer: open ones to the address that they have proven."""
    if not account.email_verified:
        return []
    rows = ProjectInvitation.objects.filter(_open(), email=account.email, project__deleted_at=None)
    return list(rows.select_related("project", "invited_by").order_by("pk")[:MOST_SHOWN])


def invitations_of(project: Project) -> list[ProjectInvitation]:
    """Return the invitations of a project that nobody has answered, those that have run out included."""
    rows = ProjectInvitation.objects.filter(project=project, ended_at=None)
    return list(rows.select_related("invited_by").order_by("pk")[: settings.MEMBERS_PER_PROJECT])


def _answerable(pk: int, account: Account) -> tuple[Project, ProjectInvitation]:
    """Return a person's invitation and its project, locked. Raises NoSuchInvitation."""
    mine = ProjectInvitation.objects.filter(pk=pk, email=account.email)
    found = mine.first() if account.email_verified else None
    try:
        project = lock(found.project_id) if found else None
    except Gone:
        project = None
    row = mine.first()  # as it is now that nobody else decides
    if project is None or row is None:
        raise NoSuchInvitation
    return project, row


@transaction.atomic
def accept(pk: int, account: Account) -> ProjectMember:
    """Make the invited person a member. Raises NoSuchInvitation, TooMany.

    Who is a member already keeps their role; an impatient second click finds the first one's work done.
    """
    project, row = _answerable(pk, account)
    member = ProjectMember.objects.filter(project=project, account=account).first()
    if not row.is_open:
        if member is not None:
            return member
        raise NoSuchInvitation
    if member is None:
        if row.role == Role.OWNER:
            check_room(account)
        member = ProjectMember.objects.create(project=project, account=account, role=row.role)
    _end(row)
    tell("invitation.accepted", project, account, row.email, after={"role": member.role}, person=account.pk)
    return member


@transaction.atomic
def decline(pk: int, account: Account) -> None:
    """Refuse an invitation; one that is not open any more stays as it is. Raises NoSuchInvitation."""
    project, row = _answerable(pk, account)
    if row.is_open:
        _end(row)
        tell("invitation.declined", project, account, row.email, person=account.pk)


def _end(row: ProjectInvitation) -> None:
    row.ended_at = clock.now()
    row.save(update_fields=["ended_at"])


def clear() -> int:
    """Delete invitations that were answered or ran out some time ago; return how many went."""
    now = clock.now()
    old = Q(ended_at__lt=now - KEEP_ENDED) | Q(expires_at__lt=now - KEEP_EXPIRED)
    gone, _ = ProjectInvitation.objects.filter(old).delete()
    return gone
