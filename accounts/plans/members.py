"""Members of families and organizations: adding, removing, leaving."""

from collections.abc import Iterable
from datetime import timedelta

from django.conf import settings
from django.db import transaction

from accounts.models import Account, Family, FamilyMember, Invitation, Organization, OrganizationMember
from accounts.plans.audit import report_group_event
from devportal.lib import clock

Group = Family | Organization


class MemberNotFound(Exception):
    """There is no such member, or they can't be removed this way (the owner of a family)."""


@transaction.atomic
def get_or_create_family(owner: Account) -> Family:
    """Return the family of `owner`, creating it with the owner as a member if there is none."""
    family, _ = Family.objects.get_or_create(owner=owner)
    add_member(family, owner)
    return family


def add_member(group: Group, account: Account) -> None:
    """Make `account` a member; one who is a member already stays one."""
    if isinstance(group, Family):
        FamilyMember.objects.get_or_create(family=group, account=account)
    else:
        OrganizationMember.objects.get_or_create(organization=group, account=account)


@transaction.atomic
def set_members(group: Group, accounts: Iterable[Account]) -> None:
    """Replace the members by these people; the owner of a family always stays a member."""
    wanted = {account.pk: account for account in accounts}
    if isinstance(group, Family):
        wanted[group.owner.pk] = group.owner
    group.members.exclude(account__in=wanted).delete()
    for account in wanted.values():
        add_member(group, account)


@transaction.atomic
def remove_member(member: FamilyMember, by: Account) -> None:
    """Remove a member from a family; they lose its plan at once. Raises MemberNotFound."""
    if member.account_id == member.family.owner_id or by.pk != member.family.owner_id:
        raise MemberNotFound
    member.delete()
    report_group_event("member.removed", member.family, by, account=member.account_id)


@transaction.atomic
def leave_group(group: Group, account: Account) -> None:
    """Leave a family or an organization; its plan is lost at once.

    Raises MemberNotFound, also for the owner of a family.
    """
    owns = isinstance(group, Family) and group.owner_id == account.pk
    gone, _ = (0, {}) if owns else group.members.filter(account=account).delete()
    if not gone:
        raise MemberNotFound
    report_group_event("member.left", group, account)


def clear_expired_invitations() -> int:
    """Delete invitations that ended more than OUTBOX_DAYS ago; return how many were deleted."""
    old = clock.now() - timedelta(days=settings.OUTBOX_DAYS)
    return Invitation.objects.filter(expires_at__lt=old).delete()[0]
