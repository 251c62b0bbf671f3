"""Invitations to families and organizations, and the rules that all invitations share."""

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Protocol, TypeVar

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet

from accounts.mail import outbox, recipient_limit
from accounts.mail.recipient_limit import RecipientLimitReached
from accounts.models import Account, Family, Invitation
from accounts.plans import members
from accounts.plans.members import Group, report_group_event
from accounts.roles import is_operator
from core import clock
from core.email_addresses import stored_address

MAIL_INTERVAL = timedelta(hours=1)

AnyInvitation = TypeVar("AnyInvitation", bound=Any)


class InvitationNotFound(Exception):
    """The invitation does not exist (any more), or is for another email address."""


class InvitationRefused(Exception):
    """The request is refused; the argument is the message for the person."""


class TooManyInvitations(InvitationRefused):
    """Too many invitations within an hour."""


class InvitationRow(Protocol):
    """The fields of an invitation that the rules use."""

    mailed_at: datetime

    @property
    def is_open(self) -> bool: ...


def check_places(row: InvitationRow | None, taken: int, most: int, full: str) -> None:
    """Raise InvitationRefused, with the message `full`, if a group has no place for another invitation.

    `row` is the existing invitation for the email address; while it is open, it occupies a place. `taken` counts the
    members and the open invitations.
    """
    if (row is None or not row.is_open) and taken >= most:
        raise InvitationRefused(f"{full} Remove a member or withdraw an invitation first.")


def needs_mail(row: InvitationRow | None) -> bool:
    """Return whether inviting this email address, or renewing `row`, sends an email."""
    return row is None or row.mailed_at <= clock.now() - MAIL_INTERVAL


def check_mail_rate(invitations: "QuerySet[Any]") -> None:
    """Raise TooManyInvitations if INVITATIONS_PER_HOUR of these invitations were mailed within the last hour."""
    if invitations.filter(mailed_at__gt=clock.now() - MAIL_INTERVAL).count() >= settings.INVITATIONS_PER_HOUR:
        raise TooManyInvitations("You have sent too many invitations in one hour. Please try again later.")


def count_mail(address: str) -> None:
    """Count an email to a mailbox among the emails that strangers can trigger. Raises InvitationRefused."""
    try:
        recipient_limit.count_mail(address)
    except RecipientLimitReached as reached:
        raise InvitationRefused(str(reached)) from reached


def lock_answerable(
    invitations: "QuerySet[AnyInvitation]", pk: int, account: Account, lock_group: Callable[[AnyInvitation], object]
) -> AnyInvitation:
    """Return a person's invitation after `lock_group` has locked its group. Raises InvitationNotFound."""
    mine = invitations.filter(pk=pk, email=account.email)
    row = mine.first() if account.email_verified else None
    if row is not None:
        lock_group(row)
        row = mine.first()  # read again under the lock
    if row is None:
        raise InvitationNotFound
    return row


# The email says who invites and where to answer, and opening it changes nothing. People who sign in with the invited
# email address, once that is verified, see the invitation on the plan page and answer there.
#
# The functions above are shared with invitations to projects. Every change locks the group first, so that concurrent
# invitations and answers see each other's results.
#
# An invitation ends when its sender loses the right to send it: operators when they lose the role, everyone when they
# are deactivated or deleted. The right is checked again when the invitation is accepted.


class Ending(StrEnum):
    """Why an open invitation ended; for the audit trail."""

    INVITER_LOST_RIGHT = "inviter_lost_right"
    INVITER_LEFT = "inviter_left"  # their account is being deleted


def _lock(group: Group) -> None:
    """Lock the group's row. Raises InvitationNotFound if the group was deleted."""
    rows = type(group)._default_manager.select_for_update(no_key=True).filter(pk=group.pk)
    if not rows.values_list("pk"):
        raise InvitationNotFound


def _may_invite(group: Group, inviter: int | None) -> bool:
    """Return whether the account may invite to the group now: a family's owner, or an operator to an organization."""
    account = Account.objects.filter(pk=inviter, is_active=True).first() if inviter else None
    if account is None:
        return False
    return group.owner_id == account.pk if isinstance(group, Family) else is_operator(account)


def _to(group: Group) -> dict[str, Group]:
    return {"family": group} if isinstance(group, Family) else {"organization": group}


@transaction.atomic
def invite(group: Group, email: str, by: Account) -> Invitation:
    """Invite an email address, or open its invitation again, and mail it. Raises InvitationRefused.

    The result does not reveal whether there is an account. A group mails an email address at most once an hour.
    """
    if not by.email_verified:
        raise InvitationRefused("Confirm your own email address first, because the email shows it.")
    address = _mailable(email)
    _lock(group)
    if not _may_invite(group, by.pk):
        raise InvitationRefused("You can no longer invite people here.")
    if group.members.filter(account__email=address).exists():
        raise InvitationRefused(f"{address} is already a member.")
    now = clock.now()
    row = Invitation.objects.filter(**_to(group), email=address).first()
    mails = needs_mail(row)
    if isinstance(group, Family):
        taken = group.members.count() + group.invitations.open().count()
        full = f"A family has up to {settings.FAMILY_MEMBERS} people, including invited people."
        check_places(row, taken, settings.FAMILY_MEMBERS, full)
        if mails:
            check_mail_rate(group.invitations.all())
    if mails:
        count_mail(address)
    row = row or Invitation(**_to(group), email=address, created_at=now)
    row.accepted_at = row.declined_at = row.withdrawn_at = None
    row.invited_by = by
    row.expires_at = now + timedelta(days=settings.INVITATION_DAYS)
    row.mailed_at = now if mails else row.mailed_at
    row.save()
    if mails:
        _mail(row, group, by)
    report_group_event("invitation.sent", group, by, invitation=row.pk)
    return row


def _mailable(email: str) -> str:
    """Return the email address as in accounts. Raises InvitationRefused if mail can't be sent to it."""
    try:
        return stored_address(email)
    except ValidationError as error:
        raise InvitationRefused(" ".join(error.messages)) from error


def _mail(row: Invitation, group: Group, by: Account) -> None:
    context = {"days": settings.INVITATION_DAYS, "expires_at": row.expires_at, "email": row.email}
    if isinstance(group, Family):
        # Only the verified email address: a name is free text, and would allow sending any text to anyone.
        outbox.queue_mail(row.email, "family_invitation", context | {"inviter": by.email})
    else:
        outbox.queue_mail(row.email, "organization_invitation", context | {"organization": group.name})


def _answerable(pk: int, account: Account) -> Invitation:
    """Return the person's invitation with its group locked. Raises InvitationNotFound."""
    rows = Invitation.objects.select_related("family", "organization")
    return lock_answerable(rows, pk, account, lambda row: _lock(row.group))


def _is_member(group: Group, account: Account) -> bool:
    return group.members.filter(account=account).exists()


@transaction.atomic
def accept(pk: int, account: Account) -> Group:
    """Make the person a member of the group that invites them, and return it.

    Idempotent: accepting twice (a double click) makes one membership.
    """
    row = _answerable(pk, account)
    group = row.group
    if row.accepted_at is not None and _is_member(group, account):
        return group
    if not row.is_open or not _may_invite(group, row.invited_by_id):
        raise InvitationRefused("This invitation is no longer open. Ask for a new one.")
    joins = not _is_member(group, account)
    if joins and isinstance(group, Family) and group.members.count() >= settings.FAMILY_MEMBERS:
        raise InvitationRefused(
            f"That family is full: it has {settings.FAMILY_MEMBERS} people. Ask its owner to free a place."
        )
    row.accepted_at = clock.now()
    row.save(update_fields=["accepted_at"])
    members.add_member(group, account)
    if joins and isinstance(group, Family):
        with suppress(ValidationError):  # no mail server accepts this email address
            outbox.queue_mail(group.owner.email, "family_joined", {"email": account.email})
    report_group_event("invitation.accepted", group, account, invitation=row.pk)
    return group


@transaction.atomic
def decline(pk: int, account: Account) -> None:
    """Decline an invitation; one that is no longer open stays as it is. Raises InvitationNotFound."""
    row = _answerable(pk, account)
    if row.is_open:
        row.declined_at = clock.now()
        row.save(update_fields=["declined_at"])
        report_group_event("invitation.declined", row.group, account, invitation=row.pk)


@transaction.atomic
def withdraw(group: Group, pk: int, by: Account) -> Invitation:
    """Withdraw an invitation that was not answered, open or expired; one that has ended stays as it is.

    Raises InvitationNotFound; InvitationRefused if it has been accepted.
    """
    _lock(group)
    row = Invitation.objects.filter(**_to(group), pk=pk).first()
    if row is None:
        raise InvitationNotFound
    if row.accepted_at is not None:
        raise InvitationRefused(f"{row.email} has already accepted.")
    if row.declined_at is None and row.withdrawn_at is None:
        row.withdrawn_at = clock.now()
        row.save(update_fields=["withdrawn_at"])
        report_group_event("invitation.withdrawn", group, by, invitation=row.pk)
    return row


@transaction.atomic
def end_of(inviter: Account, *, is_going: bool = False) -> None:
    """End the open invitations of a person who may no longer invite, or whose account is about to be deleted.

    The groups are not locked: an acceptance at this moment either came first, or finds the invitation ended.
    """
    sent = Invitation.objects.open().filter(invited_by=inviter).select_related("family", "organization")
    for row in sent.order_by("pk"):
        if not is_going and _may_invite(row.group, inviter.pk):
            continue
        if Invitation.objects.open().filter(pk=row.pk).update(withdrawn_at=clock.now()):
            why = Ending.INVITER_LEFT if is_going else Ending.INVITER_LOST_RIGHT
            report_group_event("invitation.ended", row.group, None, invitation=row.pk, why=why.value)
