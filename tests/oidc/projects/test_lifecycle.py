"""Projects: made, renamed, deleted with all their credentials, restored without them, removed for good."""

from collections.abc import Callable
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import DatabaseError

from accounts.models import Account, PairwiseSubject
from api.models import ApiKey
from devportal.console.models import AuditEvent
from oidc.clients.secrets import create_secret
from oidc.models import Client, Connection, Project, ProjectMember, TokenFamily
from oidc.projects import colleagues, lifecycle, members
from oidc.projects.lifecycle import QuotaExceeded
from oidc.projects.roles import Gone
from oidc.tasks import remove_deleted_projects
from tests.factories import make_account, make_client, make_key, make_project, make_web_client
from tests.relying_party import RelyingParty

DAY = 24 * 3600
Later = Callable[[float], None]

pytestmark = pytest.mark.django_db


@pytest.fixture
def owner() -> Account:
    return make_account("olga@example.com")


@pytest.fixture
def party(signed_in: Any, owner: Account) -> RelyingParty:
    """A web app with a secret, in a project of `owner`, and the browser of someone else who uses it."""
    web, secret = make_web_client(make_project(owner), name="Web Notes")
    return RelyingParty(web, signed_in, secret)


def actions() -> list[str]:
    return list(AuditEvent.objects.order_by("pk").values_list("action", flat=True))


# --- Making and renaming ---


def test_the_creator_of_a_project_owns_it(owner: Account) -> None:
    project = lifecycle.create_project(owner, "  Orbit Notes ")
    assert project.name == "Orbit Notes"
    assert ProjectMember.objects.get(project=project).role == ProjectMember.Role.OWNER
    event = AuditEvent.objects.get()
    assert (event.action, event.actor, event.project) == ("project.created", owner, project.public_id)
    assert event.after == {"name": "Orbit Notes"}


def test_a_reserved_name_is_rejected(owner: Account) -> None:
    with pytest.raises(ValidationError):
        lifecycle.create_project(owner, "0penport Notes")
    assert not Project.objects.exists()
    project = make_project(owner)
    with pytest.raises(ValidationError):
        lifecycle.rename_project(project, "0penport Notes", owner)
    assert Project.objects.get().name == "Orbit Notes"


def test_only_owned_projects_count(owner: Account, settings: Any) -> None:
    settings.PROJECTS_PER_PERSON = 1
    joined = make_project(make_account())
    ProjectMember.objects.create(project=joined, account=owner, role=ProjectMember.Role.DEVELOPER)
    lifecycle.create_project(owner, "Own")


def test_deleting_and_creating_projects_in_turns_is_limited(owner: Account, settings: Any) -> None:
    settings.PROJECTS_PER_PERSON = 2
    for _ in range(2):
        lifecycle.delete_project(lifecycle.create_project(owner, "Again"), owner)
    with pytest.raises(QuotaExceeded, match="deleted too many"):
        lifecycle.create_project(owner, "And again")


def test_a_concurrent_rename_stores_the_right_previous_name(owner: Account) -> None:
    seen = make_project(owner, name="One")
    lifecycle.rename_project(Project.objects.get(), "Two", owner)
    for _ in range(2):  # the second time, nothing changes
        lifecycle.rename_project(seen, " Three ", owner)
    first, second = AuditEvent.objects.order_by("pk")
    assert (first.before, first.after) == ({"name": "One"}, {"name": "Two"})
    assert (second.before, second.after) == ({"name": "Two"}, {"name": "Three"})


# --- Deleting ---


def test_every_credential_of_a_deleted_project_ends_immediately(party: RelyingParty, owner: Account) -> None:
    tokens, code = party.tokens(), party.code()
    _, key = make_key(party.client.project, owner)
    lifecycle.delete_project(party.client.project, owner)
    assert party.authorize().status_code == 403
    assert b"unavailable" in party.authorize().content
    assert party.exchange(code).json()["error"] == "invalid_client"
    assert party.refresh(tokens["refresh_token"]).json()["error"] == "invalid_client"
    assert party.call("/connect/userinfo", tokens["access_token"]).status_code == 401
    refused = party.call("/v1/me", tokens["access_token"])
    assert (refused.status_code, refused.json()["error"]["code"]) == (401, "invalid_token")
    refused = party.call("/v1/me", key)
    assert (refused.status_code, refused.json()["error"]["code"]) == (401, "invalid_api_key")


def test_a_client_without_a_secret_gets_invalid_grant(app: RelyingParty) -> None:
    tokens, code = app.tokens(), app.code()
    owner = ProjectMember.objects.get(project=app.client.project).account
    lifecycle.delete_project(app.client.project, owner)
    assert app.exchange(code).json()["error"] == "invalid_grant"
    assert app.refresh(tokens["refresh_token"]).json()["error"] == "invalid_grant"


def test_credentials_created_during_a_deletion_are_rejected(party: RelyingParty, owner: Account) -> None:
    """A key, a secret and tokens of someone whose request had started before."""
    tokens = party.tokens()
    _, key = make_key(party.client.project, owner)
    lifecycle.delete_project(party.client.project, owner)
    TokenFamily.objects.update(revoked_at=None)
    ApiKey.objects.update(revoked_at=None)
    party.secret = create_secret(Client.objects.get())[1]
    assert party.call("/v1/me", key).json()["error"]["code"] == "invalid_api_key"
    assert party.call("/v1/me", tokens["access_token"]).json()["error"]["code"] == "invalid_token"
    assert party.call("/connect/userinfo", tokens["access_token"]).status_code == 401
    assert party.refresh(tokens["refresh_token"]).json()["error"] == "invalid_grant"


def test_a_deleted_project_does_not_report_its_suspension(party: RelyingParty, owner: Account) -> None:
    _, key = make_key(party.client.project, owner)
    Project.objects.update(suspended_at="2026-01-01T00:00:00Z")
    lifecycle.delete_project(party.client.project, owner)
    assert party.call("/v1/me", key).json()["error"]["code"] == "invalid_api_key"
    lifecycle.restore_project(party.client.project, owner)
    assert Project.objects.get().is_suspended


def test_a_project_is_deleted_once_and_by_its_owner(owner: Account) -> None:
    project = make_project(owner)
    developer = make_account()
    ProjectMember.objects.create(project=project, account=developer, role=ProjectMember.Role.DEVELOPER)
    for other in (developer, make_account()):
        with pytest.raises(Gone):
            lifecycle.delete_project(project, other)
    lifecycle.delete_project(project, owner)
    with pytest.raises(Gone):
        lifecycle.delete_project(project, owner)
    assert actions().count("project.deleted") == 1


# --- Restoring ---


def test_a_restored_project_has_its_ids_and_people_but_no_secret_and_no_key(
    party: RelyingParty, owner: Account, later: Later
) -> None:
    tokens = party.tokens()
    sub = PairwiseSubject.objects.get(account__email="ada@example.com").sub
    _, key = make_key(party.client.project, owner)
    project = party.client.project
    lifecycle.delete_project(project, owner)
    later(29 * DAY)
    lifecycle.restore_project(project, owner)
    restored = Project.objects.get()
    assert (restored.public_id, restored.deleted_at) == (project.public_id, None)
    assert Client.objects.get().client_id == party.client.client_id
    # What was given out stays dead.
    assert party.refresh(tokens["refresh_token"]).json()["error"] == "invalid_client"
    assert party.call("/v1/me", key).json()["error"]["code"] == "invalid_api_key"
    party.secret = create_secret(Client.objects.get())[1]
    assert party.refresh(tokens["refresh_token"]).json()["error"] == "invalid_grant"
    # The person is known by the same id.
    again = party.tokens()
    assert party.call("/v1/me", again["access_token"]).json()["id"] == sub
    assert Connection.objects.count() == 1


def test_requests_pending_at_the_deletion_are_invalid_after_a_restoration(party: RelyingParty, owner: Account) -> None:
    party.tokens()
    make_key(party.client.project, owner)
    lifecycle.delete_project(party.client.project, owner)
    TokenFamily.objects.update(revoked_at=None)
    ApiKey.objects.update(revoked_at=None)
    create_secret(Client.objects.get())
    lifecycle.restore_project(party.client.project, owner)
    assert not TokenFamily.objects.filter(revoked_at=None).exists()
    assert not ApiKey.objects.filter(revoked_at=None).exists()
    assert not Client.objects.get().secrets.filter(revoked_at=None).exists()


def test_only_owners_can_restore_and_only_deleted_projects(owner: Account) -> None:
    project = make_project(owner)
    with pytest.raises(Gone):
        lifecycle.restore_project(project, owner)
    lifecycle.delete_project(project, owner)
    with pytest.raises(Gone):
        lifecycle.restore_project(project, make_account())
    lifecycle.restore_project(project, owner)
    assert actions() == ["project.deleted", "project.restored"]


def test_nothing_is_restored_once_its_time_is_over(owner: Account, later: Later) -> None:
    project = make_project(owner)
    lifecycle.delete_project(project, owner)
    later(30 * DAY)
    with pytest.raises(Gone):
        lifecycle.restore_project(project, owner)


def test_a_restored_project_counts_among_those_one_may_own(owner: Account, settings: Any) -> None:
    settings.PROJECTS_PER_PERSON = 1
    project = lifecycle.create_project(owner, "One")
    lifecycle.delete_project(project, owner)
    settings.PROJECTS_PER_PERSON = 2
    lifecycle.create_project(owner, "Two")
    settings.PROJECTS_PER_PERSON = 1
    with pytest.raises(QuotaExceeded):
        lifecycle.restore_project(project, owner)


# --- Removing for good ---


def test_a_project_is_removed_once_nobody_can_restore_it(party: RelyingParty, owner: Account, later: Later) -> None:
    party.tokens()
    make_key(party.client.project, owner)
    kept = make_client(make_project(owner, name="Kept"))
    lifecycle.delete_project(party.client.project, owner)
    later(30 * DAY - 60)
    assert remove_deleted_projects() == 0
    later(120)
    assert remove_deleted_projects() == 1
    assert Client.objects.get() == kept
    assert not PairwiseSubject.objects.filter(sector=party.client.project.public_id).exists()
    assert AuditEvent.objects.get(action="project.removed").before == {"name": "Orbit Notes"}
    assert party.authorize().status_code == 400


def test_a_project_that_can_not_be_removed_does_not_stop_the_others(
    owner: Account, later: Later, monkeypatch: pytest.MonkeyPatch
) -> None:
    stuck, other = make_project(owner, name="Stuck"), make_project(owner, name="Other")
    for project in (stuck, other):
        lifecycle.delete_project(project, owner)

    def remember(project: Project) -> None:
        if project == stuck:
            raise DatabaseError("canceling statement due to statement timeout")
        colleagues.remember_members(project)

    monkeypatch.setattr("oidc.projects.lifecycle.remember_members", remember)
    later(31 * DAY)
    assert remove_deleted_projects() == 1
    assert Project.objects.get() == stuck


def test_a_project_that_was_restored_at_the_last_moment_is_not_removed(owner: Account, later: Later) -> None:
    project = make_project(owner)
    lifecycle.delete_project(project, owner)
    listed = Project.objects.get()
    lifecycle.restore_project(project, owner)
    later(31 * DAY)
    assert lifecycle.purge_project(listed) is False
    assert Project.objects.exists()


def test_no_action_works_on_a_removed_project(owner: Account) -> None:
    project = make_project(owner)
    member = ProjectMember.objects.get()
    Project.objects.all().delete()
    steps: list[Callable[[], object]] = [
        lambda: lifecycle.rename_project(project, "Other", owner),
        lambda: lifecycle.delete_project(project, owner),
        lambda: lifecycle.restore_project(project, owner),
        lambda: members.change_role(member, "viewer", owner),
        lambda: members.remove_member(member, owner),
        lambda: members.leave_project(project, owner),
        lambda: members.transfer_ownership(project, member, owner),
    ]
    for step in steps:
        with pytest.raises(Gone):
            step()
