"""The rules that all invitations share, to families and organizations (accounts/plans) and to projects (oidc/projects).

Each kind has its table, its texts and its audit events. The rules: one group mails one address once an hour, and
INVITATIONS_PER_HOUR addresses in all; an open invitation holds a place; it is answered by whoever has proven its
address, and by nobody else. Call these functions with the group's row locked.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, Protocol, TypeVar

from django.conf import settings
from django.db.models import QuerySet

from accounts.mail import recipient_limit
from accounts.mail.recipient_limit import RecipientLimitReached
from accounts.models import Account
from devportal.lib import clock

MAIL_INTERVAL = timedelta(hours=1)

AnyInvitation = TypeVar("AnyInvitation", bound=Any)


class InvitationNotFound(Exception):
    """There is no such invitation (any more), or it is for another address."""


class InvitationRefused(Exception):
    """The request is refused; the argument is the message for the person."""


class TooManyInvitations(InvitationRefused):
    """Too many invitations within an hour."""


class InvitationRow(Protocol):
    """What the rules read of an invitation."""

    mailed_at: datetime

    @property
    def is_open(self) -> bool: ...


def check_places(row: InvitationRow | None, taken: int, most: int, full: str) -> None:
    """Raise InvitationRefused, with the message `full`, if a group has no place for one more invitation.

    `row` is the invitation that the address has already; while it is open, it holds a place. `taken` counts the members
    and the open invitations.
    """
    if (row is None or not row.is_open) and taken >= most:
        raise InvitationRefused(f"{full} Remove a member or withdraw an invitation first.")


def needs_mail(row: InvitationRow | None) -> bool:
    """Return whether inviting this address, or renewing `row`, sends a mail."""
    return row is None or row.mailed_at <= clock.now() - MAIL_INTERVAL


def check_mail_rate(invitations: "QuerySet[Any]") -> None:
    """Raise TooManyInvitations if INVITATIONS_PER_HOUR of these invitations were mailed within the last hour."""
    if invitations.filter(mailed_at__gt=clock.now() - MAIL_INTERVAL).count() >= settings.INVITATIONS_PER_HOUR:
        raise TooManyInvitations("You have sent too many invitations in one hour. Please try again later.")


def count_mail(address: str) -> None:
    """Count a mail to a mailbox among those that strangers can trigger. Raises InvitationRefused."""
    try:
        recipient_limit.count_mail(address)
    except RecipientLimitReached as reached:
        raise InvitationRefused(str(reached)) from reached


def lock_answerable(
    invitations: "QuerySet[AnyInvitation]", pk: int, account: Account, lock_group: Callable[[AnyInvitation], object]
) -> AnyInvitation:
    """Return a person's invitation as it is once `lock_group` has locked its group. Raises InvitationNotFound."""
    mine = invitations.filter(pk=pk, email=account.email)
    row = mine.first() if account.email_verified else None
    if row is not None:
        lock_group(row)
        row = mine.first()  # as it is now that nobody else decides
    if row is None:
        raise InvitationNotFound
    return row
