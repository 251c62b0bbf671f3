"""Invitations to projects: limited in number, answered once, by the owner of the mailbox."""

from collections.abc import Callable
from typing import Any

import pytest

from accounts.models import Account, Outbox
from accounts.plans.invitations import InvitationNotFound
from devportal.console.models import AuditEvent
from oidc.models import Project, ProjectInvitation, ProjectMember
from oidc.projects import invitations, lifecycle, members
from oidc.projects.lifecycle import QuotaExceeded
from oidc.projects.roles import Gone
from oidc.tasks import clear_invitations
from tests.factories import make_account, make_project

HOUR, DAY = 3600, 24 * 3600
Later = Callable[[float], None]
Role = ProjectMember.Role

pytestmark = pytest.mark.django_db


@pytest.fixture
def owner() -> Account:
    return make_account("olga@example.com")


@pytest.fixture
def project(owner: Account) -> Project:
    return make_project(owner, name="Win a prize at evil.example")


def actions() -> list[str]:
    return list(AuditEvent.objects.order_by("pk").values_list("action", flat=True))


# --- Inviting ---


def test_an_invitation_is_mailed_and_in_the_audit_trail(project: Project, owner: Account) -> None:
    owner.given_name = "Free money"
    owner.save()
    row = invitations.invite(project, " Ines@Example.com ", "developer", owner)
    assert (row.email, row.role, row.is_open) == ("ines@example.com", "developer", True)
    mail = Outbox.objects.get()
    assert mail.to == "ines@example.com"
    assert "olga@example.com invites you" in mail.body
    assert "/console/\n" in mail.body
    for chosen_by_the_inviter in ("evil.example", "Free money"):
        assert chosen_by_the_inviter not in mail.subject + mail.body
    event = AuditEvent.objects.get()
    assert (event.action, event.target, event.after) == ("invitation.sent", "ines@example.com", {"role": "developer"})


def test_known_and_unknown_addresses_get_the_same(project: Project, owner: Account) -> None:
    make_account("known@example.com")
    for address in ("known@example.com", "unknown@example.com"):
        invitations.invite(project, address, "viewer", owner)
    known, unknown = Outbox.objects.order_by("pk")
    assert known.body.replace("known@", "") == unknown.body.replace("unknown@", "")
    assert known.subject == unknown.subject


def test_a_renewal_is_one_invitation_and_within_an_hour_one_mail(
    project: Project, owner: Account, later: Later
) -> None:
    first = invitations.invite(project, "ines@example.com", "viewer", owner)
    later(HOUR / 2)
    second = invitations.invite(project, "ines@example.com", "developer", owner)
    assert Outbox.objects.count() == 1
    later(HOUR)
    invitations.invite(project, "ines@example.com", "developer", owner)
    assert Outbox.objects.count() == 2
    assert first.pk == second.pk == ProjectInvitation.objects.get().pk
    assert second.role == "developer"
    assert second.expires_at > first.expires_at


def test_withdrawing_and_inviting_in_turns_mails_nobody_more_often(project: Project, owner: Account) -> None:
    for _ in range(5):
        invitations.withdraw(invitations.invite(project, "ines@example.com", "viewer", owner), owner)
    assert Outbox.objects.count() == 1


def test_invitation_mails_are_limited_per_project(
    project: Project, owner: Account, settings: Any, later: Later
) -> None:
    settings.INVITATIONS_PER_HOUR = 3
    other = ProjectMember.objects.create(project=project, account=make_account(), role=Role.OWNER).account
    for number in range(3):
        invitations.invite(project, f"p{number}@example.com", "viewer", owner)
    for actor in (owner, other):
        with pytest.raises(QuotaExceeded, match="in one hour"):
            invitations.invite(project, "one-more@example.com", "viewer", actor)
    assert Outbox.objects.count() == 3
    later(HOUR + 1)
    invitations.invite(project, "one-more@example.com", "viewer", owner)


def test_invitation_mails_are_limited_per_person(owner: Account, settings: Any) -> None:
    settings.INVITATIONS_PER_HOUR = 2
    for number in range(2):
        invitations.invite(make_project(owner, name=f"P{number}"), "ines@example.com", "viewer", owner)
    with pytest.raises(QuotaExceeded):
        invitations.invite(make_project(owner, name="One more"), "ines@example.com", "viewer", owner)


def test_open_invitations_count_as_members(project: Project, owner: Account, settings: Any) -> None:
    settings.MEMBERS_PER_PROJECT = 3
    rows = [invitations.invite(project, f"p{number}@example.com", "viewer", owner) for number in range(2)]
    with pytest.raises(QuotaExceeded, match="at most 3 members"):
        invitations.invite(project, "one-more@example.com", "viewer", owner)
    invitations.invite(project, "p1@example.com", "developer", owner)  # takes no other place
    invitations.withdraw(rows[0], owner)
    invitations.invite(project, "one-more@example.com", "viewer", owner)


@pytest.mark.parametrize("role", ["emperor", "", "OWNER", "viewer\x00"])
def test_an_unknown_role_is_rejected(project: Project, owner: Account, role: str) -> None:
    with pytest.raises(ValueError):
        invitations.invite(project, "ines@example.com", role, owner)
    assert not ProjectInvitation.objects.exists()


def test_a_deleted_project_invites_nobody(project: Project, owner: Account) -> None:
    lifecycle.delete_project(project, owner)
    with pytest.raises(Gone):
        invitations.invite(project, "ines@example.com", "viewer", owner)
    assert not Outbox.objects.exists()


# --- Answering ---


def test_a_person_with_the_verified_email_address_can_accept_once(project: Project, owner: Account) -> None:
    row = invitations.invite(project, "ines@example.com", "developer", owner)
    ines = make_account("ines@example.com")
    assert [one.pk for one in invitations.invitations_to_account(ines)] == [row.pk]
    first = invitations.accept(row.pk, ines)
    assert first.role == Role.DEVELOPER
    with pytest.raises(InvitationNotFound):
        invitations.withdraw(row, owner)
    assert invitations.invitations_to_account(ines) == []
    assert invitations.invitations_to_project(project) == []
    assert invitations.accept(row.pk, ines) == first
    assert actions() == ["invitation.sent", "invitation.accepted"]


@pytest.mark.parametrize("answer", [invitations.accept, invitations.decline])
def test_only_the_invited_person_can_answer(
    project: Project, owner: Account, answer: Callable[[int, Account], Any]
) -> None:
    row = invitations.invite(project, "ines@example.com", "developer", owner)
    unproven = make_account("ines@example.com", verified=False)
    assert invitations.invitations_to_account(unproven) == []
    for someone in (unproven, make_account("other@example.com"), owner):
        with pytest.raises(InvitationNotFound):
            answer(row.pk, someone)
    assert project.members.count() == 1
    assert ProjectInvitation.objects.get().is_open


# How an invitation ends, and whether declining it then is an error.
ENDINGS: dict[str, tuple[Callable[[ProjectInvitation, Account, Account, Later], object], bool]] = {
    "withdrawn": (lambda row, owner, ines, later: invitations.withdraw(row, owner), False),
    "expired": (lambda row, owner, ines, later: later(7 * DAY + 1), False),
    "declined": (lambda row, owner, ines, later: invitations.decline(row.pk, ines), False),
    "project deleted": (lambda row, owner, ines, later: lifecycle.delete_project(row.project, owner), True),
    "project gone": (lambda row, owner, ines, later: Project.objects.all().delete(), True),
    "cleared": (lambda row, owner, ines, later: ProjectInvitation.objects.all().delete(), True),
}


@pytest.mark.parametrize("answer", [invitations.accept, invitations.decline])
@pytest.mark.parametrize("end", ENDINGS)
def test_an_ended_invitation_cannot_be_accepted(
    project: Project, owner: Account, later: Later, end: str, answer: Callable[[int, Account], Any]
) -> None:
    ines = make_account("ines@example.com")
    row = invitations.invite(project, "ines@example.com", "developer", owner)
    act, is_gone = ENDINGS[end]
    act(row, owner, ines, later)
    assert invitations.invitations_to_account(ines) == []
    before = actions()
    if answer is invitations.accept or is_gone:
        with pytest.raises(InvitationNotFound):
            answer(row.pk, ines)
    else:
        answer(row.pk, ines)  # it is no longer open, which is what they want
    assert not ProjectMember.objects.filter(account=ines).exists()
    assert actions() == before


def _second_owner(project: Project) -> ProjectMember:
    return ProjectMember.objects.create(project=project, account=make_account("sven@example.com"), role=Role.OWNER)


def _close(sven: ProjectMember, owner: Account) -> None:
    sven.account.is_active = False
    sven.account.save()


def _hand_over(sven: ProjectMember, owner: Account) -> None:
    to = ProjectMember.objects.create(project=sven.project, account=make_account(), role=Role.DEVELOPER)
    members.transfer_ownership(sven.project, to, sven.account)


# How someone stops being one who may invite.
ENDS: dict[str, Callable[[ProjectMember, Account], Any]] = {
    "leaves": lambda sven, owner: members.leave_project(sven.project, sven.account),
    "is removed": members.remove_member,
    "is demoted": lambda sven, owner: members.change_role(sven, "developer", owner),
    "hands over": _hand_over,
    "is deactivated": _close,
    "is deleted": lambda sven, owner: sven.account.delete(),
}


@pytest.mark.parametrize("how", ENDS)
def test_an_invitation_ends_when_its_sender_may_no_longer_invite(how: str, project: Project, owner: Account) -> None:
    ines, sven = make_account("ines@example.com"), _second_owner(project)
    row = invitations.invite(project, ines.email, "owner", sven.account)
    own = invitations.invite(project, "other@example.com", "viewer", owner)
    ENDS[how](sven, owner)
    assert invitations.invitations_to_account(ines) == []
    assert [left.pk for left in invitations.invitations_to_project(project)] == [own.pk]
    with pytest.raises(InvitationNotFound):
        invitations.accept(row.pk, ines)
    assert not ProjectMember.objects.filter(account=ines).exists()
    event = AuditEvent.objects.get(action="invitation.ended")
    assert (event.project, event.target, event.before) == (project.public_id, ines.email, {"role": "owner"})
    # Anyone who may invite can renew it.
    invitations.invite(project, ines.email, "viewer", owner)
    assert invitations.accept(row.pk, ines).role == Role.VIEWER


def test_whether_the_sender_may_still_invite_is_asked_when_it_is_accepted(project: Project, owner: Account) -> None:
    """However the right went: here by a command, which tells nobody."""
    ines, sven = make_account("ines@example.com"), _second_owner(project)
    row = invitations.invite(project, ines.email, "viewer", sven.account)
    ProjectMember.objects.filter(pk=sven.pk).update(role=Role.DEVELOPER)
    with pytest.raises(InvitationNotFound):
        invitations.accept(row.pk, ines)
    ProjectMember.objects.filter(pk=sven.pk).update(role=Role.OWNER)
    assert invitations.accept(row.pk, ines).role == Role.VIEWER


def test_a_change_between_lower_roles_ends_no_invitation(project: Project, owner: Account) -> None:
    sven = _second_owner(project)
    row = invitations.invite(project, "ines@example.com", "viewer", owner)
    members.change_role(sven, "developer", owner)
    members.change_role(sven, "viewer", owner)
    row.refresh_from_db()
    assert row.is_open


def test_a_removed_member_cannot_return_with_an_old_invitation(project: Project, owner: Account) -> None:
    ines = make_account("ines@example.com")
    row = invitations.invite(project, ines.email, "owner", owner)
    members.remove_member(invitations.accept(row.pk, ines), owner)
    with pytest.raises(InvitationNotFound):
        invitations.accept(row.pk, ines)


def test_an_existing_member_keeps_their_role(project: Project, owner: Account) -> None:
    ines = make_account("ines@example.com")
    row = invitations.invite(project, ines.email, "viewer", owner)
    ProjectMember.objects.create(project=project, account=ines, role=Role.OWNER)
    assert invitations.accept(row.pk, ines).role == Role.OWNER
    assert not ProjectInvitation.objects.get().is_open


def test_nobody_accepts_more_projects_than_one_may_own(project: Project, owner: Account, settings: Any) -> None:
    settings.PROJECTS_PER_PERSON = 1
    ines = make_account("ines@example.com")
    row = invitations.invite(project, ines.email, "owner", owner)
    make_project(ines, name="Own")
    with pytest.raises(QuotaExceeded, match="You own 1 projects"):
        invitations.accept(row.pk, ines)
    assert ProjectInvitation.objects.get().is_open


def test_a_declined_invitation_can_be_made_again(project: Project, owner: Account) -> None:
    ines = make_account("ines@example.com")
    row = invitations.invite(project, ines.email, "viewer", owner)
    invitations.decline(row.pk, ines)
    assert invitations.invite(project, ines.email, "viewer", owner).is_open
    assert [one.pk for one in invitations.invitations_to_account(ines)] == [row.pk]


# --- Clearing ---


def test_ended_invitations_are_deleted_and_expired_ones_can_be_renewed(
    project: Project, owner: Account, later: Later
) -> None:
    ended, left = (invitations.invite(project, f"{name}@example.com", "viewer", owner) for name in ("a", "b"))
    invitations.withdraw(ended, owner)
    assert clear_invitations() == 0
    later(DAY + 1)
    assert clear_invitations() == 1
    later(30 * DAY)
    assert clear_invitations() == 0
    assert [one.pk for one in invitations.invitations_to_project(project)] == [left.pk]
    assert invitations.invite(project, "b@example.com", "viewer", owner).is_open
    later(37 * DAY + 1)
    assert clear_invitations() == 1
