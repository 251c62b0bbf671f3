"""Headers with a byte beyond ASCII, which the server hands over as empty ones: none of them counts as absent."""

from typing import Any

import pytest
from django.test import Client as Browser

from accounts.models import Account
from core.http.error_pages import DELETE_COOKIES, UNREADABLE_COOKIES
from tests.relying_party import RelyingParty
from tests.security.test_limits import is_limited, token_failure

PROXY = "10.0.0.1"
PAGES = ("/", "/account/login/", "/connect/authorize", "/console/", "/admin/", "/docs/")
FOR_APPS = ("/v1/me", "/connect/userinfo", "/connect/token", "/connect/forward-auth/none", "/.well-known/jwks")
IMAGES = ("/pictures/none/1.webp", "/logos/none/1.webp")
pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("sent", ["", ",10.0.0.2", "203.0.113.5, ", "203.0.113.5,,10.0.0.2"])
def test_an_unreadable_client_address_is_refused_and_counts_for_nobody(sent: str, settings: Any) -> None:
    settings.TRUSTED_PROXIES = ["10.0.0.0/8"]
    for path in (*PAGES, *FOR_APPS):
        response = Browser(REMOTE_ADDR=PROXY).get(path, headers={"X-Forwarded-For": sent})
        assert response.status_code == 400, path
        assert b"X-Forwarded-For" in response.content
    for _ in range(31):
        assert token_failure(PROXY, **{"X-Forwarded-For": sent}).status_code == 400
    assert not is_limited(token_failure(PROXY))
    assert Browser(REMOTE_ADDR=PROXY).get("/health/live", headers={"X-Forwarded-For": sent}).status_code == 200
    assert token_failure("203.0.113.9", **{"X-Forwarded-For": sent}).status_code == 401  # not from a proxy


@pytest.mark.parametrize("sent", [",203.0.113.5", ", 203.0.113.5, 10.0.0.2", "unknown"])
def test_empty_entries_that_are_not_needed_are_ignored(sent: str, settings: Any) -> None:
    settings.TRUSTED_PROXIES = ["10.0.0.0/8"]
    assert token_failure(PROXY, **{"X-Forwarded-For": sent}).status_code == 401


def affected() -> Browser:
    """Return a browser whose cookies the server could not read."""
    marked: dict[str, Any] = {UNREADABLE_COOKIES: True}
    return Browser(**marked)


@pytest.mark.parametrize("path", PAGES)
def test_unreadable_cookies_get_a_page_that_says_how_to_delete_them(path: str) -> None:
    response = affected().get(path)
    text = response.content.decode()
    assert response.status_code == 400
    assert "A cookie can’t be read" in text
    assert '<strong class="break">testserver</strong>' in text
    assert DELETE_COOKIES in text
    assert "Clear-Site-Data" not in response


def test_endpoints_for_apps_and_images_need_no_cookies() -> None:
    for path in (*FOR_APPS, *IMAGES):
        assert affected().get(path).status_code == Browser().get(path).status_code


def press(browser: Browser, method: str = "post", page: str = "/account/login/?next=/console/", **headers: str) -> Any:
    return getattr(browser, method)(page, {DELETE_COOKIES: "1"}, headers=headers)


def test_a_button_deletes_all_cookies_of_the_domain() -> None:
    response = press(affected(), **{"Sec-Fetch-Site": "same-origin"})
    assert response.status_code == 302
    assert response["Location"] == "/account/login/?next=/console/"
    assert response["Clear-Site-Data"] == '"cookies"'
    assert "no-store" in response["Cache-Control"]
    elsewhere = press(affected(), page="/%2Fevil.example.com/x", **{"Sec-Fetch-Site": "same-origin"})
    assert elsewhere["Location"] == "/%2Fevil.example.com/x"


def test_nothing_else_deletes_cookies() -> None:
    own = {"Sec-Fetch-Site": "same-origin"}
    for others in ({}, {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}):
        assert "Clear-Site-Data" not in press(affected(), **others)
    assert "Clear-Site-Data" not in press(affected(), "get", **own)
    assert "Clear-Site-Data" not in press(Browser(), **own)
    assert "Clear-Site-Data" not in affected().post("/account/login/", headers=own)


def test_an_unreadable_host_is_unknown() -> None:
    for path in (*PAGES, "/v1/me", "/connect/token"):
        assert Browser().get(path, headers={"Host": ""}).status_code == 400


@pytest.mark.parametrize("header", ["Origin", "Referer"])
def test_a_form_without_a_readable_origin_is_refused(header: str, person: Account) -> None:
    browser = Browser(enforce_csrf_checks=True)
    browser.get("/account/login/", secure=True)
    token = browser.cookies["openport_csrf"].value
    form = {"login": person.email, "password": "x", "csrfmiddlewaretoken": token}
    sent = {"Origin": "https://testserver"}
    assert browser.post("/account/login/", form, headers=sent, secure=True).status_code == 200
    assert browser.post("/account/login/", form, headers={header: ""}, secure=True).status_code == 403


def test_an_unreadable_authorization_header_is_no_credential(web_app: RelyingParty) -> None:
    for path in ("/v1/me", "/connect/userinfo"):
        assert Browser().get(path, headers={"Authorization": ""}).status_code == 401
    form = {"grant_type": "refresh_token", "refresh_token": "x", "client_id": web_app.client.client_id}
    for path in ("/connect/token", "/connect/revoke", "/connect/introspect"):
        secret = {"client_secret": web_app.secret}
        answer = Browser().post(path, form | secret, headers={"Authorization": ""})
        assert answer.status_code in (400, 401), path


def test_an_unreadable_protocol_counts_as_http(settings: Any) -> None:
    settings.TRUSTED_PROXIES, settings.SECURE_PROXY_SSL_HEADER = ["10.0.0.0/8"], ("HTTP_X_FORWARDED_PROTO", "https")
    settings.SECURE_SSL_REDIRECT = True
    answer = Browser(REMOTE_ADDR=PROXY).get("/account/login/", headers={"X-Forwarded-Proto": ""})
    assert (answer.status_code, answer["Location"]) == (301, "https://testserver/account/login/")


@pytest.mark.parametrize("header", ["Accept", "Accept-Language", "Accept-Encoding", "User-Agent", "If-None-Match"])
def test_other_unreadable_headers_change_nothing(header: str) -> None:
    for path, status in (("/account/login/", 200), ("/v1/me", 401), ("/.well-known/jwks", 200)):
        assert Browser().get(path, headers={header: ""}).status_code == status
