"""CORS: on what browser apps call, errors and preflights included; never on pages; never with credentials."""

import pytest
from django.test import Client as Browser

from tests.relying_party import FORM, RelyingParty

ORIGIN = "https://app.example.com"
# The headers of the request itself, and some that monitoring tools and libraries add to every request of a page.
ASKED_HEADERS = "authorization,baggage,cache-control,content-type,request-id,sentry-trace,x-datadog-trace-id"
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
        "Access-Control-Request-Headers": ASKED_HEADERS,
    }
    response = client.options(path, headers=headers)
    assert response.status_code in (200, 204)
    assert response["Access-Control-Allow-Origin"] == "*"
    assert method in response["Access-Control-Allow-Methods"]
    assert response["Access-Control-Allow-Headers"].split(", ") == ASKED_HEADERS.split(",")
    assert response["Vary"] == "Access-Control-Request-Headers"
    assert "Access-Control-Allow-Credentials" not in response


@pytest.mark.parametrize(
    ("asked", "allowed"),
    [
        ("Authorization , X-A\t,x-b", "Authorization, X-A, x-b"),
        ("!#$%&'*+.^_`|~0a", "!#$%&'*+.^_`|~0a"),
        ("a" * 2048, "a" * 2048),
        *dict.fromkeys(
            ["", "a,,b", "a b", "a:b", 'a"b', "a\r\nSet-Cookie: x=1", "a\x00", "\u00e9", "a" * 2049],
            "Authorization, *",
        ).items(),
    ],
)
@pytest.mark.parametrize("path", ["/connect/token", "/v1/me"])
def test_only_names_of_headers_are_repeated(client: Browser, path: str, asked: str, allowed: str) -> None:
    headers = {"Access-Control-Request-Method": "GET", "Access-Control-Request-Headers": asked}
    assert client.options(path, headers=headers)["Access-Control-Allow-Headers"] == allowed


@pytest.mark.parametrize("path", CALLED)
def test_even_a_wrong_method_may_be_read(client: Browser, path: str) -> None:
    response = client.delete(path, headers={"Origin": ORIGIN})
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
