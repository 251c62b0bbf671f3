"""On HTTPS only this host can set the session and CSRF cookies, and the proxies pass on the service's cookies alone."""

import os
import re
import subprocess
import sys
from typing import Any

import pytest
from django.test import Client as Browser

from accounts.models import Account
from accounts.sessions import known_browsers
from accounts.sessions.browser_accounts import cookie_name
from core import time_zones
from core.database.postgres import replica
from core.logging import redact
from tests.relying_party import sign_in
from tests.repository import walk
from tests.services.proxies import DEPLOY

SESSION, CSRF = "openport_session", "openport_csrf"
HOST_SESSION, HOST_CSRF = "__Host-openport_session", "__Host-openport_csrf"

ROOT = DEPLOY.parent
SETS_A_COOKIE = re.compile(r"set_(?:signed_)?cookie\(|\.cookies\[[^]]+\] = |document\.cookie = ")
# How often each file sets a cookie. A new cookie belongs into deploy/nginx.conf and docs/security.md#cookies.
PLACES = {
    # PeopleMiddleware calls the functions of the two other modules.
    "accounts/entrance/middleware.py": 2,
    "accounts/sessions/browser_accounts.py": 2,
    "accounts/sessions/known_browsers.py": 2,
    "core/database/postgres/replica.py": 1,
    "core/http/sessions.py": 1,
    "static/js/time.js": 1,
}


@pytest.fixture
def https(settings: Any) -> None:
    """The cookies as with an https AUTH_URL."""
    settings.SESSION_COOKIE_NAME, settings.CSRF_COOKIE_NAME = HOST_SESSION, HOST_CSRF
    settings.SESSION_COOKIE_SECURE = settings.CSRF_COOKIE_SECURE = True


@pytest.mark.parametrize(("url", "prefix"), [("https://auth.example.com", "__Host-"), ("http://localhost:8000", "")])
def test_https_brings_the_prefix_secure_cookies_a_redirect_and_hsts(url: str, prefix: str) -> None:
    code = (
        "from devportal import settings as s;"
        "print(s.SESSION_COOKIE_NAME, s.CSRF_COOKIE_NAME, s.SESSION_COOKIE_SECURE, s.CSRF_COOKIE_SECURE,"
        " getattr(s, 'SESSION_COOKIE_DOMAIN', None), getattr(s, 'CSRF_COOKIE_DOMAIN', None),"
        " getattr(s, 'SESSION_COOKIE_PATH', '/'), getattr(s, 'CSRF_COOKIE_PATH', '/'),"
        " s.SECURE_SSL_REDIRECT, s.SECURE_HSTS_SECONDS >= 365 * 24 * 3600)"
    )
    environment = os.environ | {"AUTH_URL": url}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    secure = str(bool(prefix))
    names, same_for_both = [f"{prefix}{SESSION}", f"{prefix}{CSRF}"], ["None", "None", "/", "/"]
    assert done.stdout.split() == [*names, secure, secure, *same_for_both, secure, secure]


@pytest.mark.parametrize("names", [(SESSION, CSRF), (HOST_SESSION, HOST_CSRF)], ids=["http", "https"])
def test_flags_of_the_cookies(names: tuple[str, str], request: pytest.FixtureRequest, person: Account) -> None:
    if HOST_SESSION in names:
        request.getfixturevalue("https")
    browser = Browser()
    browser.get("/account/login/")
    sign_in(browser, person)
    assert set(browser.cookies) == {*names, known_browsers.COOKIE}
    for name in browser.cookies:
        cookie = browser.cookies[name]
        assert (cookie["path"], cookie["domain"]) == ("/" if name in names else "/account/", "")
        assert (cookie["httponly"], cookie["samesite"]) == (True, "Lax")
        assert cookie["secure"] or HOST_SESSION not in names


def test_cookie_values_are_not_logged(https: None) -> None:
    for name in (SESSION, CSRF, HOST_SESSION, HOST_CSRF):
        assert "planted" not in redact(f"headers {{{name}=plantedplanted; x=1}}")


def test_a_cookie_without_the_prefix_signs_nobody_in(https: None, person: Account) -> None:
    """Otherwise another host of the domain could plant its own session."""
    stranger = sign_in(Browser(), person).cookies[HOST_SESSION].value
    browser = Browser()
    browser.cookies[SESSION] = stranger
    assert browser.get("/account/")["Location"].startswith("/account/login/")


def test_the_proxies_pass_on_each_cookie_of_the_service(https: None) -> None:
    places = {}
    for folder in ("accounts", "api", "core", "devportal", "oidc", "static"):
        for path in walk(ROOT / folder):
            if path.suffix in (".py", ".js") and (found := SETS_A_COOKIE.findall(path.read_text(encoding="utf-8"))):
                places[str(path.relative_to(ROOT))] = len(found)
    assert places == PLACES
    own = {HOST_SESSION, HOST_CSRF, cookie_name(), time_zones.cookie_name(), known_browsers.COOKIE, replica.COOKIE}
    nginx = (DEPLOY / "nginx.conf").read_text(encoding="utf-8")
    maps = dict(re.findall(r'map \$http_cookie (\$portal_\w+) \{\n    "~[^"]*>([\w-]+)=', nginx))
    assert set(maps.values()) == own
    assert f"proxy_set_header Cookie {''.join(maps)};" in nginx
    assert set(re.findall(r"^\| `([\w-]+)` \|", _cookies_in_docs(), re.MULTILINE)) == own
    patterns = re.findall(r"__Host-\)\?([^=]+)=", (DEPLOY / "Caddyfile").read_text(encoding="utf-8"))
    assert len(patterns) == 2
    assert all(re.fullmatch(pattern, name.removeprefix("__Host-")) for pattern in patterns for name in own)


def _cookies_in_docs() -> str:
    text = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    return text.partition("\n## Cookies\n")[2].partition("\n## ")[0]
