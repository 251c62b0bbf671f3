"""Families and organizations: adding and removing members, audit events, and the lists of the plan page."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import transaction

from accounts.models import Account, Family, FamilyMember, Invitation, Organization, OrganizationMember
from core import clock
from core.audit import Event, report


def report_group_event(action: str, group: Family | Organization, actor: Account | None, **details: Any) -> None:
    """Report an audit event of a group, identified by its key, which stays when an email address or name changes."""
    target = f"{'family' if isinstance(group, Family) else 'organization'}:{group.pk}"
    report(Event(action, actor.pk if actor else None, target=target, details=details))


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
    """Make `account` a member, unless it already is one."""
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
    """Remove a member from a family; they lose its plan immediately. Raises MemberNotFound."""
    if member.account_id == member.family.owner_id or by.pk != member.family.owner_id:
        raise MemberNotFound
    member.delete()
    report_group_event("member.removed", member.family, by, account=member.account_id)


@transaction.atomic
def leave_group(group: Group, account: Account) -> None:
    """Leave a family or an organization; the person loses its plan immediately.

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


# The page is not paged: more invitations appear when these are answered.
MOST_INVITATIONS = 20
MOST_GROUPS = 50


@dataclass(frozen=True)
class OwnedFamily:
    """The person's own family: members, open invitations, and how many places are left."""

    members: list[FamilyMember]
    invited: list[Invitation]
    places: int

    @property
    def taken(self) -> int:
        return len(self.members) + len(self.invited)

    @property
    def is_full(self) -> bool:
        return self.taken >= self.places


@dataclass(frozen=True)
class Sharing:
    """Invitations to the person, their own family, and the groups of others that they belong to."""

    invitations: list[Invitation]
    own_family: OwnedFamily | None
    families: list[FamilyMember]
    organizations: list[OrganizationMember]


def sharing(account: Account) -> Sharing | None:
    """Return the groups that the plan page shows; None with PLAN_SOURCE_URL, because plans are stored elsewhere."""
    if settings.PLAN_SOURCE_URL:
        return None
    families = list(account.family_memberships.select_related("family__owner").order_by("pk")[:MOST_GROUPS])
    own = next((member.family for member in families if member.family.owner_id == account.pk), None)
    return Sharing(
        invitations=invitations_to(account),
        own_family=_own(own) if own else None,
        families=[member for member in families if member.family.owner_id != account.pk],
        organizations=list(account.organization_memberships.select_related("organization")[:MOST_GROUPS]),
    )


def invitations_to(account: Account) -> list[Invitation]:
    """Return the invitations that the person may answer, the newest first."""
    if not account.email_verified or settings.PLAN_SOURCE_URL:
        return []
    mine = Invitation.objects.open().filter(email=account.email).select_related("family__owner", "organization")
    return list(mine.order_by("-pk")[:MOST_INVITATIONS])


def _own(family: Family) -> OwnedFamily:
    members = family.members.select_related("account").order_by("pk")
    # The owner comes first, whatever the order of joining.
    ordered = sorted(members, key=lambda member: member.account_id != family.owner_id)
    return OwnedFamily(ordered, list(family.invitations.open().order_by("pk")), settings.FAMILY_MEMBERS)
