"""Each row of the errors, and the order in which they are found: docs/api.md."""

from typing import Any

import pytest

from accounts.models import Account
from accounts.profile import sources
from accounts.profile.sources import SourceFailed
from api import keys
from core import clock
from oidc.models import Client, Project
from tests.api.calls import ME, PLAN, call, refusal
from tests.api.conftest import Key, Mover
from tests.factories import make_access_token, make_key, make_project

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
def test_an_expired_token(path: str, token: str, later: Mover) -> None:
    later(901)
    response = call(path, token)
    assert refusal(response) == (401, "invalid_token")
    assert response["WWW-Authenticate"] == challenge(path, 'error="invalid_token", ')


def test_a_suspended_project(token: str, spa: Client, key: Key, person: Account) -> None:
    of_another_project = make_key(make_project(person), person)[1]
    suspend(spa.project)
    suspend(key.project)
    for credential in (token, key.raw):
        response = call(ME, credential)
        assert refusal(response) == (401, "project_suspended")
        assert response["WWW-Authenticate"] == challenge(ME, 'error="invalid_token", ')
    assert call(ME, of_another_project).status_code == 200


def test_a_project_that_is_back_works_again(token: str, spa: Client) -> None:
    suspend(spa.project)
    Project.objects.filter(pk=spa.project_id).update(suspended_at=None)
    assert call(ME, token).status_code == 200


def test_a_token_with_account_read_alone(approved: Client, person: Account) -> None:
    token = make_access_token(approved, person, ["openid", "account.read"])
    response = call(ME, token)
    assert refusal(response) == (403, "insufficient_scope")
    assert response["WWW-Authenticate"].endswith('error="insufficient_scope", scope="openid profile email"')
    assert call(PLAN, token).status_code == 200


# --- The order: what is wrong first is said, whatever is wrong besides ---


def test_a_dead_key_of_a_suspended_project_is_dead(key: Key) -> None:
    suspend(key.project)
    keys.API_KEYS.revoke(key.row)
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
