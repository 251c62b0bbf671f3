"""POST /connect/token with a refresh token (RFC 6749 §6, RFC 9700 §4.14.2)."""

import logging
from collections.abc import Callable

import pytest

from accounts.models import Account
from core.audit import Event
from oidc.models import AccessToken, Client, Connection, RefreshToken, TokenFamily
from tests.factories import make_client
from tests.oidc.tokens.test_code_exchange import error_of
from tests.relying_party import RelyingParty, claims_of

DAY = 24 * 3600


INVALID_GRANT = (400, "invalid_grant")


# --- Rotation ---


def test_each_refresh_gives_a_new_pair(app: RelyingParty) -> None:
    first = app.tokens()
    second = app.refresh(first["refresh_token"]).json()
    assert set(second) == {"access_token", "token_type", "expires_in", "id_token", "refresh_token", "scope"}
    assert second["refresh_token"] != first["refresh_token"]
    assert second["access_token"] != first["access_token"]
    assert second["scope"] == first["scope"]
    assert second["expires_in"] == 900
    assert TokenFamily.objects.count() == RefreshToken.objects.filter(revoked=None).count() == 1
    assert app.refresh(second["refresh_token"]).status_code == 200


def test_earlier_access_tokens_stay_valid_until_they_expire(app: RelyingParty) -> None:
    first = app.tokens()
    app.refresh(first["refresh_token"])
    assert app.call("/connect/userinfo", first["access_token"]).status_code == 200


def test_the_id_token_keeps_who_and_when_and_has_no_nonce(app: RelyingParty, later: Callable[[float], None]) -> None:
    first = app.tokens()
    later(3600)
    refreshed = app.refresh(first["refresh_token"]).json()
    before, after = claims_of(first["id_token"]), claims_of(refreshed["id_token"])
    for name in ("iss", "sub", "aud", "auth_time", "email"):
        assert after[name] == before[name]
    assert "nonce" not in after
    assert after["iat"] >= before["iat"] + 3600
    assert set(after) == set(before) - {"nonce"}


# --- Reuse ---


def test_a_superseded_token_that_is_repeated_immediately_is_only_rejected(
    app: RelyingParty, later: Callable[[float], None]
) -> None:
    first = app.tokens()
    second = app.refresh(first["refresh_token"]).json()
    later(4)
    assert error_of(app.refresh(first["refresh_token"])) == INVALID_GRANT
    assert app.call("/connect/userinfo", second["access_token"]).status_code == 200
    assert app.refresh(second["refresh_token"]).status_code == 200


def test_a_superseded_token_sent_again_later_ends_the_family(
    app: RelyingParty, later: Callable[[float], None], caplog: pytest.LogCaptureFixture, events: list[Event]
) -> None:
    first = app.tokens()
    second = app.refresh(first["refresh_token"]).json()
    later(11)
    events.clear()
    with caplog.at_level(logging.WARNING):
        assert error_of(app.refresh(first["refresh_token"])) == INVALID_GRANT
    assert [event.action for event in events] == ["family.ended", "sign_in.refused"]
    assert app.call("/connect/userinfo", second["access_token"]).status_code == 401
    assert app.call("/v1/me", second["access_token"]).status_code == 401
    assert error_of(app.refresh(second["refresh_token"])) == INVALID_GRANT
    assert "superseded refresh token" in caplog.text
    assert first["refresh_token"] not in caplog.text


def test_an_even_older_refresh_token_ends_the_family(app: RelyingParty, later: Callable[[float], None]) -> None:
    first = app.tokens()
    second = app.refresh(first["refresh_token"]).json()
    third = app.refresh(second["refresh_token"]).json()
    later(11)
    app.refresh(first["refresh_token"])
    assert error_of(app.refresh(third["refresh_token"])) == INVALID_GRANT


def test_reuse_by_another_client_ends_nothing(
    app: RelyingParty, web_app: RelyingParty, later: Callable[[float], None]
) -> None:
    first = app.tokens()
    second = app.refresh(first["refresh_token"]).json()
    later(11)
    assert error_of(web_app.refresh(first["refresh_token"])) == INVALID_GRANT
    assert app.refresh(second["refresh_token"]).status_code == 200


def test_reuse_ends_one_family_and_keeps_the_others_and_the_consent(
    app: RelyingParty, later: Callable[[float], None]
) -> None:
    first, other = app.tokens(), app.tokens()
    app.refresh(first["refresh_token"])
    later(11)
    app.refresh(first["refresh_token"])
    assert app.refresh(other["refresh_token"]).status_code == 200
    assert app.tokens()["token_type"] == "Bearer"


# --- Scopes ---


def test_scope_may_be_narrowed(app: RelyingParty) -> None:
    answer = app.refresh(app.tokens()["refresh_token"], scope="openid email").json()
    assert answer["scope"] == "openid email"
    claims = claims_of(answer["id_token"])
    assert "email" in claims
    assert "name" not in claims
    assert claims_of(answer["access_token"])["scope"] == "openid email"
    assert "name" not in app.call("/connect/userinfo", answer["access_token"]).json()


def test_narrowing_once_does_not_narrow_the_refresh_token(app: RelyingParty) -> None:
    narrowed = app.refresh(app.tokens()["refresh_token"], scope="email").json()
    assert narrowed["scope"] == "openid email", "openid stays, so that there is an ID token"
    assert "id_token" in narrowed
    assert app.refresh(narrowed["refresh_token"]).json()["scope"] == "openid email profile offline_access"


@pytest.mark.parametrize("scope", ["openid profile", "openid account.read", "openid email nonsense", "openid Email"])
def test_scope_is_never_widened(app: RelyingParty, scope: str) -> None:
    tokens = app.tokens(scope="openid email offline_access")
    assert error_of(app.refresh(tokens["refresh_token"], scope=scope)) == (400, "invalid_scope")
    assert app.refresh(tokens["refresh_token"]).status_code == 200


@pytest.mark.parametrize(
    ("scope", "returned"),
    [
        ("openid  email", "openid email"),
        (" email openid  email ", "email openid"),
        ("email  email", "openid email"),
        ("  ", "openid email profile offline_access"),
    ],
)
def test_extra_spaces_and_repeated_scopes_change_nothing(app: RelyingParty, scope: str, returned: str) -> None:
    """A scope of spaces only counts as omitted, like an empty one."""
    response = app.refresh(app.tokens()["refresh_token"], scope=scope)
    assert response.json()["scope"] == returned


def test_scope_is_not_widened_by_a_later_consent(app: RelyingParty) -> None:
    tokens = app.tokens(scope="openid offline_access")
    app.tokens(scope="openid email profile")
    assert app.refresh(tokens["refresh_token"]).json()["scope"] == "openid offline_access"


def test_a_withdrawn_approval_narrows_what_a_refresh_yields(app: RelyingParty) -> None:
    Client.objects.filter(pk=app.client.pk).update(approved_scopes="account.read")
    tokens = app.tokens(scope="openid account.read offline_access")
    Client.objects.filter(pk=app.client.pk).update(approved_scopes="")
    answer = app.refresh(tokens["refresh_token"]).json()
    assert answer["scope"] == "openid offline_access"
    assert error_of(app.refresh(answer["refresh_token"], scope="openid account.read")) == (400, "invalid_scope")


def test_a_narrowed_consent_narrows_what_a_refresh_yields(app: RelyingParty) -> None:
    tokens = app.tokens()
    Connection.objects.update(scopes="openid offline_access")
    answer = app.refresh(tokens["refresh_token"]).json()
    assert answer["scope"] == "openid offline_access"
    assert "email" not in claims_of(answer["id_token"])


# --- Lifetime ---


def test_a_refresh_token_lives_thirty_days_from_its_issue(app: RelyingParty, later: Callable[[float], None]) -> None:
    first, second = app.tokens(), app.tokens()
    later(30 * DAY - 30)
    assert app.refresh(first["refresh_token"]).status_code == 200
    later(30)
    assert error_of(app.refresh(second["refresh_token"])) == INVALID_GRANT


def test_each_refresh_token_lives_thirty_days(app: RelyingParty, later: Callable[[float], None]) -> None:
    token = app.tokens()["refresh_token"]
    for _ in range(3):
        later(25 * DAY)
        token = app.refresh(token).json()["refresh_token"]


def test_its_life_does_not_hang_on_the_access_token(app: RelyingParty, later: Callable[[float], None]) -> None:
    tokens = app.tokens()
    later(DAY)
    AccessToken.objects.all().delete()
    assert app.refresh(tokens["refresh_token"]).status_code == 200


# --- What it rests on ---


def test_it_is_bound_to_its_client(app: RelyingParty, web_app: RelyingParty) -> None:
    tokens = app.tokens()
    assert error_of(web_app.refresh(tokens["refresh_token"])) == INVALID_GRANT
    sibling = RelyingParty(make_client(app.client.project, name="Orbit Mobile"), app.browser)
    assert error_of(sibling.refresh(tokens["refresh_token"])) == INVALID_GRANT
    assert app.refresh(tokens["refresh_token"]).status_code == 200


def test_a_web_client_authenticates(web_app: RelyingParty) -> None:
    tokens = web_app.tokens()
    form = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
    response = web_app.post("/connect/token", form | {"client_id": web_app.client.client_id})
    assert error_of(response) == (401, "invalid_client")
    assert web_app.refresh(tokens["refresh_token"]).status_code == 200


def test_deactivation_by_a_bulk_update_counts_too(app: RelyingParty) -> None:
    tokens = app.tokens()
    Account.objects.update(is_active=False)
    assert error_of(app.refresh(tokens["refresh_token"])) == INVALID_GRANT


@pytest.mark.parametrize("token", ["nonsense", "x" * 5000, "é", " "])
def test_other_strings_are_invalid_grant(app: RelyingParty, token: str) -> None:
    assert error_of(app.refresh(token)) == INVALID_GRANT


def test_other_credentials_are_no_refresh_tokens(app: RelyingParty) -> None:
    code = app.code()
    assert error_of(app.refresh(code)) == INVALID_GRANT
    tokens = app.exchange(code).json()
    for name in ("access_token", "id_token"):
        assert error_of(app.refresh(tokens[name])) == INVALID_GRANT
    assert error_of(app.exchange(tokens["refresh_token"])) == INVALID_GRANT
