"""POST /connect/token with an authorization code (RFC 6749 §4.1.3)."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import pytest
from django.db import OperationalError
from django.test import Client as Browser

from core.credentials import digest
from oidc.models import AccessToken, AuthorizationCode, Client, RefreshToken, SigningKey, TokenFamily
from oidc.tasks import clear_expired
from oidc.tokens import authentication, signing_keys
from tests.factories import REDIRECT_URI, make_client
from tests.relying_party import FORM, RelyingParty


def error_of(response: Any) -> tuple[int, str]:
    return response.status_code, response.json()["error"]


# --- The answer ---


def test_the_answer_has_exactly_these_members(app: RelyingParty) -> None:
    tokens = app.tokens()
    assert set(tokens) == {"access_token", "token_type", "expires_in", "id_token", "refresh_token", "scope"}
    assert (tokens["token_type"], tokens["expires_in"]) == ("Bearer", 900)
    assert tokens["scope"] == "openid email profile offline_access"


def test_without_offline_access_there_is_no_refresh_token(app: RelyingParty) -> None:
    tokens = app.tokens(scope="openid email")
    assert set(tokens) == {"access_token", "token_type", "expires_in", "id_token", "scope"}
    assert not RefreshToken.objects.exists()


def test_answers_and_errors_are_not_stored(app: RelyingParty) -> None:
    for response in (app.exchange(app.code()), app.exchange("nonsense")):
        assert response["Cache-Control"] == "no-store"
        assert response["Pragma"] == "no-cache"
        assert response["Content-Type"] == "application/json"
        assert not response.cookies


# --- The code ---


def test_a_code_lives_sixty_seconds(app: RelyingParty, later: Callable[[float], None]) -> None:
    code = app.code()
    later(45)
    assert app.exchange(code).status_code == 200
    code = app.code()
    later(60)
    assert error_of(app.exchange(code)) == (400, "invalid_grant")
    assert AccessToken.objects.count() == 1


def test_a_code_works_once_and_a_replay_ends_its_tokens(app: RelyingParty) -> None:
    code = app.code()
    tokens = app.exchange(code).json()
    assert error_of(app.exchange(code)) == (400, "invalid_grant")
    assert app.call("/connect/userinfo", tokens["access_token"]).status_code == 401
    assert app.call("/v1/me", tokens["access_token"]).status_code == 401
    assert error_of(app.refresh(tokens["refresh_token"])) == (400, "invalid_grant")
    assert app.tokens(prompt="none")["token_type"] == "Bearer", "the consent stays"


def test_a_replay_after_a_refresh_ends_the_refreshed_tokens_too(app: RelyingParty) -> None:
    code = app.code()
    refreshed = app.refresh(app.exchange(code).json()["refresh_token"]).json()
    app.exchange(code)
    assert app.call("/connect/userinfo", refreshed["access_token"]).status_code == 401
    assert error_of(app.refresh(refreshed["refresh_token"])) == (400, "invalid_grant")


def test_a_replay_hours_later_is_still_noticed(app: RelyingParty, later: Callable[[float], None]) -> None:
    code = app.code()
    tokens = app.exchange(code).json()
    later(3600)
    clear_expired()
    app.exchange(code)
    assert error_of(app.refresh(tokens["refresh_token"])) == (400, "invalid_grant")


def test_a_replay_by_another_client_ends_nothing(app: RelyingParty, web_app: RelyingParty) -> None:
    code = app.code()
    assert error_of(web_app.exchange(code, code_verifier=app.verifier)) == (400, "invalid_grant")
    tokens = app.exchange(code).json()
    assert error_of(web_app.exchange(code, code_verifier=app.verifier)) == (400, "invalid_grant")
    assert app.call("/connect/userinfo", tokens["access_token"]).status_code == 200
    assert app.refresh(tokens["refresh_token"]).status_code == 200


def test_a_replay_without_authentication_ends_nothing(web_app: RelyingParty) -> None:
    code = web_app.code()
    tokens = web_app.exchange(code).json()
    assert error_of(web_app.exchange(code, client_secret="wrong")) == (401, "invalid_client")
    assert web_app.call("/connect/userinfo", tokens["access_token"]).status_code == 200


def test_a_code_belongs_to_one_client_even_within_a_project(app: RelyingParty) -> None:
    sibling = RelyingParty(make_client(app.client.project, name="Orbit Mobile"), app.browser)
    assert error_of(sibling.exchange(app.code(), code_verifier=app.verifier)) == (400, "invalid_grant")


def test_a_wrong_redirect_uri_leaves_the_code_valid(app: RelyingParty) -> None:
    code = app.code()
    app.exchange(code, redirect_uri="https://app.example.com/other")
    assert app.exchange(code).status_code == 200


def test_a_scope_sent_with_the_code_changes_nothing(app: RelyingParty) -> None:
    response = app.exchange(app.code(scope="openid"), scope="openid email profile")
    assert response.json()["scope"] == "openid"


@pytest.mark.parametrize(
    "more",
    [
        {"response_type": "token"},
        {"nonce": "another"},
    ],
)
def test_parameters_of_other_requests_change_nothing(app: RelyingParty, more: dict[str, str]) -> None:
    tokens = app.exchange(app.code(), **more).json()
    assert {"id_token", "refresh_token"} <= set(tokens)


@pytest.mark.parametrize(
    "grant_type",
    [
        "password",
        "client_credentials",
        "urn:ietf:params:oauth:grant-type:device_code",
        "AUTHORIZATION_CODE",
        "openid",
    ],
)
def test_other_grant_types_are_unsupported(web_app: RelyingParty, grant_type: str) -> None:
    form = {"grant_type": grant_type, "username": "ada@example.com", "password": "x", "scope": "openid", "code": "x"}
    response = web_app.post("/connect/token", form | web_app.credentials())
    assert error_of(response) == (400, "unsupported_grant_type")


# --- What a code rests on ---


def test_a_withdrawn_approval_narrows_what_a_code_gives(app: RelyingParty) -> None:
    Client.objects.filter(pk=app.client.pk).update(approved_scopes="account.read")
    code = app.code(scope="openid account.read")
    Client.objects.filter(pk=app.client.pk).update(approved_scopes="")
    assert app.exchange(code).json()["scope"] == "openid"


# --- What is kept ---


def test_no_raw_credential_is_stored(web_app: RelyingParty) -> None:
    code = web_app.code()
    tokens = web_app.exchange(code).json()
    assert AuthorizationCode.objects.get().code == digest(code)
    secrets = [code, tokens["access_token"], tokens["refresh_token"], tokens["id_token"], web_app.secret]
    stored = [
        str(value)
        for model in (AuthorizationCode, AccessToken, RefreshToken, TokenFamily, Client)
        for row in model.objects.values_list()
        for value in row
    ]
    stored += [str(value) for row in web_app.client.secrets.values_list() for value in row]
    for secret in secrets:
        assert secret is not None
        assert not any(secret in value for value in stored)


def test_each_credential_is_long_and_unique(app: RelyingParty) -> None:
    codes = {app.code() for _ in range(3)}
    refresh_tokens = {app.tokens()["refresh_token"] for _ in range(3)}
    assert len(codes) == len(refresh_tokens) == 3
    # RFC 6749 §10.10: at least 128 bits, which 22 characters of 62 carry
    assert all(len(text) >= 22 for text in codes | refresh_tokens)


# --- Requests that are none ---


def test_secrets_and_codes_in_the_query_are_refused(web_app: RelyingParty) -> None:
    code = web_app.code()
    body = f"grant_type=authorization_code&code_verifier={web_app.verifier}&redirect_uri={REDIRECT_URI}"
    for query in (
        f"client_id={web_app.client.client_id}&client_secret={web_app.secret}&code={code}",
        f"client_secret={web_app.secret}",
        f"code={code}",
        "x=1",
    ):
        response = Browser().post(f"/connect/token?{query}", body, content_type=FORM)
        assert error_of(response) == (400, "invalid_request")
    assert web_app.exchange(code).status_code == 200


def form_of(app: RelyingParty) -> dict[str, str]:
    """Return the form of an exchange by a public client."""
    return {
        "grant_type": "authorization_code",
        "code": app.code(),
        "redirect_uri": REDIRECT_URI,
        "code_verifier": app.verifier,
        "client_id": app.client.client_id,
    }


@pytest.mark.parametrize("name", ["code", "client_id", "code_verifier", "unknown"])
def test_a_repeated_parameter_is_invalid_request(app: RelyingParty, name: str) -> None:
    form = form_of(app) | {"unknown": "x"}
    response = Browser().post("/connect/token", f"{urlencode(form)}&{urlencode({name: form[name]})}", content_type=FORM)
    assert error_of(response) == (400, "invalid_request")
    assert not AccessToken.objects.exists()


def test_the_browsers_session_plays_no_part(app: RelyingParty) -> None:
    form = form_of(app)
    checked = Browser(enforce_csrf_checks=True)
    checked.cookies.load({"openport_session": "x" * 32})
    answer = checked.post("/connect/token", urlencode(form), content_type=f"{FORM}; charset=UTF-8")
    assert answer.status_code == 200


# --- Faults ---


def test_a_lost_database_is_503(app: RelyingParty, monkeypatch: pytest.MonkeyPatch) -> None:
    def lost(*args: Any, **kwargs: Any) -> None:
        raise OperationalError("gone")

    code = app.code()
    monkeypatch.setattr(authentication, "authenticate_client", lost)
    response = app.exchange(code)
    assert response.status_code == 503
    assert int(response["Retry-After"]) > 0
    assert "gone" not in response.content.decode()
    assert response["Access-Control-Allow-Origin"] == "*"
    monkeypatch.undo()
    assert app.exchange(code).status_code == 200


def test_without_a_signing_key_it_is_503_and_no_substitute_signs(app: RelyingParty) -> None:
    code = app.code()
    SigningKey.objects.all().delete()
    signing_keys.clear_keyring()
    response = app.exchange(code)
    assert response.status_code == 503
    assert "Retry-After" in response
    assert not AccessToken.objects.exists()
