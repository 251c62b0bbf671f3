"""CORS: on what browser apps call, errors and preflights included; never on pages; never with credentials."""

from typing import Any

import pytest
from django.test import Client as Browser

from tests.relying_party import FORM, RelyingParty

ORIGIN = "https://app.example.com"
CALLED = {
    "/connect/token": "POST",
    "/connect/userinfo": "GET",
    "/connect/revoke": "POST",
    "/.well-known/openid-configuration": "GET",
    "http://localhost//.well-known/openid-configuration": "GET",
    "/.well-known/oauth-authorization-server": "GET",
    "http://localhost//.well-known/oauth-authorization-server": "GET",
    "/.well-known/oauth-protected-resource": "GET",
    "/.well-known/jwks": "GET",
}
pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(("path", "method"), CALLED.items())
def test_a_preflight_is_answered(client: Browser, path: str, method: str) -> None:
    headers = {
        "Origin": ORIGIN,
        "Access-Control-Request-Method": method,
        "Access-Control-Request-Headers": "authorization,content-type",
    }
    response = client.options(path, headers=headers)
    assert response.status_code in (200, 204)
    assert response["Access-Control-Allow-Origin"] == "*"
    assert method in response["Access-Control-Allow-Methods"]
    allowed = set(response["Access-Control-Allow-Headers"].lower().split(", "))
    assert {"authorization", "content-type"} <= allowed
    # Monitoring tools and older libraries add these to every request of a page.
    assert {"traceparent", "tracestate", "x-requested-with"} <= allowed
    assert "Access-Control-Allow-Credentials" not in response


@pytest.mark.parametrize(("path", "method"), CALLED.items())
@pytest.mark.parametrize("headers", [{}, {"Origin": ORIGIN}, {"Origin": "null"}])
def test_answers_and_errors_may_be_read_by_any_origin(
    client: Browser, path: str, method: str, headers: dict[str, str]
) -> None:
    response = getattr(client, method.lower())(path, headers=headers)
    assert response["Access-Control-Allow-Origin"] == "*"
    assert "Access-Control-Allow-Credentials" not in response


@pytest.mark.parametrize("path", CALLED)
@pytest.mark.parametrize("method", ["delete", "put"])
def test_even_a_wrong_method_may_be_read(client: Browser, path: str, method: str) -> None:
    response = getattr(client, method)(path, headers={"Origin": ORIGIN})
    assert response.status_code == 405
    assert response["Access-Control-Allow-Origin"] == "*"


def test_success_may_be_read_too(app: RelyingParty) -> None:
    tokens = app.exchange(app.code())
    assert tokens["Access-Control-Allow-Origin"] == "*"
    info = app.call("/connect/userinfo", tokens.json()["access_token"])
    assert info["Access-Control-Allow-Origin"] == "*"
    revoked = app.post("/connect/revoke", {"token": "x"} | app.credentials())
    assert revoked["Access-Control-Allow-Origin"] == "*"


def test_bad_input_may_be_read_too(client: Browser) -> None:
    for path in ("/.well-known/jwks?x=%00", "/.well-known/openid-configuration?x=%ff"):
        assert client.get(path)["Access-Control-Allow-Origin"] == "*"
    response = client.post("/connect/token", "x=%00", content_type=FORM)
    assert response["Access-Control-Allow-Origin"] == "*"


def test_the_challenge_can_be_read(client: Browser) -> None:
    response = client.get("/connect/userinfo")
    assert "WWW-Authenticate" in response["Access-Control-Expose-Headers"]


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/connect/authorize",
        "/connect/consent",
        "/connect/resume",
        "/connect/logout",
        "/connect/signed-out",
        "/account/",
        "/account/login/",
        "/account/apps/",
        "/connect/token/",
        "/admin/",
    ],
)
@pytest.mark.parametrize("method", ["get", "options"])
def test_pages_have_none(client: Browser, path: str, method: str) -> None:
    headers = {"Origin": ORIGIN, "Access-Control-Request-Method": "GET"}
    response: Any = getattr(client, method)(path, headers=headers)
    assert "Access-Control-Allow-Origin" not in response
    assert "Access-Control-Allow-Methods" not in response
