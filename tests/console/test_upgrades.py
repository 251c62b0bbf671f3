"""What an upgrade does with rows from before: invitations, keys and memberships whose end nobody had written down."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest
from django.apps import apps

from accounts.models import Account, Family, Invitation, Organization
from accounts.plans import invitations as group_invitations
from accounts.roles import set_roles
from api.models import ApiKey
from devportal.console import reviews
from devportal.console.models import AuditEvent
from oidc.models import Client, FormerMember, Project, ProjectInvitation, ProjectMember
from oidc.projects import invitations, members
from oidc.projects.lifecycle import create_project
from tests.console.reviews.reviewing import make_operator, sent
from tests.factories import make_account, make_key

pytestmark = pytest.mark.django_db
Role = ProjectMember.Role


def migrate(module: str, function: str) -> None:
    getattr(import_module(module), function)(apps, None)


def test_invitations_of_who_may_not_invite_to_a_project_end(project: Project, owner: Account) -> None:
    sven = ProjectMember.objects.create(project=project, account=make_account(), role=Role.OWNER)
    closed = ProjectMember.objects.create(project=project, account=make_account(), role=Role.OWNER)
    stays = invitations.invite(project, "a@example.com", "viewer", owner)
    for email, inviter in (("b@example.com", sven), ("c@example.com", closed), ("d@example.com", sven)):
        invitations.invite(project, email, "viewer", inviter.account)
    ProjectInvitation.objects.filter(email="d@example.com").update(invited_by=None)
    ProjectMember.objects.filter(pk=sven.pk).update(role=Role.DEVELOPER)
    Account.objects.filter(pk=closed.account_id).update(is_active=False)
    migrate("oidc.migrations.0007_former_members", "end_invitations_of_who_may_not_invite")
    assert [row.pk for row in ProjectInvitation.objects.all() if row.is_open] == [stays.pk]


def test_invitations_of_who_may_not_invite_to_a_group_end() -> None:
    operator, former = make_operator(), make_operator()
    root = make_account(is_staff=True, is_superuser=True)
    acme = Organization.objects.create(name="Acme")
    family, closed = (Family.objects.create(owner=make_account()) for _ in range(2))
    stay = [
        group_invitations.invite(acme, "a@example.com", operator),
        group_invitations.invite(acme, "b@example.com", root),
        group_invitations.invite(family, "a@example.com", family.owner),
    ]
    group_invitations.invite(acme, "c@example.com", former)
    group_invitations.invite(closed, "a@example.com", closed.owner)
    former.groups.clear()
    Account.objects.filter(pk=closed.owner_id).update(is_active=False)
    migrate("accounts.migrations.0006_invitations_of_who_may_not_invite", "end_invitations_of_who_may_not_invite")
    assert [row.pk for row in Invitation.objects.order_by("pk") if row.is_open] == [row.pk for row in stay]


def test_keys_that_slept_are_revoked(project: Project, owner: Account, developer: Account, viewer: Account) -> None:
    live, _ = make_key(project, owner)
    make_key(project, developer)
    make_key(project, make_account())
    Account.objects.filter(pk=developer.pk).update(is_active=False)
    migrate("api.migrations.0004_keys_of_closed_accounts", "revoke_keys_of_closed_accounts")
    assert list(ApiKey.objects.filter(revoked_at=None)) == [live]


def _by_leaving(project: Project, owner: Account, who: Account) -> None:
    members.leave_project(project, who)


def _by_removal(project: Project, owner: Account, who: Account) -> None:
    members.remove_member(ProjectMember.objects.get(project=project, account=who), owner)


def _before_people_were_columns(project: Project, owner: Account, who: Account) -> None:
    members.leave_project(project, who)
    AuditEvent.objects.update(person=None)


def _without_a_trace(project: Project, owner: Account, who: Account) -> None:
    ProjectMember.objects.filter(project=project, account=who).delete()


WENT = [_by_leaving, _by_removal, _before_people_were_columns, _without_a_trace]


@pytest.mark.parametrize("go", WENT)
def test_former_members_are_found_in_the_trail(
    go: Callable[..., Any], app: Client, project: Project, owner: Account, developer: Account
) -> None:
    review = sent(app, developer)
    who = make_account()
    row = invitations.invite(project, who.email, "viewer", owner)
    invitations.accept(row.pk, who)
    go(project, owner, who)
    set_roles(who, ["reviewer"])
    FormerMember.objects.all().delete()
    assert reviews.may_decide(who, project, review), "as it was before"
    migrate("devportal.console.migrations.0006_former_members_of_the_trail", "remember_former_members")
    assert FormerMember.objects.get().account == who
    assert not reviews.may_decide(who, project, review)
    migrate("devportal.console.migrations.0006_former_members_of_the_trail", "remember_former_members")
    assert FormerMember.objects.count() == 1


def test_who_is_still_a_member_or_whose_project_is_gone_is_no_former_member(owner: Account) -> None:
    create_project(owner, "Here")
    gone = create_project(owner, "Gone")
    gone.delete()
    migrate("devportal.console.migrations.0006_former_members_of_the_trail", "remember_former_members")
    assert not FormerMember.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_former_owners_are_found_in_the_trail(project: Project, owner: Account, developer: Account) -> None:
    left = ProjectMember.objects.create(project=project, account=make_account(), role=Role.VIEWER)
    members.leave_project(project, left.account)
    FormerMember.objects.update(joined_at=None)
    for one, other in ((owner, developer), (developer, owner)):
        members.transfer_ownership(project, ProjectMember.objects.get(project=project, account=other), one)
    was = ProjectMember.objects.create(project=project, account=make_account(), role=Role.OWNER)
    members.change_role(was, Role.VIEWER, owner)
    ProjectMember.objects.update(owner_until=None)
    migrate("devportal.console.migrations.0017_former_owners", "remember_former_owners")
    found = dict(ProjectMember.objects.values_list("account", "owner_until"))
    assert found[owner.pk] is None, "they own it now"
    assert None not in (found[developer.pk], found[was.account_id])
    assert FormerMember.objects.get().owner_until == FormerMember.objects.get().left_at
