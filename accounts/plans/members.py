"""Who shares a plan: members of families and organizations, and invitations to them."""

from collections.abc import Iterable
from datetime import timedelta

from django.db import transaction

from accounts.models import Account, Family, FamilyMember, Invitation, Organization, OrganizationMember
from devportal.lib import clock
from devportal.lib.audit import Event, report
from devportal.lib.credentials import digest, random_text

INVITATION_LIFETIME = timedelta(days=7)
TOKEN_LENGTH = 43

Group = Family | Organization


class BadInvitation(Exception):
    """The invitation is unknown, used, expired, or somebody else's."""


@transaction.atomic
def make_family(owner: Account) -> Family:
    """Return the family of `owner`, making it at the first call; its owner is a member."""
    family, _ = Family.objects.get_or_create(owner=owner)
    add(family, owner)
    return family


def add(group: Group, account: Account) -> None:
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
        add(group, account)


def invite(group: Group, email: str) -> tuple[Invitation, str]:
    """Return an invitation of `email` and its raw token, which is kept as a hash alone."""
    raw = random_text(TOKEN_LENGTH)
    row = Invitation.objects.create(
        family=group if isinstance(group, Family) else None,
        organization=group if isinstance(group, Organization) else None,
        email=email.strip().lower(),
        digest=digest(raw),
        expires_at=clock.now() + INVITATION_LIFETIME,
    )
    return row, raw


@transaction.atomic
def accept(raw: str, account: Account) -> Group:
    """Make the person with this token a member and return the group. Raises BadInvitation.

    It works once, and only for the address that was invited, once that is proven.
    """
    row = Invitation.objects.select_for_update().filter(digest=digest(raw)).first()
    if row is None or not row.is_open or row.email != account.email or not account.email_verified:
        raise BadInvitation
    group = row.family or row.organization
    assert group is not None
    row.accepted_at = clock.now()
    row.save(update_fields=["accepted_at"])
    add(group, account)
    report(Event("invitation.accepted", account.pk, target=str(group)))
    return group
