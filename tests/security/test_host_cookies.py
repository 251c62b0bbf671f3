"""On HTTPS only this host can set the session and CSRF cookies."""

import os
import subprocess
import sys
from typing import Any

import pytest
from django.test import Client as Browser

from accounts.browser_accounts import cookie_name
from accounts.models import Account
from core.logging import redact
from tests.relying_party import sign_in

SESSION, CSRF = "openport_session", "openport_csrf"
HOST_SESSION, HOST_CSRF = "__Host-openport_session", "__Host-openport_csrf"


@pytest.fixture
def https(settings: Any) -> None:
    """The cookies as with an https AUTH_URL."""
    settings.SESSION_COOKIE_NAME, settings.CSRF_COOKIE_NAME = HOST_SESSION, HOST_CSRF
    settings.SESSION_COOKIE_SECURE = settings.CSRF_COOKIE_SECURE = True


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


def test_cookie_values_are_not_logged(https: None) -> None:
    for name in (SESSION, CSRF, HOST_SESSION, HOST_CSRF):
        assert "planted" not in redact(f"headers {{{name}=plantedplanted; x=1}}")


def test_a_cookie_without_the_prefix_signs_nobody_in(https: None, person: Account) -> None:
    """Otherwise another host of the domain could plant its own session."""
    stranger = sign_in(Browser(), person).cookies[HOST_SESSION].value
    browser = Browser()
    browser.cookies[SESSION] = stranger
    assert browser.get("/account/")["Location"].startswith("/account/login/")
