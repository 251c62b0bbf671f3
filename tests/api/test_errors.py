"""Each row of the errors, and the order in which they are found: docs/api.md."""

from datetime import timedelta
from typing import Any

import pytest

from accounts import sources
from accounts.models import Account
from accounts.sources import SourceFailed
from api import keys
from core import clock
from oidc.authorization import consent
from oidc.models import Client, Connection, Project
from tests.api.calls import ME, PLAN, call, refusal
from tests.api.conftest import Key, Mover
from tests.factories import make_access_token, make_client, make_key, make_project

METADATA = "http://localhost:8000/.well-known/oauth-protected-resource"
SCOPES = {ME: "openid profile email", PLAN: "openid account.read"}


def suspend(project: Project) -> None:
    Project.objects.filter(pk=project.pk).update(suspended_at=clock.now())


def turn_off(client: Client) -> None:
    Client.objects.filter(pk=client.pk).update(enabled=False)


class Broken:
    """A source of profiles that is down."""

    def profile(self, account: Account, picture_key: str) -> Any:
        raise SourceFailed("down")


@pytest.fixture
def broken_source() -> None:
    sources._sources = sources._Sources(Broken())


# --- Each row ---


def challenge(path: str, error: str = "") -> str:
    return f'Bearer realm="api", {error}scope="{SCOPES[path]}", resource_metadata="{METADATA}"'


@pytest.mark.parametrize("path", [ME, PLAN])
def test_no_credential(path: str) -> None:
    response = call(path)
    assert refusal(response) == (401, "unauthenticated")
    assert response["WWW-Authenticate"] == challenge(path)


@pytest.mark.parametrize("path", [ME, PLAN])
def test_an_unknown_key(path: str, key: Key) -> None:
    key.row.delete()
    assert refusal(call(path, key.raw)) == (401, "invalid_api_key")


@pytest.mark.parametrize("path", [ME, PLAN])
def test_a_revoked_key(path: str, key: Key) -> None:
    keys.revoke_key(key.row)
    response = call(path, key.raw)
    assert refusal(response) == (401, "invalid_api_key")
    assert response["WWW-Authenticate"] == challenge(path, 'error="invalid_token", ')


def test_an_expired_key(key: Key, later: Mover) -> None:
    key.row.expires_at = clock.now() + timedelta(seconds=30)
    key.row.save()
    assert call(ME, key.raw).status_code == 200
    later(31)
    assert refusal(call(ME, key.raw)) == (401, "invalid_api_key")


@pytest.mark.parametrize("path", [ME, PLAN])
def test_an_expired_token(path: str, token: str, later: Mover) -> None:
    later(901)
    response = call(path, token)
    assert refusal(response) == (401, "invalid_token")
    assert response["WWW-Authenticate"] == challenge(path, 'error="invalid_token", ')


def test_a_token_whose_access_was_removed(token: str) -> None:
    assert call(ME, token).status_code == 200
    consent.remove_consent(Connection.objects.get())
    assert refusal(call(ME, token)) == (401, "invalid_token")


def test_a_token_of_a_client_that_was_turned_off(token: str, spa: Client) -> None:
    turn_off(spa)
    assert refusal(call(ME, token)) == (401, "invalid_token")


def test_a_suspended_project(token: str, spa: Client, key: Key) -> None:
    suspend(spa.project)
    suspend(key.project)
    for credential in (token, key.raw):
        response = call(ME, credential)
        assert refusal(response) == (401, "project_suspended")
        assert response["WWW-Authenticate"] == challenge(ME, 'error="invalid_token", ')


def test_a_project_that_is_back_works_again(token: str, spa: Client) -> None:
    suspend(spa.project)
    Project.objects.filter(pk=spa.project_id).update(suspended_at=None)
    assert call(ME, token).status_code == 200


@pytest.mark.parametrize(("path", "works"), [(ME, "openid profile email"), (PLAN, "openid account.read")])
def test_a_token_without_the_scope(path: str, works: str, spa: Client, person: Account) -> None:
    response = call(path, make_access_token(spa, person, ["openid"]))
    assert refusal(response) == (403, "insufficient_scope")
    assert response["WWW-Authenticate"] == f'Bearer realm="api", error="insufficient_scope", scope="{works}"'


@pytest.mark.parametrize("path", [ME, PLAN])
def test_a_key_without_permissions(path: str, person: Account) -> None:
    _, raw = make_key(make_project(person), person, permissions=[])
    response = call(path, raw)
    assert refusal(response) == (403, "insufficient_scope")
    assert response["WWW-Authenticate"] == 'Bearer realm="api", error="insufficient_scope", scope="openid account.read"'


def test_a_token_with_account_read_alone(approved: Client, person: Account) -> None:
    token = make_access_token(approved, person, ["openid", "account.read"])
    response = call(ME, token)
    assert refusal(response) == (403, "insufficient_scope")
    assert response["WWW-Authenticate"].endswith('error="insufficient_scope", scope="openid profile email"')
    assert call(PLAN, token).status_code == 200


def test_an_unknown_path() -> None:
    assert refusal(call("/v1/calendar")) == (404, "not_found")


def test_too_many_calls(key: Key, mid_minute: Mover, settings: Any) -> None:
    settings.API_CALLS_PER_MINUTE = 2
    assert [call(ME, key.raw).status_code for _ in range(2)] == [200, 200]
    response = call(ME, key.raw)
    assert refusal(response) == (429, "rate_limited")
    assert 1 <= int(response["Retry-After"]) <= 60


def test_a_source_that_is_down(token: str, broken_source: None) -> None:
    assert refusal(call(ME, token)) == (502, "upstream_unavailable")


# --- The order: what is wrong first is said, whatever is wrong besides ---


def test_a_dead_key_of_a_suspended_project_is_dead(key: Key) -> None:
    suspend(key.project)
    keys.revoke_key(key.row)
    assert refusal(call(ME, key.raw)) == (401, "invalid_api_key")


def test_a_dead_token_of_a_suspended_project_is_dead(token: str, spa: Client) -> None:
    suspend(spa.project)
    turn_off(spa)
    assert refusal(call(ME, token)) == (401, "invalid_token")


def test_an_unknown_credential_comes_before_the_limit_of_guesses(key: Key, settings: Any) -> None:
    settings.API_GUESSES_PER_MINUTE = 1
    key.row.delete()
    assert [refusal(call(ME, key.raw))[1] for _ in range(2)] == ["invalid_api_key", "rate_limited"]
    assert refusal(call(ME)) == (401, "unauthenticated")


def test_suspension_comes_before_the_limit(key: Key, mid_minute: Mover, settings: Any) -> None:
    settings.API_CALLS_PER_MINUTE = 1
    for _ in range(2):
        call(ME, key.raw)
    suspend(key.project)
    assert refusal(call(ME, key.raw)) == (401, "project_suspended")


def test_the_limit_comes_before_the_scope(person: Account, mid_minute: Mover, settings: Any) -> None:
    settings.API_CALLS_PER_MINUTE = 1
    _, raw = make_key(make_project(person), person, permissions=[])
    assert [refusal(call(ME, raw))[1] for _ in range(2)] == ["insufficient_scope", "rate_limited"]


def test_the_scope_comes_before_the_source(spa: Client, person: Account, broken_source: None) -> None:
    assert refusal(call(ME, make_access_token(spa, person, ["openid"]))) == (403, "insufficient_scope")


def test_input_is_not_echoed(key: Key) -> None:
    for credential in (key.raw[:-1] + "!", "<script>alert(1)</script>", "eyJhbGciOiJub25lIn0.e30."):
        assert credential not in call(ME, credential).content.decode()


def test_two_keys_two_projects(person: Account) -> None:
    # A refusal of one is none of the other.
    first, second = (make_key(make_project(person), person) for _ in range(2))
    suspend(first[0].project)
    assert refusal(call(ME, first[1])) == (401, "project_suspended")
    assert call(ME, second[1]).status_code == 200


def test_a_client_that_is_off_harms_no_sibling(person: Account) -> None:
    project = make_project()
    off, on = (make_client(project, name=name) for name in ("Off", "On"))
    tokens = [make_access_token(client, person) for client in (off, on)]
    turn_off(off)
    assert [call(ME, token).status_code for token in tokens] == [401, 200]
