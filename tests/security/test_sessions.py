"""Sessions and passwords (docs/security.md#cookies)."""

from typing import Any

import pytest
from allauth.account.models import EmailAddress
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.test import Client as Browser
from django.utils.module_loading import import_string

from accounts.models import Account
from oidc.models import Client
from tests.factories import PASSWORD
from tests.relying_party import RelyingParty, sign_in

SESSION = "openport_session"
NEW_PASSWORD = "another horse 7 battery"


# --- Session ids ---


def test_the_session_cookie_is_opaque(person: Account) -> None:
    browser = sign_in(Browser(), person)
    value = browser.cookies[SESSION].value
    assert value.isalnum()
    assert len(value) >= 32


def test_the_session_id_changes_at_sign_in(spa: Client, person: Account) -> None:
    app = RelyingParty(spa, Browser())
    app.authorize()
    before = app.browser.cookies[SESSION].value
    sign_in(app.browser, person)
    after = app.browser.cookies[SESSION].value
    assert before != after
    planted = Browser()
    planted.cookies[SESSION] = before
    assert planted.get("/account/")["Location"].startswith("/account/login/")


def test_a_session_that_has_ended_stays_ended(app: RelyingParty) -> None:
    old = app.browser.cookies[SESSION].value
    app.browser.post("/connect/logout/confirm", {"decision": "sign-out"})
    replayed = Browser()
    replayed.cookies[SESSION] = old
    assert replayed.get("/account/")["Location"].startswith("/account/login/")


def test_signing_out_is_a_post(app: RelyingParty) -> None:
    for path in ("/account/logout/", "/connect/logout", "/connect/logout/confirm", "/account/choose"):
        app.browser.get(path)
        assert "_auth_user_id" in app.browser.session, path


# --- Passwords ---


def change_password(browser: Browser) -> Any:
    form = {"oldpassword": PASSWORD, "password1": NEW_PASSWORD, "password2": NEW_PASSWORD}
    return browser.post("/account/password/change/", form)


def is_signed_in(browser: Browser) -> bool:
    return bool(browser.get("/account/").status_code == 200)


def test_a_request_at_the_moment_of_the_change_does_not_end_this_session(
    person: Account, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A script's request has read the session before, and the account after its password was changed."""
    here, twin = sign_in(Browser(), person), Browser()
    twin.cookies.load({name: morsel.value for name, morsel in here.cookies.items()})
    get_user = ModelBackend.get_user

    def get_user_after_the_change(backend: ModelBackend, pk: Any) -> Any:
        monkeypatch.undo()
        assert change_password(here).status_code == 302
        return get_user(backend, pk)

    monkeypatch.setattr(ModelBackend, "get_user", get_user_after_the_change)
    answer = twin.get("/account/")
    assert answer["Location"].startswith("/account/login/")
    assert settings.SESSION_COOKIE_NAME not in answer.cookies  # the browser may have the new one by now
    assert is_signed_in(here)
    assert here.get("/account/sessions/").content.decode().count("session__name") == 1


def test_a_changed_password_is_the_one_that_counts(person: Account) -> None:
    change_password(sign_in(Browser(), person))
    old = Browser().post("/account/login/", {"login": person.email, "password": PASSWORD})
    assert old.status_code == 200
    new = Browser().post("/account/login/", {"login": person.email, "password": NEW_PASSWORD})
    assert new.status_code == 302


def test_changing_the_password_needs_the_old_one(person: Account) -> None:
    browser = sign_in(Browser(), person)
    form = {"oldpassword": "wrong", "password1": NEW_PASSWORD, "password2": NEW_PASSWORD}
    assert browser.post("/account/password/change/", form).status_code == 200
    person.refresh_from_db()
    assert person.check_password(PASSWORD)


def test_a_reset_ends_other_sessions(person: Account, mailoutbox: list[Any]) -> None:
    elsewhere = sign_in(Browser(), person)
    browser = Browser()
    browser.post("/account/password/reset/", {"email": person.email})
    code = next(line.strip() for line in mailoutbox[-1].body.splitlines() if is_code(line))
    response = browser.post("/account/password/reset/confirm/", {"code": code}, follow=True)
    set_new = browser.post(response.request["PATH_INFO"], {"password1": NEW_PASSWORD, "password2": NEW_PASSWORD})
    assert set_new.status_code == 302, set_new.content[:2000]
    person.refresh_from_db()
    assert person.check_password(NEW_PASSWORD)
    assert not is_signed_in(elsewhere)


def is_code(line: str) -> bool:
    text = line.strip().replace("-", "")
    return 6 <= len(text) <= 12 and text.isalnum() and text.upper() == text


def test_a_reset_code_does_not_work_in_another_browser(person: Account, mailoutbox: list[Any]) -> None:
    Browser().post("/account/password/reset/", {"email": person.email})
    code = next(line.strip() for line in mailoutbox[-1].body.splitlines() if is_code(line))
    other = Browser()
    response = other.post("/account/password/reset/confirm/", {"code": code}, follow=True)
    assert 'name="password1"' not in response.content.decode()
    person.refresh_from_db()
    assert person.check_password(PASSWORD)


def test_passwords_are_hashed_slowly(settings: Any) -> None:
    declared = __import__("devportal.settings", fromlist=["x"])
    (hasher,) = map(import_string, declared.PASSWORD_HASHERS)
    assert issubclass(hasher, PBKDF2PasswordHasher)
    assert hasher.iterations >= 600_000


@pytest.mark.parametrize("password", ["short1", "password123", "ada@example.com", "12345678"])
def test_weak_passwords_are_refused(client: Browser, db: None, password: str) -> None:
    form = {"email": "ada@example.com", "given_name": "Ada", "password1": password}
    assert client.post("/account/signup/", form).status_code == 200
    assert not Account.objects.exists()
    assert not EmailAddress.objects.exists()
