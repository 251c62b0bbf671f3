"""SECRET_KEY_FALLBACKS: after a rotation of SECRET_KEY, whatever was signed before goes on working, and no longer."""

import ast
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as as_read
from django.core import mail
from django.test import Client as Browser

from accounts.models import Account
from tests.accounts.factors.conftest import give_app
from tests.accounts.test_passkey_sign_up import create_passkey, sign_up
from tests.factories import PASSWORD
from tests.oidc.signing_keys.test_unreadable import WRONG as ANOTHER
from tests.relying_party import RelyingParty, answer_of, url_in_page
from tests.relying_party import sign_in as sign_in_to
from tests.security.test_known_browsers import known_browser, lock, sign_in
from tests.totp import totp

ROOT = Path(__file__).resolve().parents[2]
# What signs or compares with SECRET_KEY by hand, and so must honour the fallbacks itself.
BY_HAND = {
    "accounts/recovery/address_changes.py",
    "accounts/sessions/known_browsers.py",
    "accounts/mail/codes.py",
}


def rotate(settings: Any, *, forget: bool = False) -> None:
    settings.SECRET_KEY_FALLBACKS = [] if forget else [settings.SECRET_KEY]
    settings.SECRET_KEY = ANOTHER


@pytest.fixture(params=[False, True], ids=["with a fallback", "without"])
def forget(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def test_a_session_continues(signed_in: Browser, settings: Any, forget: bool) -> None:
    rotate(settings, forget=forget)
    assert signed_in.get("/account/").status_code == (302 if forget else 200)


def test_a_session_used_since_no_longer_needs_the_fallback(signed_in: Browser, settings: Any) -> None:
    rotate(settings)
    assert signed_in.get("/account/").status_code == 200
    settings.SECRET_KEY_FALLBACKS = []
    assert signed_in.get("/account/").status_code == 200


def test_two_requests_at_once_continue(
    signed_in: Browser, person: Account, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page and what its script requests: both read the session before one of them stores the new hash."""
    rotate(settings)
    twin = Browser()
    twin.cookies.load({name: morsel.value for name, morsel in signed_in.cookies.items()})
    answers = []

    def hashes_after_another_request(account: Account) -> Any:
        monkeypatch.undo()
        answers.append(twin.get("/account/"))
        return account.get_session_auth_fallback_hash()

    monkeypatch.setattr(Account, "get_session_auth_fallback_hash", hashes_after_another_request)
    answers.append(signed_in.get("/account/"))
    assert [answer.status_code for answer in answers] == [200, 200]
    settings.SECRET_KEY_FALLBACKS = []
    for browser in (signed_in, twin):
        assert browser.get("/account/").status_code == 200
    assert signed_in.get("/account/sessions/").content.decode().count("session__name") == 1


def test_a_session_stays_in_the_list_of_its_person(signed_in: Browser, person: Account, settings: Any) -> None:
    elsewhere = sign_in_to(Browser(), person)
    rotate(settings)
    for browser in (signed_in, elsewhere):
        assert browser.get("/account/").status_code == 200
    page = signed_in.get("/account/sessions/").content.decode()
    assert page.count("session__name") == 2
    assert "This browser" in page


def test_a_consent_form_that_waits_can_be_answered(app: RelyingParty, settings: Any, forget: bool) -> None:
    page = app.authorize()
    rotate(settings, forget=forget)
    answer = app.answer_consent(page)
    if forget:
        assert not url_in_page(answer.content.decode())
    else:
        assert app.exchange(answer_of(answer)["code"]).status_code == 200


def test_a_started_password_reset_can_be_finished(person: Account, settings: Any) -> None:
    browser = Browser()
    browser.post("/account/password/reset/", {"email": person.email})
    (code,) = [line.strip() for line in mail.outbox[-1].body.splitlines() if line.startswith("    ")]
    rotate(settings)
    assert browser.post("/account/password/reset/confirm/", {"code": code}).status_code == 302
    form = {"password1": "a new staple 7 horse", "password2": "a new staple 7 horse"}
    assert browser.post("/account/password/reset/complete/", form).status_code == 302
    assert browser.get("/account/").status_code == 200


def test_a_sign_up_that_waits_for_its_passkey_can_be_finished(
    client: Browser, db: None, mailoutbox: list[Any], settings: Any
) -> None:
    sign_up(client, mailoutbox)
    rotate(settings)
    create_passkey(client)
    assert client.get("/account/").status_code == 200


def test_a_sign_in_that_waits_for_its_second_factor_can_be_finished(
    person: Account, settings: Any, forget: bool
) -> None:
    secret = give_app(person)
    browser = Browser()
    browser.post("/account/login/", {"login": person.email, "password": PASSWORD})
    rotate(settings, forget=forget)
    browser.post("/account/2fa/authenticate/", {"code": totp(secret)})
    assert browser.get("/account/").status_code == (302 if forget else 200)


def test_a_known_browser_stays_known(person: Account, settings: Any, stopped_clock: None, forget: bool) -> None:
    browser = known_browser(person)
    rotate(settings, forget=forget)
    lock(person, settings)
    assert (sign_in(browser, person.email).status_code == 302) is not forget


def test_a_new_sign_in_is_signed_with_the_new_key(person: Account, settings: Any) -> None:
    rotate(settings)
    browser = Browser()
    browser.post("/account/login/", {"login": person.email, "password": PASSWORD})
    settings.SECRET_KEY_FALLBACKS = []
    assert browser.get("/account/").status_code == 200


def test_every_use_of_the_secret_key_is_known() -> None:
    found = set()
    for folder in ("core", "accounts", "oidc", "api", "devportal"):
        for path in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                name = getattr(node, "attr", None) or getattr(node, "id", None)
                if name in ("SECRET_KEY", "salted_hmac"):
                    found.add(str(path.relative_to(ROOT)))
    # The settings themselves, and the check that compares them.
    assert found - {"devportal/settings/environment.py", "core/settings_checks.py"} == BY_HAND
    assert as_read.SECRET_KEY_FALLBACKS == []
