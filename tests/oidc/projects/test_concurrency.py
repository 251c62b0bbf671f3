"""Projects and their members changed by many at once, on PostgreSQL with separate connections."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import transaction
from django.test import RequestFactory

from accounts.deletion import deleting
from accounts.models import Account, Outbox
from accounts.recovery import closing
from api.models import ApiKey
from core import clock
from devportal.console.models import AuditEvent
from oidc.clients.secrets import create_secret
from oidc.models import Client, ClientSecret, Project, ProjectInvitation, ProjectMember, TokenFamily
from oidc.projects import invitations, lifecycle, members
from oidc.projects.roles import lock_project
from tests.at_once import meanwhile, together
from tests.factories import make_account, make_key, make_project
from tests.oidc.tokens.test_concurrency import party
from tests.relying_party import RelyingParty

__all__ = ["party"]

Role = ProjectMember.Role

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]
often = pytest.mark.parametrize("attempt", range(3))


@pytest.fixture
def owner() -> Account:
    return make_account("olga@example.com")


@pytest.fixture
def second() -> Account:
    return make_account("sven@example.com")


@pytest.fixture
def project(owner: Account, second: Account) -> Project:
    project = make_project(owner)
    ProjectMember.objects.create(project=project, account=second, role=Role.OWNER)
    return project


def member(account: Account) -> ProjectMember:
    return ProjectMember.objects.get(account=account)


Act = Callable[[Account, ProjectMember, Account, ProjectMember], object]


# What two owners do at once: their actions, each with the actor and the other owner, and how the actions may end.
PAIRS: dict[str, tuple[Act, Act, list[list[str]]]] = {
    "demote each other": (
        lambda owner, seat, other, others: members.change_role(others, "viewer", owner),
        lambda owner, seat, other, others: members.change_role(seat, "viewer", other),
        [["InsufficientRole", "done"]],
    ),
    "leave": (
        lambda owner, seat, other, others: members.leave_project(seat.project, owner),
        lambda owner, seat, other, others: members.leave_project(seat.project, other),
        [["LastOwner", "done"]],
    ),
    "remove each other": (
        lambda owner, seat, other, others: members.remove_member(others, owner),
        lambda owner, seat, other, others: members.remove_member(seat, other),
        [["Gone", "done"]],
    ),
    "delete their accounts": (
        lambda owner, seat, other, others: deleting.delete_account(owner),
        lambda owner, seat, other, others: deleting.delete_account(other),
        [["DeletionBlocked", "done"]],
    ),
    "leave and delete the account": (
        lambda owner, seat, other, others: members.leave_project(seat.project, owner),
        lambda owner, seat, other, others: deleting.delete_account(other),
        [["LastOwner", "done"], ["DeletionBlocked", "done"]],
    ),
    "hand over and leave": (
        lambda owner, seat, other, others: members.transfer_ownership(seat.project, others, owner),
        lambda owner, seat, other, others: members.leave_project(seat.project, other),
        [["Gone", "done"], ["LastOwner", "done"], ["done", "done"]],
    ),
}


@often
@pytest.mark.parametrize("name", PAIRS)
def test_a_project_keeps_an_owner_whatever_two_owners_do_at_once(
    project: Project, owner: Account, second: Account, attempt: int, name: str
) -> None:
    first_act, second_act, ends = PAIRS[name]
    places = (owner, member(owner), second, member(second))
    ended = together(lambda: first_act(*places), lambda: second_act(*places))
    assert sorted(ended) in ends
    assert ProjectMember.objects.filter(project=project, role=Role.OWNER).count() == 1


def test_an_invitation_is_accepted_once(project: Project, owner: Account) -> None:
    ines = make_account("ines@example.com")
    row = invitations.invite(project, ines.email, "viewer", owner)
    assert together(*[lambda: invitations.accept(row.pk, ines)] * 6) == ["done"] * 6
    assert ProjectMember.objects.filter(account=ines).count() == 1
    assert AuditEvent.objects.filter(action="invitation.accepted").count() == 1


@often
def test_accepting_and_withdrawing_come_one_after_the_other(project: Project, owner: Account, attempt: int) -> None:
    ines = make_account("ines@example.com")
    row = invitations.invite(project, ines.email, "viewer", owner)
    accepted, withdrawn = together(lambda: invitations.accept(row.pk, ines), lambda: invitations.withdraw(row, owner))
    assert {accepted, withdrawn} == {"done", "InvitationNotFound"}
    assert ProjectMember.objects.filter(account=ines).exists() == (accepted == "done")
    assert AuditEvent.objects.exclude(action="invitation.sent").count() == 1


@often
def test_accepting_while_the_project_is_deleted_makes_nobody_a_member_of_it_later(
    project: Project, owner: Account, attempt: int
) -> None:
    ines = make_account("ines@example.com")
    row = invitations.invite(project, ines.email, "viewer", owner)
    accepted, deleted = together(
        lambda: invitations.accept(row.pk, ines), lambda: lifecycle.delete_project(project, owner)
    )
    assert deleted == "done"
    assert accepted in ("done", "InvitationNotFound")


def test_an_address_that_is_invited_many_times_at_once_gets_one_mail(project: Project, owner: Account) -> None:
    assert together(*[lambda: invitations.invite(project, "ines@example.com", "viewer", owner)] * 6) == ["done"] * 6
    assert ProjectInvitation.objects.count() == 1
    assert Outbox.objects.count() == 1


def test_the_limit_of_mails_holds_for_one_person_in_many_projects(owner: Account, settings: Any) -> None:
    settings.INVITATIONS_PER_HOUR = 2
    made = [make_project(owner, name=f"P{number}") for number in range(6)]
    acts = [lambda one=one: invitations.invite(one, "ines@example.com", "viewer", owner) for one in made]
    assert sorted(together(*acts)) == ["QuotaExceeded"] * 4 + ["done"] * 2
    assert Outbox.objects.count() == 2


def test_the_limit_of_projects_holds(owner: Account, settings: Any) -> None:
    settings.PROJECTS_PER_PERSON = 2
    acts = [lambda number=number: lifecycle.create_project(owner, f"P{number}") for number in range(6)]
    assert sorted(together(*acts)) == ["QuotaExceeded"] * 4 + ["done"] * 2


def test_a_project_that_many_delete_or_restore_is_deleted_and_restored_once(project: Project, owner: Account) -> None:
    assert sorted(together(*[lambda: lifecycle.delete_project(project, owner)] * 4)) == ["Gone"] * 3 + ["done"]
    assert sorted(together(*[lambda: lifecycle.restore_project(project, owner)] * 4)) == ["Gone"] * 3 + ["done"]


@often
def test_a_project_that_is_deleted_while_a_code_is_exchanged_leaves_nothing_alive(
    party: RelyingParty, attempt: int
) -> None:
    """Neither while it is deleted nor once it is restored."""
    project = Project.objects.get()
    owner = ProjectMember.objects.get(project=project).account
    code = party.code()
    answers: list[Any] = []
    ended = together(
        lambda: answers.append(party.exchange(code)),
        lambda: lifecycle.delete_project(project, owner),
        lambda: make_key(project, owner),
        lambda: answers.append(party.authorize()),
    )
    assert ended == ["done"] * 4
    for restored in (False, True):
        if restored:
            lifecycle.restore_project(project, owner)
            party.secret = create_secret(Client.objects.get())[1]
        for answer in answers:
            if answer.status_code == 200 and answer.headers["Content-Type"] == "application/json":
                tokens = answer.json()
                assert party.call("/connect/userinfo", tokens["access_token"]).status_code == 401
                assert party.call("/v1/me", tokens["access_token"]).status_code == 401
                assert party.refresh(tokens["refresh_token"]).status_code in (400, 401)
    assert not TokenFamily.objects.filter(revoked_at=None).exists()
    assert not ApiKey.objects.filter(revoked_at=None).exists()
    assert ClientSecret.objects.filter(revoked_at=None).count() == 1


@pytest.mark.parametrize("way", ["at once", "asked", "due"])
@pytest.mark.parametrize("role", [Role.OWNER, Role.DEVELOPER])
def test_deleting_an_account_and_changing_its_role_do_not_block_each_other(
    project: Project, second: Account, role: str, way: str, rf: RequestFactory
) -> None:
    """Both lock the project before the account. In another order, PostgreSQL would end one of them as a deadlock."""
    ProjectMember.objects.filter(account=second).update(role=role)
    if way == "due":
        Account.objects.filter(pk=second.pk).update(is_active=False, deletion_due_at=clock.now())
    ways: dict[str, Callable[[], object]] = {
        "at once": lambda: deleting.delete_account(second),
        "asked": lambda: closing.ask(second, rf.post("/account/delete")),
        "due": lambda: closing._delete_if_due(second.pk),
    }
    with meanwhile(ways[way]) as begin, transaction.atomic():
        lock_project(project.pk)  # as lock_for_change does, which then locks the accounts
        assert begin(), "the deletion waits"
        list(Account.objects.select_for_update(no_key=True).filter(pk=second.pk))
    assert not Account.objects.filter(pk=second.pk, is_active=True).exists()
