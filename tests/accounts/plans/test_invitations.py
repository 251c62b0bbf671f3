"""Who may be invited, who may answer, and how often: the rules beneath the pages."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from accounts.deletion import deleting
from accounts.models import Account, Family, Invitation, Organization, Outbox
from accounts.plans import invitations, members
from accounts.plans.invitations import InvitationNotFound, InvitationRefused, TooManyInvitations
from accounts.plans.members import MemberNotFound
from accounts.roles import set_roles
from accounts.tasks import clear_outbox
from core.audit import Event, happened
from tests.accounts.plans.factories import family_of, make_operator, organization_of
from tests.exports import exported
from tests.factories import make_account

pytestmark = pytest.mark.django_db
Mover = Callable[[float], None]
HOUR, DAY = 3600, 24 * 3600


@pytest.fixture
def owner(db: None) -> Account:
    return make_account("grace@example.com")


@pytest.fixture
def family(owner: Account) -> Family:
    return family_of(owner)


@pytest.fixture
def events() -> Iterator[list[Event]]:
    seen: list[Event] = []

    def listen(event: Event, **kwargs: Any) -> None:
        seen.append(event)

    happened.connect(listen)
    yield seen
    happened.disconnect(listen)


def people(group: Family | Organization) -> set[str]:
    return {member.account.email for member in group.members.select_related("account")}


def test_people_can_join_an_owner_to_whom_no_mail_can_be_sent(person: Account) -> None:
    owner = make_account("anna@straße.example")  # Django accepts it, no mail server does (core/mail.py)
    row = invitations.invite(family_of(owner), person.email, owner)
    assert people(invitations.accept(row.pk, person)) == {owner.email, person.email}


def test_the_mail_names_the_inviter_and_opening_its_link_changes_nothing(family: Family, owner: Account) -> None:
    row = invitations.invite(family, "ada@example.com", owner)
    mail = Outbox.objects.get()
    assert mail.to == "ada@example.com"
    for words in ("grace@example.com", "http://localhost:8000/account/plan", "as ada@example.com", "7 days"):
        assert words in mail.body
    assert f"/{row.pk}" not in mail.body
    assert mail.body.count("http") == 1


def test_a_name_cannot_put_text_into_the_mail(owner: Account, family: Family) -> None:
    owner.given_name = "You won: https://evil.example"
    owner.save()
    invitations.invite(family, "ada@example.com", owner)
    assert "evil" not in Outbox.objects.get().body


# --- Who may answer ---


def test_an_invitation_ends_after_seven_days(family: Family, owner: Account, person: Account, later: Mover) -> None:
    row = invitations.invite(family, person.email, owner)
    later(7 * DAY + 1)
    with pytest.raises(InvitationRefused):
        invitations.accept(row.pk, person)
    invitations.invite(family, person.email, owner)
    assert invitations.accept(row.pk, person) == family


def test_accepting_twice_is_harmless(family: Family, owner: Account, person: Account, events: list[Event]) -> None:
    row = invitations.invite(family, person.email, owner)
    assert invitations.accept(row.pk, person) == invitations.accept(row.pk, person)
    assert family.members.count() == 2
    assert [event.action for event in events] == ["invitation.sent", "invitation.accepted"]


def test_an_old_invitation_restores_no_removed_member(family: Family, owner: Account, person: Account) -> None:
    row = invitations.invite(family, person.email, owner)
    invitations.accept(row.pk, person)
    members.remove_member(family.members.get(account=person), owner)
    with pytest.raises(InvitationRefused):
        invitations.accept(row.pk, person)
    assert people(family) == {owner.email}


def test_declined_and_withdrawn_is_closed_until_the_next_invitation(
    family: Family, owner: Account, person: Account, later: Mover
) -> None:
    row = invitations.invite(family, person.email, owner)
    invitations.decline(row.pk, person)
    invitations.decline(row.pk, person)
    with pytest.raises(InvitationRefused):
        invitations.accept(row.pk, person)
    later(2 * HOUR)
    assert invitations.invite(family, person.email, owner).pk == row.pk
    invitations.withdraw(family, row.pk, owner)
    with pytest.raises(InvitationRefused):
        invitations.accept(row.pk, person)
    invitations.invite(family, person.email, owner)
    assert invitations.accept(row.pk, person) == family


@pytest.mark.parametrize("end", ["expired", "declined", "withdrawn"])
def test_open_and_expired_invitations_can_be_withdrawn(
    family: Family, owner: Account, person: Account, later: Mover, end: str, events: list[Event]
) -> None:
    row = invitations.invite(family, person.email, owner)
    if end == "declined":
        invitations.decline(row.pk, person)
    elif end == "withdrawn":
        invitations.withdraw(family, row.pk, owner)
    later(8 * DAY)
    before = Invitation.objects.get()
    events.clear()
    invitations.withdraw(family, row.pk, owner)
    after = Invitation.objects.get()
    if end == "expired":
        assert after.withdrawn_at is not None
        assert [event.action for event in events] == ["invitation.withdrawn"]
    else:
        assert (after.withdrawn_at, after.declined_at) == (before.withdrawn_at, before.declined_at)
        assert not events


def test_accepted_and_foreign_invitations_cannot_be_withdrawn(family: Family, owner: Account, person: Account) -> None:
    other = family_of(make_account())
    row = invitations.invite(family, person.email, owner)
    with pytest.raises(InvitationNotFound):
        invitations.withdraw(other, row.pk, other.owner)
    invitations.accept(row.pk, person)
    with pytest.raises(InvitationRefused):
        invitations.withdraw(family, row.pk, owner)


# --- Who may be invited, and how often ---


def test_only_existing_members_get_a_different_message(family: Family, owner: Account, person: Account) -> None:
    members.add_member(family, person)
    with pytest.raises(InvitationRefused, match="is already a member"):
        invitations.invite(family, "ADA@example.com", owner)
    with pytest.raises(InvitationRefused, match="is already a member"):
        invitations.invite(family, owner.email, owner)
    make_account("known@example.com")
    for address in ("known@example.com", "unknown@example.com"):
        assert invitations.invite(family, address, owner).is_open
    known, unknown = Outbox.objects.order_by("pk")
    assert known.body.replace("known@", "unknown@") == unknown.body


def test_inviting_again_renews_without_a_second_mail_within_the_hour(
    family: Family, owner: Account, later: Mover
) -> None:
    first = invitations.invite(family, "ada@example.com", owner)
    later(HOUR / 2)
    second = invitations.invite(family, "ADA@example.com", owner)
    assert (second.pk, Outbox.objects.count()) == (first.pk, 1)
    assert second.expires_at > first.expires_at
    later(HOUR)
    invitations.invite(family, "ada@example.com", owner)
    assert Outbox.objects.count() == 2
    assert Invitation.objects.count() == 1


def test_withdrawing_and_inviting_again_mails_nobody_twice(family: Family, owner: Account) -> None:
    for _ in range(3):
        row = invitations.invite(family, "ada@example.com", owner)
        invitations.withdraw(family, row.pk, owner)
    assert Outbox.objects.count() == 1


def test_invitations_count_as_people(family: Family, owner: Account, settings: Any, later: Mover) -> None:
    settings.FAMILY_MEMBERS = 3
    invitations.invite(family, "1@example.com", owner)
    row = invitations.invite(family, "2@example.com", owner)
    with pytest.raises(InvitationRefused, match="up to 3 people"):
        invitations.invite(family, "3@example.com", owner)
    invitations.invite(family, "2@example.com", owner)  # renewing takes no further place
    invitations.withdraw(family, row.pk, owner)
    invitations.invite(family, "3@example.com", owner)
    later(8 * DAY)
    invitations.invite(family, "4@example.com", owner)  # the others have expired


def test_a_full_family_accepts_nobody(family: Family, owner: Account, person: Account, settings: Any) -> None:
    row = invitations.invite(family, person.email, owner)
    settings.FAMILY_MEMBERS = 2
    other = make_account()
    members.add_member(family, other)
    with pytest.raises(InvitationRefused, match="full"):
        invitations.accept(row.pk, person)
    assert family.members.count() == 2
    members.leave_group(family, other)
    assert invitations.accept(row.pk, person) == family


def test_invitation_mails_are_limited_to_twenty_per_hour(
    family: Family, owner: Account, settings: Any, later: Mover
) -> None:
    for number in range(20):
        row = invitations.invite(family, f"{number}@example.com", owner)
        invitations.withdraw(family, row.pk, owner)
    with pytest.raises(TooManyInvitations):
        invitations.invite(family, "one-more@example.com", owner)
    later(HOUR + 1)
    invitations.invite(family, "one-more@example.com", owner)


def test_operators_may_invite_many() -> None:
    acme, operator = organization_of(), make_operator()
    for number in range(30):
        invitations.invite(acme, f"{number}@example.com", operator)
    assert Outbox.objects.count() == 30


# --- Going ---


def test_the_owner_removes_members_and_stays(family: Family, owner: Account, person: Account) -> None:
    members.add_member(family, person)
    with pytest.raises(MemberNotFound):
        members.remove_member(family.members.get(account=person), person)
    with pytest.raises(MemberNotFound):
        members.remove_member(family.members.get(account=owner), owner)
    with pytest.raises(MemberNotFound):
        members.leave_group(family, owner)
    members.remove_member(family.members.get(account=person), owner)
    assert people(family) == {owner.email}


def test_everything_is_reported_without_addresses(
    family: Family, owner: Account, person: Account, events: list[Event]
) -> None:
    row = invitations.invite(family, person.email, owner)
    invitations.withdraw(family, row.pk, owner)
    invitations.invite(family, person.email, owner)
    invitations.decline(row.pk, person)
    invitations.invite(family, person.email, owner)
    invitations.accept(row.pk, person)
    members.leave_group(family, person)
    members.add_member(family, person)
    members.remove_member(family.members.get(account=person), owner)
    assert [(event.action, event.actor) for event in events] == [
        ("invitation.sent", owner.pk),
        ("invitation.withdrawn", owner.pk),
        ("invitation.sent", owner.pk),
        ("invitation.declined", person.pk),
        ("invitation.sent", owner.pk),
        ("invitation.accepted", person.pk),
        ("member.left", person.pk),
        ("member.removed", owner.pk),
    ]
    assert {event.target for event in events} == {f"family:{family.pk}"}
    assert "@" not in str(events)


def test_old_invitations_are_forgotten(family: Family, owner: Account, later: Mover) -> None:
    invitations.invite(family, "ada@example.com", owner)
    later(36 * DAY)
    clear_outbox()
    assert Invitation.objects.exists()
    later(2 * DAY)
    clear_outbox()
    assert not Invitation.objects.exists()


def test_an_invitation_ends_with_its_operator_and_goes_with_its_family(owner: Account, family: Family) -> None:
    operator = make_operator()
    invitations.invite(organization_of(), "ada@example.com", operator)
    invitations.invite(family, "ada@example.com", owner)
    operator.delete()
    owner.delete()
    row = Invitation.objects.get()
    assert row.invited_by is None
    assert not row.is_open


def _demote(account: Account) -> None:
    set_roles(account, ["reviewer"])


def _close(account: Account) -> None:
    account.is_active = False
    account.save()


ENDS: list[tuple[Callable[[Account], Any], str]] = [
    (_demote, "inviter_lost_right"),
    (_close, "inviter_lost_right"),
    (lambda account: account.delete(), "inviter_left"),
]


@pytest.mark.parametrize(("end", "why"), ENDS, ids=["demoted", "deactivated", "deleted"])
def test_a_seat_that_an_operator_offered_ends_with_the_role(
    end: Callable[[Account], Any], why: str, person: Account, events: list[Event]
) -> None:
    operator = make_operator()
    row = invitations.invite(organization_of(), person.email, operator)
    end(operator)
    with pytest.raises(InvitationRefused, match="no longer open"):
        invitations.accept(row.pk, person)
    assert not person.organization_memberships.exists()
    (event,) = [event for event in events if event.action == "invitation.ended"]
    assert (event.details["invitation"], event.details["why"]) == (row.pk, why)


def test_a_closed_owners_invitation_is_not_accepted_and_stays_ended(
    family: Family, owner: Account, person: Account
) -> None:
    row = invitations.invite(family, person.email, owner)
    _close(owner)
    owner.is_active = True
    owner.save()
    with pytest.raises(InvitationRefused, match="no longer open"):
        invitations.accept(row.pk, person)


def test_the_right_to_invite_is_checked_again_on_acceptance(person: Account) -> None:
    """Whatever took the role, and whether it said so."""
    operator = make_operator()
    row = invitations.invite(organization_of(), person.email, operator)
    operator.groups.clear()
    with pytest.raises(InvitationRefused, match="no longer open"):
        invitations.accept(row.pk, person)


def test_only_the_owner_can_invite(family: Family) -> None:
    for group in (family, organization_of()):
        with pytest.raises(InvitationRefused, match="no longer invite"):
            invitations.invite(group, "x@example.com", make_account())


# --- What is theirs ---


def test_the_export_holds_what_was_sent_and_received(
    family: Family, owner: Account, person: Account, later: Mover
) -> None:
    row = invitations.invite(family, person.email, owner)
    invitations.invite(organization_of(name="Acme"), person.email, make_operator("op@example.com"))
    invitations.accept(row.pk, person)
    received = exported(person)
    to_family, to_acme = received["plan"]["invitations_received"]
    assert (to_family["family_of"], to_family["organization"]) == ("grace@example.com", None)
    assert to_family["accepted_at"] is not None
    assert (to_acme["organization"], to_acme["accepted_at"]) == ("Acme", None)
    assert [mail["subject"] for mail in received["mails"]] == [
        "[Openport] An invitation to a family",
        "[Openport] An invitation to Acme",
    ]
    assert "op@example.com" not in json.dumps(received)
    sent = exported(owner)["plan"]["invitations_sent"]
    assert [invitation["email"] for invitation in sent] == ["ada@example.com"]


def test_an_export_holds_nothing_that_came_to_an_unproven_address(family: Family, owner: Account) -> None:
    invitations.invite(family, "ada@example.com", owner)
    export = exported(make_account("ada@example.com", verified=False))
    assert export["plan"]["invitations_received"] == export["mails"] == []


def test_a_deleted_inviter_is_forgotten_and_the_open_invitation_stays(
    family: Family, owner: Account, person: Account
) -> None:
    other = family_of(make_account())
    invitations.accept(invitations.invite(family, person.email, owner).pk, person)
    invitations.invite(other, person.email, other.owner)
    sent, to_owner, _ = Outbox.objects.order_by("pk")
    sent.note_sent()
    deleting.delete_account(person)
    assert Invitation.objects.get().family == other
    assert Outbox.objects.get() == to_owner
    assert person.email not in Outbox.objects.get().body
