"""Families, organizations and invitations of a person, as their plan page shows them."""

from dataclasses import dataclass

from django.conf import settings

from accounts.models import Account, Family, FamilyMember, Invitation, OrganizationMember

# The page has no paging: more invitations appear as these are answered.
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
    """Return what the plan page shows of groups; None with PLAN_SOURCE_URL, since plans are kept elsewhere then."""
    if settings.PLAN_SOURCE_URL:
        return None
    families = list(account.family_memberships.select_related("family__owner").order_by("pk")[:MOST_GROUPS])
    own = next((member.family for member in families if member.family.owner_id == account.pk), None)
    return Sharing(
        invitations=_to_answer(account),
        own_family=_own(own) if own else None,
        families=[member for member in families if member.family.owner_id != account.pk],
        organizations=list(account.organization_memberships.select_related("organization")[:MOST_GROUPS]),
    )


def _to_answer(account: Account) -> list[Invitation]:
    """Return the invitations that the person may answer, the newest first."""
    if not account.email_verified:
        return []
    mine = Invitation.objects.open().filter(email=account.email).select_related("family__owner", "organization")
    return list(mine.order_by("-pk")[:MOST_INVITATIONS])


def _own(family: Family) -> OwnedFamily:
    members = family.members.select_related("account").order_by("pk")
    # The owner comes first, whoever joined before.
    ordered = sorted(members, key=lambda member: member.account_id != family.owner_id)
    return OwnedFamily(ordered, list(family.invitations.open().order_by("pk")), settings.FAMILY_MEMBERS)
