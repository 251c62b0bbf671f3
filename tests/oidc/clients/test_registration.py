"""Clients, as their developers change them: what is checked, what ends, what the trail is told."""

from typing import Any

import pytest
from django.core.exceptions import ValidationError

from accounts.models import Account, PairwiseSubject
from core import clock
from core.audit import Event
from oidc.clients.registration import create_client, delete_client, set_client_enabled, update_client
from oidc.clients.secrets import change_type, create_secret
from oidc.models import (
    AccessToken,
    AuthorizationCode,
    Client,
    ClientSecret,
    Connection,
    Project,
    ProjectMember,
    RefreshToken,
    TokenFamily,
)
from oidc.projects import lifecycle
from oidc.projects.lifecycle import QuotaExceeded
from oidc.projects.roles import Gone
from tests.at_once import at_once
from tests.core.test_names import DISGUISES
from tests.factories import make_account, make_client, make_project, make_web_client
from tests.relying_party import RelyingParty

URI = "https://app.example.com/callback"


@pytest.fixture
def actor(db: None) -> Account:
    return make_account("dev@example.com")


@pytest.fixture
def project(actor: Account) -> Project:
    return make_project(actor)


# --- Making ---


def test_a_new_client_has_only_the_requested_settings(project: Project, actor: Account, events: list[Event]) -> None:
    client = create_client(project, actor, "  Orbit Notes ", "web", [URI, URI, ""], ["https://app.example.com/bye"])
    client.refresh_from_db()
    assert (client.name, client.type, client.project) == ("Orbit Notes", "web", project)
    assert client.registered_redirect_uris == (URI,)
    assert client.registered_post_logout_redirect_uris == ("https://app.example.com/bye",)
    assert (client.enabled, client.first_party, client.verified_at, client.approved_scopes) == (True, False, None, "")
    assert client.client_secret == ""
    assert client.algorithm == "RS256"
    (event,) = events
    assert (event.action, event.actor, event.project) == ("client.created", actor.pk, project.public_id)
    assert event.target == client.client_id
    assert event.after == {
        "name": "Orbit Notes",
        "type": "web",
        "redirect_uris": [URI],
        "post_logout_redirect_uris": ["https://app.example.com/bye"],
        "optional_scopes": [],
        "enabled": True,
        "least_acr": "",
        "forgive_lost_responses": False,
    }


@pytest.mark.parametrize(
    ("name", "kind", "redirects", "sign_outs"),
    [
        ("", "web", [URI], []),
        ("x" * 101, "web", [URI], []),
        (DISGUISES[8], "web", [URI], []),
        ("Notes", "device", [URI], []),
        ("Notes", "web", [], []),
        ("Notes", "web", ["http://app.example.com/"], []),
        ("Notes", "web", [f"{URI}{number}" for number in range(51)], []),
        ("Notes", "web", [URI], ["myapp://bye"]),
        ("Notes", "web", [URI], [f"{URI}{number}" for number in range(21)]),
    ],
)
def test_errors_when_creating_a_client(
    project: Project, actor: Account, events: list[Event], name: str, kind: str, redirects: list[str], sign_outs: Any
) -> None:
    with pytest.raises(ValidationError):
        create_client(project, actor, name, kind, redirects, sign_outs)
    assert not Client.objects.exists()
    assert events == []


def test_a_deleted_project_gets_no_client(project: Project, actor: Account) -> None:
    lifecycle.delete_project(project, actor)
    with pytest.raises(Gone):
        create_client(project, actor, "Late", "spa", [URI])


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_the_limit_holds_for_ten_concurrent_requests(settings: Any) -> None:
    settings.CLIENTS_PER_PROJECT = 3
    actor = make_account()
    project = make_project(actor)

    def make(number: int) -> bool:
        try:
            create_client(project, actor, f"App {number}", "spa", [URI])
        except QuotaExceeded:
            return False
        return True

    assert sum(at_once(10, make)) == Client.objects.count() == 3


# --- Setting ---


def test_a_changed_setting_is_in_the_audit_trail_with_its_old_value(actor: Account, events: list[Event]) -> None:
    client = make_client()
    for _ in range(2):  # the second time, nothing changes
        changed = update_client(client, actor, [URI, f"{URI}/"], ["https://app.example.com/bye"], name="Orbit Diary")
    assert (changed.name, changed.registered_redirect_uris) == ("Orbit Diary", (URI, f"{URI}/"))
    assert Client.objects.get().name == "Orbit Diary"
    (event,) = events
    assert (event.action, event.actor, event.target) == ("client.changed", actor.pk, client.client_id)
    assert event.before == {"name": "Orbit Notes", "redirect_uris": [URI]}
    assert event.after == {"name": "Orbit Diary", "redirect_uris": [URI, f"{URI}/"]}


def test_the_name_of_a_verified_client_changes_through_review_alone(actor: Account) -> None:
    client = make_client(verified_at=clock.now())
    with pytest.raises(ValidationError, match="through review"):
        update_client(client, actor, [URI], [], name="Something Else")
    update_client(client, actor, [f"{URI}2"], [], name="Orbit Notes")
    assert Client.objects.get().registered_redirect_uris == (f"{URI}2",)


@pytest.mark.parametrize(
    ("redirects", "sign_outs", "name"),
    [
        ([], [], None),
        (["http://app.example.com/"], [], None),
        ([URI], ["https://app.example.com/#x"], None),
        ([URI], [], "Open\u200bport"),
        ([URI], [], " "),
    ],
)
def test_errors_when_changing_settings(
    actor: Account, events: list[Event], redirects: Any, sign_outs: Any, name: Any
) -> None:
    client = make_client()
    with pytest.raises(ValidationError):
        update_client(client, actor, redirects, sign_outs, name)
    again = Client.objects.get()
    assert (again.name, again.redirect_uris) == (client.name, client.redirect_uris)
    assert again.post_logout_redirect_uris == client.post_logout_redirect_uris
    assert events == []


def test_saving_a_stale_copy_keeps_changes_of_others(actor: Account) -> None:
    client = make_client()
    stale = Client.objects.get()
    set_client_enabled(client, actor, False)
    update_client(stale, actor, [URI], [])
    change_type(stale, "native", actor)
    assert Client.objects.get().enabled is False


def test_a_client_that_was_deleted_in_the_meantime_is_not_found(actor: Account) -> None:
    client = make_client()
    delete_client(Client.objects.get(), actor)
    with pytest.raises(Gone):
        update_client(client, actor, [URI], [])
    with pytest.raises(Gone):
        set_client_enabled(client, actor, False)
    with pytest.raises(Gone):
        change_type(client, "web", actor)
    with pytest.raises(Gone):
        create_secret(client, actor)
    delete_client(client, actor)


# --- Off and on ---


def test_a_client_is_turned_off_and_on(app: RelyingParty, actor: Account, events: list[Event]) -> None:
    tokens = app.tokens()
    set_client_enabled(app.client, actor, False)
    set_client_enabled(app.client, actor, False)
    assert app.call("/v1/me", tokens["access_token"]).status_code == 401
    assert b"unavailable" in app.authorize().content
    set_client_enabled(app.client, actor, True)
    assert app.call("/v1/me", tokens["access_token"]).status_code == 200
    switched = [event for event in events if event.action.startswith("client.turned")]
    assert [(event.action, event.before, event.after) for event in switched] == [
        ("client.turned_off", {"enabled": True}, {"enabled": False}),
        ("client.turned_on", {"enabled": False}, {"enabled": True}),
    ]


# --- Secrets and types ---


def test_a_change_of_type_is_in_the_audit_trail(actor: Account, events: list[Event]) -> None:
    client, _ = make_web_client()
    events.clear()
    change_type(client, "spa", actor)
    change_type(client, "spa", actor)
    (event,) = events
    assert (event.action, event.actor) == ("client.type_changed", actor.pk)
    assert (event.before, event.after) == ({"type": "web"}, {"type": "spa"})
    assert Client.objects.get().client_type == Client.CLIENT_PUBLIC


def test_a_stale_copy_gets_no_secret_once_the_type_has_none(actor: Account) -> None:
    client, _ = make_web_client()
    stale = Client.objects.get()
    change_type(client, "spa", actor)
    with pytest.raises(ValueError, match="only web"):
        create_secret(stale, actor)
    assert not ClientSecret.objects.filter(revoked_at=None).exists()


# --- Deletion ---


def test_deletion_ends_all_credentials_and_is_in_the_audit_trail(
    app: RelyingParty, web_app: RelyingParty, actor: Account, events: list[Event]
) -> None:
    others = web_app.tokens()
    code, tokens = app.code(), app.tokens()
    app.refresh(tokens["refresh_token"])
    sub = PairwiseSubject.objects.get(sector=app.client.project.public_id).sub
    delete_client(app.client, actor)
    assert app.exchange(code).status_code == 401
    assert app.refresh(tokens["refresh_token"]).status_code == 401
    assert app.call("/v1/me", tokens["access_token"]).status_code == 401
    assert app.call("/connect/userinfo", tokens["access_token"]).status_code == 401
    assert app.authorize().status_code == 400
    for model in (AccessToken, RefreshToken, AuthorizationCode, TokenFamily, Connection, Client):
        assert set(model.objects.values_list("pk", flat=True)) == _left(model), model
    assert web_app.refresh(others["refresh_token"]).status_code == 200
    assert PairwiseSubject.objects.filter(sub=sub).exists()
    (event,) = [event for event in events if event.action == "client.deleted"]
    assert (event.actor, event.target) == (actor.pk, app.client.client_id)
    assert event.before["name"] == "Orbit Notes"
    assert event.after == {}


def _left(model: Any) -> set[int]:
    """Return what belongs to the clients that are left."""
    if model is Client:
        return set(Client.objects.filter(name="Web Notes").values_list("pk", flat=True))
    paths = {Connection: "client", TokenFamily: "connection__client"}
    path = paths.get(model, "family__connection__client")
    return set(model.objects.filter(**{f"{path}__name": "Web Notes"}).values_list("pk", flat=True))


def test_deletion_takes_a_statement_for_each_kind(
    app: RelyingParty, actor: Account, django_assert_max_num_queries: Any
) -> None:
    tokens = app.tokens()
    for _ in range(20):
        tokens = app.refresh(tokens["refresh_token"]).json()
    with django_assert_max_num_queries(39):
        delete_client(app.client, actor)


def test_members_who_created_clients_can_leave_the_project(actor: Account, project: Project) -> None:
    client, _ = make_web_client(project)
    create_secret(client, actor)
    ProjectMember.objects.filter(account=actor).delete()
    actor.delete()
    assert ClientSecret.objects.filter(created_by=None).count() == 2
    assert Client.objects.filter(pk=client.pk).exists()
