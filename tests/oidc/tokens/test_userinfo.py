"""/connect/userinfo (OpenID Connect Core 5.3, RFC 6750)."""

from typing import Any

import pytest
from django.db import OperationalError
from django.test import Client as Browser

from accounts.models import Account
from oidc.models import AccessToken, Connection
from oidc.protocol import server
from tests.relying_party import FORM, RelyingParty, claims_of

PATH = "/connect/userinfo"


@pytest.mark.parametrize(
    ("scope", "claims"),
    [
        ("openid email", {"sub", "email", "email_verified"}),
        ("openid email profile", {"sub", "email", "email_verified", "name", "given_name", "family_name"}),
    ],
)
def test_userinfo_returns_the_claims_of_the_granted_scopes(app: RelyingParty, scope: str, claims: set[str]) -> None:
    response = app.call(PATH, app.tokens(scope=scope)["access_token"])
    assert response.status_code == 200
    assert set(response.json()) == claims


def test_claims_have_the_values_of_the_account(app: RelyingParty) -> None:
    tokens = app.tokens()
    answer = app.call(PATH, tokens["access_token"]).json()
    identity = claims_of(tokens["id_token"])
    assert answer == {name: identity[name] for name in answer}
    assert answer["email"] == "ada@example.com"


def test_post_is_answered_like_get(app: RelyingParty) -> None:
    token = app.tokens()["access_token"]
    checked = Browser(enforce_csrf_checks=True)
    posted = checked.post(PATH, "", content_type=FORM, headers={"Authorization": f"Bearer {token}"})
    assert posted.status_code == 200
    assert posted.json() == app.call(PATH, token).json()


def test_head_is_answered_like_get_without_the_body(app: RelyingParty) -> None:
    headers = {"Authorization": f"Bearer {app.tokens()['access_token']}"}
    got, head = (getattr(Browser(), method)(PATH, headers=headers) for method in ("get", "head"))
    assert (head.status_code, head.content) == (200, b"")
    assert head["Content-Length"] == got["Content-Length"]
    assert Browser().head(PATH).status_code == 401


def test_picture_is_included_and_what_has_no_value_left_out(app: RelyingParty, person: Account) -> None:
    token = app.tokens(scope="openid profile")["access_token"]
    Account.objects.filter(pk=person.pk).update(picture="pictures/x.webp", family_name=None)
    answer = app.call(PATH, token).json()
    assert answer["picture"].startswith("http://localhost:8000/pictures/")
    assert "family_name" not in answer
    assert app.call("/v1/me", token).json()["family_name"] is None


def test_without_a_credential_the_challenge_names_no_error(client: Browser) -> None:
    for headers in ({}, {"Authorization": ""}, {"Authorization": "Basic eDp5"}, {"Authorization": "Bearer"}):
        response = client.get(PATH, headers=headers)
        assert response.status_code == 401
        assert response["WWW-Authenticate"] == 'Bearer realm="userinfo", scope="openid"'
        assert response.json() == {}
        assert response["Cache-Control"] == "no-store"


@pytest.mark.parametrize("token", ["x", "eyJhbGciOiJub25lIn0.e30.", "eyJ", "x" * 20000, "é"])
def test_a_worthless_token_is_invalid_token(spa: Any, client: Browser, token: str) -> None:
    response = client.get(PATH, headers={"Authorization": f"Bearer {token}".encode().decode("latin-1")})
    assert response.status_code == 401
    assert response["WWW-Authenticate"].startswith("Bearer")
    assert "no-store" in response["Cache-Control"]


def test_the_scheme_is_case_insensitive(app: RelyingParty) -> None:
    token = app.tokens()["access_token"]
    for scheme in ("bearer", "BEARER", "Bearer"):
        assert Browser().get(PATH, headers={"Authorization": f"{scheme} {token}"}).status_code == 200


def test_a_token_in_query_body_or_cookie_is_not_read(app: RelyingParty) -> None:
    token = app.tokens()["access_token"]
    assert Browser().get(f"{PATH}?access_token={token}").status_code == 401
    assert Browser().post(PATH, f"access_token={token}", content_type=FORM).status_code == 401
    browser = Browser()
    browser.cookies["access_token"] = token
    assert browser.get(PATH).status_code == 401


def test_a_browser_session_is_not_accepted_as_a_credential(app: RelyingParty) -> None:
    app.tokens()
    assert app.browser.get(PATH).status_code == 401


def test_a_token_without_openid_has_an_insufficient_scope(app: RelyingParty) -> None:
    token = app.tokens()["access_token"]
    AccessToken.objects.update(scope="email")
    response = app.call(PATH, token)
    assert response.status_code == 403
    assert response["WWW-Authenticate"] == (
        'Bearer realm="userinfo", error="insufficient_scope", '
        'error_description="The access token lacks the scope openid.", scope="openid"'
    )


def test_claims_outside_the_consent_are_not_returned(app: RelyingParty) -> None:
    token = app.tokens()["access_token"]
    Connection.objects.update(scopes="openid")
    assert set(app.call(PATH, token).json()) == {"sub"}


def test_a_lost_database_is_503(app: RelyingParty, monkeypatch: pytest.MonkeyPatch) -> None:
    token = app.tokens()["access_token"]

    def lost(*args: Any, **kwargs: Any) -> None:
        raise OperationalError("gone")

    monkeypatch.setattr(server, "find_userinfo_token", lost)
    response = app.call(PATH, token)
    assert response.status_code == 503
    assert "Retry-After" in response
