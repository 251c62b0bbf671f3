"""Members of a project: roles, removal, leaving, handing over; the last owner stays."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client as Browser
from django.urls import reverse

from accounts.deletion import deleting
from accounts.models import Account
from api.models import ApiKey
from devportal.console.models import AuditEvent
from oidc.models import Project, ProjectInvitation, ProjectMember
from oidc.projects import invitations, lifecycle, members
from oidc.projects.lifecycle import QuotaExceeded
from oidc.projects.members import LastOwner
from oidc.projects.roles import Gone
from tests.exports import exported
from tests.factories import PASSWORD, make_account, make_key, make_project

Role = ProjectMember.Role

pytestmark = pytest.mark.django_db


@pytest.fixture
def owner() -> Account:
    return make_account("olga@example.com")


@pytest.fixture
def project(owner: Account) -> Project:
    return make_project(owner)


def join(project: Project, role: str, email: str = "dan@example.com") -> ProjectMember:
    return ProjectMember.objects.create(project=project, account=make_account(email), role=role)


def role_of(account: Account) -> str:
    return ProjectMember.objects.get(account=account).role


def seat(account: Account) -> ProjectMember:
    return ProjectMember.objects.get(account=account)


# --- Roles ---


def test_a_changed_role_is_in_the_audit_trail(project: Project, owner: Account) -> None:
    dan = join(project, Role.VIEWER)
    members.change_role(dan, "developer", owner)
    assert role_of(dan.account) == Role.DEVELOPER
    event = AuditEvent.objects.get()
    assert (event.action, event.target, event.person) == ("member.role_changed", "dan@example.com", dan.account)
    assert (event.before, event.after) == ({"role": "viewer"}, {"role": "developer"})


def test_an_unknown_role_is_rejected(project: Project, owner: Account) -> None:
    dan = join(project, Role.VIEWER)
    with pytest.raises(ValueError):
        members.change_role(dan, "emperor", owner)


def test_the_last_owner_stays(project: Project, owner: Account) -> None:
    join(project, Role.DEVELOPER)
    steps: list[Callable[[], object]] = [
        lambda: members.change_role(seat(owner), "developer", owner),
        lambda: members.remove_member(seat(owner), owner),
        lambda: members.leave_project(project, owner),
    ]
    for step in steps:
        with pytest.raises(LastOwner):
            step()
    assert role_of(owner) == Role.OWNER
    assert not AuditEvent.objects.exists()


def test_an_owner_whose_account_is_closed_does_not_count(project: Project, owner: Account) -> None:
    dan = join(project, Role.OWNER)
    Account.objects.filter(pk=dan.account_id).update(is_active=False)
    with pytest.raises(LastOwner):
        members.leave_project(project, owner)
    assert deleting.deletion_blockers(owner)


def test_former_owners_can_change_nothing(project: Project, owner: Account) -> None:
    """Their page was open while they lost the role."""
    dan, vera = join(project, Role.DEVELOPER), join(project, Role.VIEWER, "vera@example.com")
    invitation = invitations.invite(project, "ines@example.com", "viewer", owner)
    steps: list[Callable[[], object]] = [
        lambda: members.change_role(vera, "owner", dan.account),
        lambda: members.remove_member(vera, dan.account),
        lambda: members.transfer_ownership(project, vera, dan.account),
        lambda: invitations.invite(project, "new@example.com", "owner", dan.account),
        lambda: invitations.withdraw(invitation, dan.account),
        lambda: lifecycle.delete_project(project, dan.account),
    ]
    for step in steps:
        with pytest.raises(Gone):
            step()
    assert role_of(vera.account) == Role.VIEWER


def test_nobody_is_made_owner_of_more_than_one_may_own(project: Project, owner: Account, settings: Any) -> None:
    settings.PROJECTS_PER_PERSON = 1
    dan = join(project, Role.DEVELOPER)
    make_project(dan.account, name="Own")
    with pytest.raises(QuotaExceeded, match=r"dan@example\.com owns 1 projects"):
        members.change_role(dan, "owner", owner)
    with pytest.raises(QuotaExceeded):
        members.transfer_ownership(project, dan, owner)


# --- Removing and leaving ---


def test_the_keys_of_a_removed_member_end_and_nobody_elses(project: Project, owner: Account) -> None:
    dan = join(project, Role.DEVELOPER)
    elsewhere = make_project(dan.account, name="Elsewhere")
    theirs, _ = make_key(project, dan.account)
    others = [make_key(project, owner)[0], make_key(elsewhere, dan.account)[0]]
    members.remove_member(dan, owner)
    assert not ProjectMember.objects.filter(project=project, account=dan.account).exists()
    assert ApiKey.objects.get(pk=theirs.pk).revoked_at is not None
    assert not ApiKey.objects.filter(pk__in=[key.pk for key in others], revoked_at__isnull=False).exists()


def test_leaving_and_being_removed_are_separate_actions(project: Project, owner: Account) -> None:
    dan, vera = join(project, Role.DEVELOPER), join(project, Role.VIEWER, "vera@example.com")
    make_key(project, dan.account)
    members.leave_project(project, dan.account)
    members.remove_member(vera, owner)
    events = AuditEvent.objects.exclude(action="api_key.created").order_by("pk")
    assert [(event.action, event.actor, event.target) for event in events] == [
        ("member.left", dan.account, "dan@example.com"),
        ("member.removed", owner, "vera@example.com"),
    ]
    assert not ApiKey.objects.filter(revoked_at=None).exists()


def test_a_former_member_cannot_be_removed_again(project: Project, owner: Account) -> None:
    dan = join(project, Role.DEVELOPER)
    members.remove_member(dan, owner)
    steps: list[Callable[[], object]] = [
        lambda: members.remove_member(ProjectMember(pk=dan.pk or 10**6, project=project, account=dan.account), owner),
        lambda: members.leave_project(project, dan.account),
        lambda: members.leave_project(project, make_account()),
    ]
    for step in steps:
        with pytest.raises(Gone):
            step()


# --- Handing over ---


def test_a_former_owner_stays_as_a_developer(project: Project, owner: Account) -> None:
    dan, third = join(project, Role.VIEWER), join(project, Role.OWNER, "third@example.com")
    members.transfer_ownership(project, dan, owner)
    assert (role_of(dan.account), role_of(owner)) == (Role.OWNER, Role.DEVELOPER)
    assert role_of(third.account) == Role.OWNER  # another owner is not asked, and keeps the role
    event = AuditEvent.objects.get()
    assert (event.action, event.target, event.before) == (
        "project.transferred",
        "dan@example.com",
        {"role": "viewer"},
    )


def test_a_project_is_handed_over_to_a_member_of_it_alone(project: Project, owner: Account) -> None:
    stranger = make_account()
    make_project(stranger, name="Elsewhere")
    closed = join(project, Role.DEVELOPER)
    Account.objects.filter(pk=closed.account_id).update(is_active=False)
    for member in (seat(stranger), seat(owner), closed):
        with pytest.raises(Gone):
            members.transfer_ownership(project, member, owner)
    assert role_of(owner) == Role.OWNER


# --- Accounts that are deleted ---


def test_the_only_owner_can_not_delete_their_account(project: Project, owner: Account) -> None:
    join(project, Role.DEVELOPER)
    assert [blocker.text for blocker in deleting.deletion_blockers(owner)] == [
        "You are the only owner of the project Orbit Notes: hand it over or delete it first."
    ]
    with pytest.raises(deleting.DeletionBlocked):
        deleting.delete_account(owner)
    assert Account.objects.filter(pk=owner.pk).exists()


def test_changes_since_the_page_was_shown_stop_a_deletion(signed_in: Browser, person: Account) -> None:
    """The other owner left after the page had found nothing in the way."""
    form = {"login": person.email, "password": PASSWORD, "next": "/account/delete"}
    signed_in.post("/account/reauthenticate/", form)
    assert b"You are the only owner" not in signed_in.get("/account/delete").content
    project = make_project(person)
    page = signed_in.post("/account/delete").content.decode()
    assert "You are the only owner" in page
    assert reverse("console:project_settings", args=[project.public_id]) in page
    assert Account.objects.get(pk=person.pk).is_active


def test_a_deleted_project_blocks_nobody_and_goes_without_an_owner(project: Project, owner: Account) -> None:
    lifecycle.delete_project(project, owner)
    assert deleting.deletion_blockers(owner) == []
    deleting.delete_account(owner)
    assert not ProjectMember.objects.exists()
    assert Project.objects.get().is_deleted


def test_the_audit_trail_no_longer_names_deleted_people(project: Project, owner: Account) -> None:
    dan = join(project, Role.OWNER).account
    members.change_role(seat(dan), "developer", owner)
    members.leave_project(project, dan)
    row = invitations.invite(project, dan.email, "viewer", owner)
    invitations.accept(row.pk, dan)
    invitations.invite(project, "someone@else.example", "viewer", owner)
    AuditEvent.objects.update(ip="192.0.2.1")
    deleting.delete_account(dan)
    assert not AuditEvent.objects.filter(target="dan@example.com").exists()
    assert not AuditEvent.objects.filter(actor_email="dan@example.com").exists()
    assert set(AuditEvent.objects.filter(actor_email="").values_list("ip", flat=True)) == {None}
    # The rest of the trail is as it was.
    assert AuditEvent.objects.filter(actor_email=owner.email, ip="192.0.2.1").count() == 3
    assert AuditEvent.objects.filter(target="someone@else.example").exists()
    assert AuditEvent.objects.get(action="member.role_changed").after == {"role": "developer"}


def test_invitations_to_a_deleted_person_are_deleted_and_sent_ones_stay(project: Project, owner: Account) -> None:
    dan = join(project, Role.OWNER).account
    invitations.invite(project, "ines@example.com", "viewer", dan)
    other = make_account()
    invitations.invite(make_project(other, name="Elsewhere"), dan.email, "viewer", other)
    deleting.delete_account(dan)
    left = ProjectInvitation.objects.get()
    assert (left.email, left.invited_by) == ("ines@example.com", None)


def test_an_export_names_projects_roles_and_invitations(project: Project, owner: Account) -> None:
    lifecycle.delete_project(make_project(owner, name="Old"), owner)
    other = make_account()
    invitations.invite(make_project(other, name="Elsewhere"), owner.email, "viewer", other)
    held = exported(owner)
    assert [(one["project"], one["role"], bool(one["deleted_at"])) for one in held["projects"]] == [
        ("Orbit Notes", "owner", False),
        ("Old", "owner", True),
    ]
    assert [(one["project"], one["role"]) for one in held["project_invitations"]] == [("Elsewhere", "viewer")]
