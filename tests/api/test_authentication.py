"""The Authorization header: what counts as a credential, and where none is ever looked for."""

from typing import Any

import pytest
from django.test import Client as Browser

from tests.api.calls import ME, call, refusal
from tests.api.conftest import Key

MALFORMED = [
    "",
    " ",
    "Bearer",
    "Bearer ",
    "Bearer\t",
    "Bearer {key} extra",
    "Bearer {key} {key}",
    "Bearer Bearer {key}",
    "{key}",
    "Basic {key}",
    "BearerX {key}",
    "Bearer:{key}",
    "Token {key}",
    'Bearer realm="x", {key}',
    "Basic OnBhc3N3b3Jk, Bearer {key}",
    "\x00",
]


def test_a_malformed_header_counts_as_none(key: Key) -> None:
    for header in MALFORMED:
        response = call(ME, Authorization=header.format(key=key.raw))
        assert refusal(response) == (401, "unauthenticated"), header
        assert response["WWW-Authenticate"].startswith('Bearer realm="api"')
        assert "error" not in response["WWW-Authenticate"]


def test_the_scheme_is_case_insensitive(key: Key) -> None:
    # RFC 9110 §11.1.
    for scheme in ("Bearer", "bearer", "BEARER", "Bearer  ", " Bearer"):
        assert call(ME, Authorization=f"{scheme} {key.raw}").status_code == 200, scheme


def test_a_credential_in_the_query_is_never_read(key: Key, token: str) -> None:
    for name in ("access_token", "token", "key", "api_key", "Authorization", "bearer"):
        for credential in (key.raw, token):
            response = call(f"{ME}?{name}={credential}")
            assert refusal(response) == (401, "unauthenticated"), name
            assert credential not in str(response.headers) + response.content.decode()


@pytest.mark.parametrize("name", ["access_token", "token", "api_key"])
def test_a_credential_in_the_body_is_never_read(name: str, key: Key, token: str) -> None:
    form = "application/x-www-form-urlencoded"
    for credential in (key.raw, token):
        for kind, body in ((form, f"{name}={credential}"), ("application/json", f'{{"{name}": "{credential}"}}')):
            assert refusal(Browser().generic("GET", ME, body, content_type=kind)) == (401, "unauthenticated")
            assert Browser().post(ME, body, content_type=kind).status_code == 405


def test_a_credential_in_a_cookie_is_never_read(key: Key, token: str) -> None:
    browser = Browser()
    for name in ("Authorization", "access_token", "api_key", "token"):
        browser.cookies[name] = key.raw
        assert refusal(browser.get(ME)) == (401, "unauthenticated")
        browser.cookies[name] = token
        assert refusal(browser.get(ME)) == (401, "unauthenticated")


def test_a_credential_in_another_header_is_never_read(key: Key) -> None:
    for name in ("X-Api-Key", "X-Authorization", "Api-Key", "Proxy-Authorization"):
        for value in (key.raw, f"Bearer {key.raw}"):
            assert refusal(call(ME, **{name: value})) == (401, "unauthenticated"), name


def test_a_signed_in_browser_is_no_caller(signed_in: Browser) -> None:
    assert refusal(signed_in.get(ME)) == (401, "unauthenticated")


def test_an_odd_credential_is_refused_as_what_it_claims_to_be(db: None) -> None:
    odd = ["ü" * 40, "\U0001f511", "a" * 100_000, "eyJ" + "a" * 20_000, "..", "a.b.c", ".", "op_key_", "op_key_\xff_x"]
    for credential in odd:
        # Servers hand the header's bytes on as Latin-1.
        response = call(ME, Authorization=f"Bearer {credential.encode().decode('latin-1')}")
        expected = "invalid_api_key" if credential.startswith("op_key_") else "invalid_token"
        assert refusal(response) == (401, expected), credential[:20]


def test_the_prefix_is_a_setting(key: Key, settings: Any) -> None:
    settings.API_KEY_PREFIX = "acme_"
    assert refusal(call(ME, key.raw)) == (401, "invalid_token")
    assert refusal(call(ME, "acme_x")) == (401, "invalid_api_key")
