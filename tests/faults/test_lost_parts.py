"""What people and apps see while a part of the service is lost; and that it comes back by itself."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.cache import cache
from django.db import OperationalError, connection
from django.test import Client as Browser

from oidc.models import SigningKey
from oidc.tokens import signing_keys
from tests.factories import PASSWORD
from tests.relying_party import RelyingParty


class Lost:
    """A database that fails each statement while `away`."""

    def __init__(self) -> None:
        self.away = True

    def __call__(self, execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if self.away:
            raise OperationalError("the database is away")
        return execute(sql, params, many, context)


@pytest.fixture
def lost_database() -> Iterator[Lost]:
    signing_keys.reload_keyring()
    lost = Lost()
    with connection.execute_wrapper(lost):
        yield lost


def quiet(browser: Browser) -> Browser:
    browser.raise_request_exception = False
    return browser


def test_apps_get_503_with_retry_after(app: RelyingParty, lost_database: Lost) -> None:
    lost_database.away = False
    tokens = app.tokens()
    lost_database.away = True
    refused = app.refresh(tokens["refresh_token"])
    assert (refused.status_code, refused.json()["error"]) == (503, "temporarily_unavailable")
    assert 1 <= int(refused["Retry-After"]) <= 60
    assert refused["Access-Control-Allow-Origin"] == "*"
    assert app.call("/connect/userinfo", tokens["access_token"]).status_code == 503
    call = app.call("/v1/me", tokens["access_token"])
    assert (call.status_code, call.json()["error"]["code"]) == (502, "upstream_unavailable")
    lost_database.away = False
    assert app.refresh(tokens["refresh_token"]).status_code == 200


def test_people_see_a_plain_page(app: RelyingParty, lost_database: Lost) -> None:
    quiet(app.browser)
    page = app.authorize()
    assert page.status_code == 503
    assert 1 <= int(page["Retry-After"]) <= 60
    assert b"try again" in page.content.lower()
    lost_database.away = False
    assert app.authorize().status_code == 200


def test_discovery_and_jwks_need_no_database(db: None, lost_database: Lost) -> None:
    for path in ("/.well-known/openid-configuration", "/.well-known/jwks", "/health/live"):
        assert Browser().get(path).status_code == 200
    ready = Browser().get("/health/ready")
    assert (ready.status_code, ready.json()["missing"]) == (503, ["database"])


def test_without_a_signing_key_nothing_is_signed(app: RelyingParty) -> None:
    code = app.code()
    SigningKey.objects.update(state=SigningKey.State.RETIRED)
    signing_keys.clear_keyring()
    refused = app.exchange(code)
    assert (refused.status_code, refused.json()["error"]) == (503, "temporarily_unavailable")
    ready = Browser().get("/health/ready")
    assert (ready.status_code, ready.json()["missing"]) == (503, ["signing_key"])


# --- Redis ---

FORMS = ["/account/signup/", "/account/password/reset/", "/account/confirm-email/", "/account/login/"]


@pytest.mark.parametrize("path", FORMS)
def test_forms_of_strangers_go_on_without_redis(db: None, lost_redis: None, path: str) -> None:
    response = Browser().post(path, {"email": "ada@example.com"})
    assert response.status_code in (200, 302)


def test_people_sign_in_and_work_without_redis(person: Any, lost_redis: None) -> None:
    browser = Browser()
    assert browser.post("/account/login/", {"login": person.email, "password": PASSWORD}).status_code == 302
    assert browser.post("/account/profile", {"given_name": "Augusta", "family_name": ""}).status_code == 302
    ready = browser.get("/health/ready")
    assert (ready.status_code, ready.json()["missing"]) == (200, ["counters"])


def test_guesses_are_counted_without_redis(person: Any, lost_redis: None, stopped_clock: None) -> None:
    guesses = [{"login": person.email, "password": f"guess {number}"} for number in range(7)]
    statuses = [Browser().post("/account/login/", guess).status_code for guess in guesses]
    assert statuses == [200] * 5 + [429] * 2
    # Nor does the right one pass now.
    right = Browser().post("/account/login/", {"login": person.email, "password": PASSWORD})
    assert right.status_code == 429


def test_mails_are_counted_without_redis(db: None, lost_redis: None, settings: Any, mailoutbox: list[Any]) -> None:
    settings.MAILS_PER_RECIPIENT_PER_DAY = 2
    for _ in range(4):
        Browser().post("/account/password/reset/", {"email": "nobody@example.com"})
    assert len(mailoutbox) == 2


def test_a_code_of_an_authenticator_app_is_used_once_without_redis(lost_redis: None) -> None:
    # What allauth does with each code that it accepts.
    assert cache.add("allauth:mfa:totp-used:1:123456", "y", timeout=90)
    assert not cache.add("allauth:mfa:totp-used:1:123456", "y", timeout=90)
