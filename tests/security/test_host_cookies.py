"""On HTTPS only this host can set the session and CSRF cookies, and sessions of the former names move over once."""

import os
import subprocess
import sys
from typing import Any

import pytest
from django.conf import settings as service_settings
from django.contrib.sessions.models import Session
from django.test import Client as Browser

from accounts.accounts_cookie import cookie_name
from accounts.models import Account
from devportal.lib.former_cookies import MARK
from devportal.lib.logs import redact
from devportal.lib.sessions import SessionStore
from tests.factories import PASSWORD, make_account
from tests.relying_party import sign_in
from tests.several_accounts import with_accounts

SESSION, CSRF = "openport_session", "openport_csrf"
HOST_SESSION, HOST_CSRF = "__Host-openport_session", "__Host-openport_csrf"


@pytest.fixture
def key(person: Account) -> str:
    """The key of a session that began before the names changed."""
    return sign_in(Browser(), person).cookies[SESSION].value


@pytest.fixture
def https(key: str, settings: Any) -> None:
    """The cookies as with an https AUTH_URL."""
    settings.SESSION_COOKIE_NAME, settings.CSRF_COOKIE_NAME = HOST_SESSION, HOST_CSRF
    settings.SESSION_COOKIE_SECURE = settings.CSRF_COOKIE_SECURE = True


def holding(**cookies: str) -> Browser:
    browser = Browser()
    for name, value in cookies.items():
        browser.cookies[name.replace("host_", "__Host-")] = value
    return browser


def is_signed_in(browser: Browser) -> bool:
    return bool(browser.get("/account/").status_code == 200)


def is_deleted(response: Any, name: str) -> bool:
    cookie = response.cookies.get(name)
    if cookie is None:
        return False
    assert (cookie["path"], cookie["domain"], cookie["secure"]) == ("/", "", True)
    return bool(cookie["max-age"] == 0 and not cookie.value)


# --- Names ---


@pytest.mark.parametrize(("url", "prefix"), [("https://auth.example.com", "__Host-"), ("http://localhost:8000", "")])
def test_names_have_the_prefix_with_https(url: str, prefix: str) -> None:
    code = (
        "from devportal import settings as s;"
        "print(s.SESSION_COOKIE_NAME, s.CSRF_COOKIE_NAME, s.SESSION_COOKIE_SECURE, s.CSRF_COOKIE_SECURE,"
        " getattr(s, 'SESSION_COOKIE_DOMAIN', None), getattr(s, 'CSRF_COOKIE_DOMAIN', None),"
        " getattr(s, 'SESSION_COOKIE_PATH', '/'), getattr(s, 'CSRF_COOKIE_PATH', '/'))"
    )
    environment = os.environ | {"AUTH_URL": url}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    secure = str(bool(prefix))
    assert done.stdout.split() == [f"{prefix}{SESSION}", f"{prefix}{CSRF}", secure, secure, "None", "None", "/", "/"]


def test_flags_of_the_cookies(https: None, person: Account) -> None:
    browser = Browser()
    browser.get("/account/login/")
    sign_in(browser, person)
    for name in (HOST_SESSION, HOST_CSRF):
        cookie = browser.cookies[name]
        assert (cookie["secure"], cookie["path"], cookie["domain"]) == (True, "/", "")
        assert (cookie["httponly"], cookie["samesite"]) == (True, "Lax")
    assert not {SESSION, CSRF} & set(browser.cookies)


def test_the_cookie_of_the_other_accounts_has_it_too(https: None) -> None:
    assert cookie_name() == "__Host-openport_accounts"


def test_no_cookie_s_value_is_logged_under_either_name(https: None) -> None:
    for name in (SESSION, CSRF, HOST_SESSION, HOST_CSRF):
        assert "planted" not in redact(f"headers {{{name}=plantedplanted; x=1}}")


# --- The move ---


def test_people_stay_signed_in_and_the_former_cookies_go(key: str, https: None) -> None:
    browser = holding(openport_session=key, openport_csrf="a" * 32)
    response = browser.get("/account/")
    assert response.status_code == 200
    assert response.cookies[HOST_SESSION].value == key
    assert is_deleted(response, SESSION)
    assert is_deleted(response, CSRF)
    assert is_signed_in(browser)
    assert len(Session.objects.all()) == 1


def test_pages_that_read_no_session_leave_it_for_later(key: str, https: None) -> None:
    browser = holding(openport_session=key)
    for path in ("/.well-known/jwks", "/robots.txt", "/static/css/base.css"):
        assert not is_deleted(browser.get(path), SESSION)
    assert is_signed_in(browser)


def test_a_form_works_on_the_page_that_is_opened_after_the_change(key: str, https: None, person: Account) -> None:
    browser = Browser(enforce_csrf_checks=True)
    browser.cookies[SESSION], browser.cookies[CSRF] = key, "a" * 32
    form = {"given_name": "Ada", "family_name": "Byron", "csrfmiddlewaretoken": "a" * 32}
    stale = browser.post("/account/profile", form, HTTP_ORIGIN="http://testserver")
    assert stale.status_code == 403
    assert b"open the page again" in stale.content or b"reload" in stale.content
    token = browser.get("/account/profile").context["csrf_token"]
    done = browser.post("/account/profile", form | {"csrfmiddlewaretoken": str(token)}, HTTP_ORIGIN="http://testserver")
    assert done.status_code == 302


def test_a_session_that_began_after_the_change_is_not_taken_under_the_former_name(https: None, person: Account) -> None:
    """Otherwise another host of the domain could plant its own session, as before."""
    stranger = sign_in(Browser(), person).cookies[HOST_SESSION].value
    victim = holding(openport_session=stranger)
    response = victim.get("/account/")
    assert response["Location"].startswith("/account/login/")
    assert is_deleted(response, SESSION)


def test_a_session_that_moved_is_not_taken_under_the_former_name(key: str, https: None) -> None:
    assert is_signed_in(holding(openport_session=key))
    assert not is_signed_in(holding(openport_session=key))


def test_the_new_name_wins(key: str, https: None, person: Account) -> None:
    own = sign_in(Browser(), person).cookies[HOST_SESSION].value
    for new, signed_in in ((own, True), ("x" * 32, False), ("", False)):
        browser = holding(host_openport_session=new, openport_session=key)
        response = browser.get("/account/")
        assert (response.status_code == 200) is signed_in
        assert is_deleted(response, SESSION)
    assert MARK not in SessionStore.from_cookie(key)


@pytest.mark.parametrize("value", ["", "x", "x" * 32, "x" * 5000, "é" * 32, "%00", "../../x", "'\""])
def test_a_former_cookie_with_any_other_value_signs_people_out(value: str, https: None) -> None:
    for name in (SESSION, CSRF):
        browser = Browser(raise_request_exception=False)
        browser.cookies[name] = value
        response = browser.get("/account/")
        assert response["Location"].startswith("/account/login/")
        assert is_deleted(response, name)
        assert browser.get("/account/login/").status_code == 200
        browser.cookies[name] = value
        form = {"login": "ada@example.com", "password": PASSWORD}
        assert browser.post("/account/login/", form)["Location"] == "/connect/resume"


def test_the_other_accounts_of_the_browser_stay(https: None, person: Account, settings: Any) -> None:
    settings.SESSION_COOKIE_NAME, settings.CSRF_COOKIE_NAME = SESSION, CSRF
    other = make_account("bob@example.com")
    browser = with_accounts(other, person)
    settings.SESSION_COOKIE_NAME, settings.CSRF_COOKIE_NAME = HOST_SESSION, HOST_CSRF
    assert is_signed_in(browser)
    page = browser.get("/account/choose")
    assert [choice.account.email for choice in page.context["choices"]] == [person.email, other.email]


def test_without_https_nothing_moves(key: str) -> None:
    browser = holding(openport_session=key)
    response = browser.get("/account/")
    assert response.status_code == 200
    assert not is_deleted(response, SESSION)
    assert MARK not in SessionStore.from_cookie(key)
    assert service_settings.SESSION_COOKIE_NAME == SESSION
