"""HEAD: answered like GET, without the body, wherever something can be read."""

from typing import Any

import pytest
from django.test import Client as Browser
from django.urls import URLPattern, get_resolver

from tests.relying_party import RelyingParty

# Where an answer lands that is meant for one GET, and what the library of the admin translates.
APART = {"/console/playground/callback", "/admin/jsi18n/"}


def addresses() -> list[str]:
    """Return the path of each page that needs no argument, the admin's and the packages' own included."""

    def walk(patterns: Any, before: str) -> Any:
        for pattern in patterns:
            route = before + str(pattern.pattern).removeprefix("^").removesuffix("$").removesuffix(r"\Z")
            if isinstance(pattern, URLPattern):
                yield route
            else:
                yield from walk(pattern.url_patterns, route)

    plain = {f"/{route}" for route in walk(get_resolver().url_patterns, "") if not set(route) & set("<(?[*\\")}
    return sorted(plain - APART)


def test_there_are_pages_to_look_at() -> None:
    assert {"/", "/account/", "/account/login/", "/connect/authorize", "/connect/logout", "/console/"} <= set(
        addresses()
    )


@pytest.mark.parametrize("anonymous", [True, False])
def test_head_is_answered_like_get(anonymous: bool, signed_in: Browser) -> None:
    browser = Browser() if anonymous else signed_in
    compared, differ = 0, []
    for path in addresses():
        got = browser.get(path)
        if path == "/account/logout/" or got.status_code in (404, 405):
            continue
        head = browser.head(path)
        compared += 1
        if (head.status_code, head.content, head.get("Location")) != (got.status_code, b"", got.get("Location")):
            differ.append((path, got.status_code, head.status_code, got.get("Location"), head.get("Location")))
    assert not differ
    assert compared > 100
    assert browser.get("/account/").status_code == (302 if anonymous else 200)


def test_the_endpoint_itself(app: RelyingParty) -> None:
    from urllib.parse import urlencode

    path = f"/connect/authorize?{urlencode(app.parameters())}"
    assert app.browser.head(path).status_code == 200
    assert Browser().head(path)["Location"].startswith("/account/login/")


def test_the_token_endpoint_has_nothing_to_read(client: Browser, db: None) -> None:
    for path in ("/connect/token", "/connect/revoke"):
        assert client.head(path).status_code == 405
        assert client.head(path)["Allow"] == "POST"
