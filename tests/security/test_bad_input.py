"""Hostile input to every parameter of every endpoint: a documented answer, never a 500, never a redirect too early."""

import base64
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from django.test import Client as Browser
from hypothesis import given
from hypothesis import settings as effort
from hypothesis import strategies as st

from oidc.errors import InvalidClient
from oidc.tokens.authentication import parse_basic_header
from oidc.values.parameters import UnreadableParameters, parse
from tests.relying_party import FORM, RelyingParty, answer_of

# As they stand in a query or form, already encoded.
HOSTILE = {
    "nul": "%00",
    "nul inside": "abc%00def",
    "no utf-8": "%ff%fe",
    "half a character": "%c3",
    "surrogate": "%ed%a0%80",
    "overlong slash": "%c0%af",
    "broken percent": "%zz",
    "lone percent": "%",
    "ten kilobytes": "a" * 10_240,
    "ten kilobytes of emoji": quote("\U0001f600") * 850,
    "line breaks": "a%0d%0aX-Injected:%20yes",
    "quotes": "%22%27%3C%3E%60",
    "template": "%7B%7B7*7%7D%7D%7B%25%20debug%20%25%7D",
    "right to left": quote("\u202e\u200b\ufeff"),
    "number": "9" * 400,
    "brackets": "[]",
    "json": quote('{"a":[1,2]}'),
    "sql": quote("' OR 1=1; --"),
}
AUTHORIZE = [
    "client_id", "redirect_uri", "response_type", "scope", "state", "nonce", "code_challenge", "code_challenge_method",
    "prompt", "max_age", "login_hint", "id_token_hint", "response_mode", "display", "ui_locales", "acr_values",
    "claims", "request", "request_uri", "registration", "unknown",
]  # fmt: skip
TOKEN = [
    "grant_type", "code", "redirect_uri", "code_verifier", "client_id", "client_secret", "refresh_token", "scope",
    "unknown",
]  # fmt: skip
LOGOUT = ["id_token_hint", "post_logout_redirect_uri", "state", "client_id", "logout_hint", "ui_locales", "unknown"]
REVOKE = ["token", "token_type_hint", "client_id", "client_secret", "unknown"]
TOKEN_ERRORS = {"invalid_request", "invalid_client", "invalid_grant", "invalid_scope", "unsupported_grant_type"}
REDIRECT_ERRORS = {
    "invalid_request", "invalid_scope", "unsupported_response_type", "login_required", "consent_required",
    "request_not_supported", "request_uri_not_supported", "registration_not_supported",
}  # fmt: skip


@pytest.fixture(autouse=True)
def no_exceptions_and_no_limits_here(client: Browser, settings: Any) -> None:
    """Take a 500 as a 500: the test's browser would raise what caused it. And let nothing hide behind a 429."""
    client.raise_request_exception = False
    settings.FAILURES_PER_MINUTE = settings.CLIENT_REQUESTS_PER_MINUTE = 100_000
    settings.RATELIMIT_ENABLE = False


def is_documented_page(response: Any) -> bool:
    return response.status_code in (400, 403, 429) and "Location" not in response


@pytest.mark.parametrize("name", AUTHORIZE)
def test_malformed_authorization_requests(app: RelyingParty, name: str) -> None:
    complete = app.parameters(prompt="none")
    complete.pop(name, None)
    for what, value in HOSTILE.items():
        response = app.browser.get(f"/connect/authorize?{urlencode(complete)}&{name}={value}")
        assert "X-Injected" not in response, what
        if name in ("client_id", "redirect_uri"):
            assert is_documented_page(response), what
        elif response.status_code == 302:
            assert response["Location"].startswith(("https://app.example.com/callback?", "/account/")), what
            if response["Location"].startswith("https:"):
                assert answer_of(response)["error"] in REDIRECT_ERRORS, what
        else:
            assert response.status_code in (200, 400), what


@pytest.mark.parametrize("name", TOKEN)
@pytest.mark.parametrize("grant", ["authorization_code", "refresh_token"])
def test_malformed_token_requests(web_app: RelyingParty, name: str, grant: str) -> None:
    complete = {
        "grant_type": grant,
        "code": "x" * 30,
        "redirect_uri": web_app.redirect_uri,
        "code_verifier": web_app.verifier,
        "refresh_token": "x" * 43,
    } | web_app.credentials()
    complete.pop(name, None)
    browser = Browser(raise_request_exception=False)
    for what, value in HOSTILE.items():
        body = f"{urlencode(complete)}&{name}={value}"
        response = browser.post("/connect/token", body, content_type=FORM)
        assert response.status_code in (400, 401), what
        assert response.json()["error"] in TOKEN_ERRORS, what
        assert set(response.json()) <= {"error", "error_description"}, what
        assert "no-store" in response["Cache-Control"], what


@pytest.mark.parametrize("name", REVOKE)
def test_malformed_revocation_requests(app: RelyingParty, name: str) -> None:
    complete = {"token": "x" * 43, "client_id": app.client.client_id}
    complete.pop(name, None)
    browser = Browser(raise_request_exception=False)
    for what, value in HOSTILE.items():
        body = f"{urlencode(complete)}&{name}={value}"
        response = browser.post("/connect/revoke", body, content_type=FORM)
        assert response.status_code in (200, 400, 401), what
        if response.status_code != 200:
            assert response.json()["error"] in TOKEN_ERRORS, what


@pytest.mark.parametrize("name", LOGOUT)
def test_malformed_sign_out_requests(app: RelyingParty, name: str) -> None:
    browsers = (app.browser, Browser(raise_request_exception=False))
    for what, value in HOSTILE.items():
        for browser in browsers:
            response = browser.get(f"/connect/logout?{name}={value}")
            assert response.status_code in (200, 302, 400), what
            if "Location" in response:
                assert response["Location"] == "/connect/signed-out", what
        assert "_auth_user_id" in app.browser.session, what


@pytest.mark.parametrize("path", ["/connect/userinfo", "/v1/me"])
def test_malformed_bearer_tokens(client: Browser, db: None, path: str) -> None:
    for what, value in HOSTILE.items():
        for credential in (value, f"Bearer {value}", f"Bearer eyJ{value}.{value}.{value}", f"Basic {value}"):
            response = client.get(path, headers={"Authorization": credential})
            assert response.status_code == 401, what
            assert "WWW-Authenticate" in response, what


PAGES = [
    "/connect/resume?request={}", "/connect/signed-out?x={}", "/connect/consent?x={}", "/connect/step-up?x={}",
    "/account/login/?next={}", "/account/reauthenticate/?next={}", "/account/apps/?x={}",
    "/.well-known/openid-configuration?x={}", "/.well-known/jwks?x={}", "/account/apps/{}/remove",
    "/pictures/{}/x.webp", "/pictures/x/{}.webp", "/{}", "/v1/{}", "/connect/{}",
]  # fmt: skip


@pytest.mark.parametrize("path", PAGES)
def test_malformed_requests_to_pages(app: RelyingParty, path: str) -> None:
    app.browser.raise_request_exception = False
    for what, value in HOSTILE.items():
        assert app.browser.get(path.format(value)).status_code < 500, what


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("/connect/consent", ("reference", "decision", "optional")),
        ("/connect/step-up", ("reference", "decision", "credential")),
        ("/connect/logout/confirm", ("decision",)),
        ("/account/reauthenticate/", ("login", "password", "next")),
        ("/account/", ("given_name", "family_name")),
        ("/account/email/", ("email", "action_add")),
        ("/account/password/change/", ("oldpassword", "password1")),
    ],
)
def test_malformed_forms_of_signed_in_people(app: RelyingParty, path: str, names: tuple[str, ...]) -> None:
    for name in names:
        for what, value in HOSTILE.items():
            browser = Browser(raise_request_exception=False)
            browser.cookies["openport_session"] = app.browser.cookies["openport_session"].value
            response = browser.post(path, f"{name}={value}", content_type=FORM)
            assert response.status_code < 500, (name, what)
            assert "X-Injected" not in response, (name, what)


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("/account/login/", ("login", "password", "next")),
        ("/account/signup/", ("email", "given_name", "family_name", "password1", "next")),
        ("/account/password/reset/", ("email",)),
        ("/account/confirm-email/", ("code",)),
    ],
)
def test_malformed_forms_of_anonymous_people(db: None, path: str, names: tuple[str, ...]) -> None:
    complete = {"email": "new@example.com", "given_name": "N", "password1": "correct horse 9"}
    complete |= {"login": "x@example.com", "password": "x"}
    for name in names:
        form = urlencode({key: text for key, text in complete.items() if key != name})
        for what, value in HOSTILE.items():
            browser = Browser(raise_request_exception=False)
            response = browser.post(path, f"{form}&{name}={value}", content_type=FORM)
            assert response.status_code < 500, (name, what)


@pytest.mark.parametrize("path", ["/connect/authorize", "/connect/token", "/connect/revoke", "/connect/logout"])
@pytest.mark.parametrize("count", [101, 1000])
def test_too_many_parameters(app: RelyingParty, path: str, count: int) -> None:
    many = "&".join(f"p{number}=1" for number in range(count))
    app.browser.raise_request_exception = False
    response = app.browser.get(f"{path}?{urlencode(app.parameters())}&{many}")
    assert response.status_code in (200, 400, 405)
    assert "Location" not in response
    posted = Browser(raise_request_exception=False).post(
        path, f"{urlencode(app.parameters())}&{many}", content_type=FORM
    )
    assert posted.status_code in (303, 400)


@pytest.mark.parametrize("path", ["/connect/authorize", "/connect/token", "/connect/revoke", "/connect/logout"])
def test_a_body_of_a_megabyte(app: RelyingParty, path: str) -> None:
    response = Browser(raise_request_exception=False).post(path, "x=" + "a" * 1_000_000, content_type=FORM)
    assert response.status_code in (303, 400, 413)
    # Sign-out that can't be read is sign-out without parameters: it asks.
    assert response.headers.get("Location", path) == path == "/connect/logout" or response.status_code != 303


CONTENT_TYPES = [
    "application/json",
    "multipart/form-data; boundary=x",
    "multipart/form-data",
    "text/plain",
    "",
    "x",
    "application/x-www-form-urlencoded; charset=utf-16",
    "application/x-www-form-urlencoded; charset=nonsense",
    "\u00e9",
]


@pytest.mark.parametrize("path", ["/connect/authorize", "/connect/token", "/connect/revoke", "/connect/userinfo"])
def test_unusual_content_types(client: Browser, db: None, path: str) -> None:
    for content_type in CONTENT_TYPES:
        for body in (b"", b"{}", b"--x\r\n\r\n", b"\xff\xfe", b"grant_type=authorization_code"):
            response = client.generic("POST", path, body, content_type=content_type)
            assert response.status_code in (303, 400, 401), (content_type, body)
            if "Location" in response:
                assert response["Location"].startswith("/connect/authorize?")


@pytest.mark.parametrize(
    "path", ["/connect/authorize", "/connect/logout", "/connect/userinfo", "/.well-known/jwks", "/v1/me"]
)
def test_unusual_query_strings(client: Browser, db: None, path: str) -> None:
    for query in ("\xff\xfe", "client_id=\xe9", "?", "&&&", "=", "=x", "%", "a" * 30_000):
        response = client.get(path, QUERY_STRING=query)
        assert response.status_code in (200, 302, 400, 401), query
        if "Location" in response:
            assert response["Location"] == "/connect/signed-out"


@pytest.mark.parametrize("name", ["HTTP_AUTHORIZATION", "HTTP_X_REQUEST_ID", "HTTP_ORIGIN", "HTTP_X_FORWARDED_FOR"])
def test_unusual_headers(client: Browser, db: None, name: str) -> None:
    for value in ("\xff\xfe", "\x01", "a" * 20_000, "\u00e9", ", ,", "Basic ", "Bearer  x  y"):
        sent: dict[str, Any] = {name: value}
        for path in ("/connect/userinfo", "/v1/me", "/connect/authorize", "/.well-known/jwks"):
            assert client.get(path, **sent).status_code in (200, 400, 401), value
        response = client.post("/connect/token", "grant_type=x", content_type=FORM, **sent)
        assert response.status_code in (400, 401), value


@pytest.mark.parametrize("name", ["openport_session", "openport_csrf"])
def test_unusual_cookies(client: Browser, db: None, name: str) -> None:
    for cookie in ("\xff", "a" * 5000, "x", "../../etc/passwd", '"', "\x01"):
        response = client.get("/account/login/", HTTP_COOKIE=f"{name}={cookie}")
        assert response.status_code == 200, cookie


# --- Readers, with any input at all ---


@given(st.text(max_size=200))
@effort(max_examples=200, deadline=None)
def test_any_query_is_read_or_rejected(text: str) -> None:
    try:
        parameters = parse(text)
    except UnreadableParameters:
        return
    for value in parameters.values.values():
        value.encode()
        assert "\x00" not in value


@given(st.text(max_size=80) | st.binary(max_size=60).map(lambda raw: "Basic " + base64.b64encode(raw).decode()))
@effort(max_examples=300, deadline=None)
def test_any_basic_header_is_read_or_rejected(header: str) -> None:
    try:
        client_id, secret = parse_basic_header(header)
    except InvalidClient:
        return
    assert "\x00" not in client_id + secret
    (client_id + secret).encode()


@given(st.text(min_size=1, max_size=40), st.text(max_size=40))
@effort(max_examples=200, deadline=None)
def test_encoded_credentials_are_decoded_unchanged(client_id: str, secret: str) -> None:
    pair = f"{quote(client_id, safe='')}:{quote(secret, safe='')}"
    header = f"Basic {base64.b64encode(pair.encode()).decode()}"
    if "\x00" in client_id + secret:
        with pytest.raises(InvalidClient):
            parse_basic_header(header)
    else:
        assert parse_basic_header(header) == (client_id, secret)
