"""Who shares a plan: the members of families and organizations."""

from collections.abc import Iterable
from datetime import timedelta

from django.conf import settings
from django.db import transaction

from accounts.models import Account, Family, FamilyMember, Invitation, Organization, OrganizationMember
from devportal.lib import clock
from devportal.lib.audit import Event, report

Group = Family | Organization


class MemberNotFound(Exception):
    """There is no such member, or none who may go this way."""


@transaction.atomic
def get_or_create_family(owner: Account) -> Family:
    """Return the family of `owner`, making it at the first call; its owner is a member."""
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
    """Let exactly these people be members; the owner of a family stays one in any case."""
    wanted = {account.pk: account for account in accounts}
    if isinstance(group, Family):
        wanted[group.owner.pk] = group.owner
    group.members.exclude(account__in=wanted).delete()
    for account in wanted.values():
        add_member(group, account)


def audit_target(group: Group) -> str:
    """Return how the audit calls a group: by a key, which stays when an address or a name changes."""
    return f"{'family' if isinstance(group, Family) else 'organization'}:{group.pk}"


@transaction.atomic
def remove_member(member: FamilyMember, by: Account) -> None:
    """Let the owner of a family put a member out of it: the plan is lost to them at once. Raises MemberNotFound."""
    if member.account_id == member.family.owner_id or by.pk != member.family.owner_id:
        raise MemberNotFound
    member.delete()
    report(Event("member.removed", by.pk, target=audit_target(member.family), details={"account": member.account_id}))


@transaction.atomic
def leave_group(group: Group, account: Account) -> None:
    """Let a member go; its plan is lost to them at once. Raises MemberNotFound, the owner of a family included."""
    owns = isinstance(group, Family) and group.owner_id == account.pk
    gone, _ = (0, {}) if owns else group.members.filter(account=account).delete()
    if not gone:
        raise MemberNotFound
    report(Event("member.left", account.pk, target=audit_target(group)))


def clear_expired_invitations() -> int:
    """Delete invitations that nobody can accept any more, OUTBOX_DAYS after their time; return how many went."""
    old = clock.now() - timedelta(days=settings.OUTBOX_DAYS)
    return Invitation.objects.filter(expires_at__lt=old).delete()[0]
