"""Invitations answered, sent and withdrawn at once, on PostgreSQL with separate connections."""

from typing import Any

import pytest

from accounts.deletion import deleting
from accounts.models import Account, Family, FamilyMember, Invitation, Outbox
from accounts.plans import invitations, members
from accounts.plans.invitations import InvitationNotFound, InvitationRefused
from core.audit import Event, happened
from tests.accounts.plans.factories import family_of
from tests.at_once import at_once
from tests.factories import make_account

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def owner() -> Account:
    return make_account("grace@example.com")


@pytest.fixture
def family(owner: Account) -> Family:
    return family_of(owner)


def outcome(act: Any) -> str:
    try:
        act()
    except InvitationRefused:
        return "refused"
    except InvitationNotFound:
        return "gone"
    return "done"


def test_accepting_at_once_does_not_exceed_the_limit(family: Family, owner: Account, settings: Any) -> None:
    settings.FAMILY_MEMBERS = 20
    people = [make_account() for _ in range(8)]
    rows = [invitations.invite(family, person.email, owner) for person in people]
    settings.FAMILY_MEMBERS = 3
    outcomes = at_once(8, lambda number: outcome(lambda: invitations.accept(rows[number].pk, people[number])))
    assert sorted(outcomes) == ["done"] * 2 + ["refused"] * 6
    assert family.members.count() == 3
    assert Invitation.objects.exclude(accepted_at=None).count() == 2


def test_an_invitation_that_is_accepted_many_times_at_once_is_accepted_once(family: Family, owner: Account) -> None:
    person = make_account()
    row = invitations.invite(family, person.email, owner)
    events: list[str] = []

    def listen(event: Event, **kwargs: Any) -> None:
        events.append(event.action)

    happened.connect(listen)
    assert at_once(8, lambda number: outcome(lambda: invitations.accept(row.pk, person))) == ["done"] * 8
    happened.disconnect(listen)
    assert events == ["invitation.accepted"]
    assert family.members.count() == 2


def test_one_address_invited_many_times_at_once_gets_one_invitation_and_one_mail(
    family: Family, owner: Account
) -> None:
    at_once(8, lambda number: outcome(lambda: invitations.invite(family, "x@example.com", owner)))
    assert Invitation.objects.count() == Outbox.objects.count() == 1


def test_concurrent_invitations_do_not_exceed_the_free_places(family: Family, owner: Account) -> None:
    outcomes = at_once(10, lambda number: outcome(lambda: invitations.invite(family, f"{number}@example.com", owner)))
    assert outcomes.count("done") == 5
    assert Invitation.objects.count() == Outbox.objects.count() == 5


def test_accepted_or_withdrawn_and_never_both() -> None:
    for _ in range(10):
        owner, person = make_account(), make_account()
        family = family_of(owner)
        row = invitations.invite(family, person.email, owner)

        def answer(
            number: int,
            row: Invitation = row,
            family: Family = family,
            person: Account = person,
            owner: Account = owner,
        ) -> str:
            if number % 2:
                return outcome(lambda: invitations.accept(row.pk, person))
            return outcome(lambda: invitations.withdraw(family, row.pk, owner))

        at_once(4, answer)
        row.refresh_from_db()
        assert (row.accepted_at is None) != (row.withdrawn_at is None)
        assert family.members.filter(account=person).exists() == (row.accepted_at is not None)


def test_a_family_deleted_during_joins_has_no_members() -> None:
    for _ in range(5):
        owner = make_account()
        family = family_of(owner)
        people = [make_account() for _ in range(3)]
        rows = [invitations.invite(family, person.email, owner) for person in people]

        def act(
            number: int, owner: Account = owner, rows: list[Invitation] = rows, people: list[Account] = people
        ) -> str:
            if number == 3:
                return outcome(lambda: deleting.delete_account(Account.objects.get(pk=owner.pk)))
            return outcome(lambda: invitations.accept(rows[number].pk, people[number]))

        outcomes = at_once(4, act)
        assert outcomes[3] == "done"
        assert set(outcomes) <= {"done", "gone"}
        assert not Family.objects.filter(pk=family.pk).exists()
        assert not FamilyMember.objects.exists()


def test_leaving_and_being_removed_at_once_happens_once(family: Family, owner: Account) -> None:
    person = make_account()
    members.add_member(family, person)
    member = family.members.get(account=person)

    def act(number: int) -> str:
        try:
            if number % 2:
                members.leave_group(family, person)
            else:
                members.remove_member(FamilyMember.objects.select_related("family").get(pk=member.pk), owner)
        except (members.MemberNotFound, FamilyMember.DoesNotExist):
            return "nobody"
        return "done"

    assert "done" in at_once(4, act)
    assert family.members.count() == 1
