"""Removing factors keeps a way to sign in, says what else ends, and asks everyone for something before it."""

import re
from typing import Any
from urllib.parse import urlencode

import pytest
from allauth.mfa.models import Authenticator
from django.core import mail
from django.test import Client as Browser

from accounts.models import Account, Outbox, SecurityEvent
from tests.accounts.factors.conftest import NEW_PASSWORD, confirm, give_app, give_codes, give_passkey
from tests.factories import PASSWORD
from tests.relying_party import age_sign_in, sign_in

pytestmark = pytest.mark.django_db

BY_EMAIL = "/account/reauthenticate/email/"


def end_password(browser: Browser, account: Account) -> None:
    """Make it an account without a password, in which this browser stays signed in."""
    account.set_unusable_password()
    account.save()
    session = browser.session
    session["_auth_user_hash"] = account.get_session_auth_hash()
    session.save()


@pytest.fixture
def browser(person: Account) -> Browser:
    """A browser of a person who has no password and signed in a moment ago."""
    browser = sign_in(Browser(), person)
    browser.post("/account/reauthenticate/", {"login": person.email, "password": PASSWORD})
    end_password(browser, person)
    return browser


def remove(browser: Browser, key: Authenticator) -> Any:
    confirm(browser, key.user)
    return browser.post(f"/account/2fa/webauthn/keys/{key.pk}/remove/")


def give_key(account: Account, *, signs_in_alone: bool = True) -> Authenticator:
    """Give a person a passkey, or a security key that does not sign in alone."""
    row = give_passkey(account)
    row.data["credential"]["clientExtensionResults"] = {"credProps": {"rk": signs_in_alone}}
    row.data["signs_in_alone"] = signs_in_alone
    row.save()
    return row


def left(account: Account) -> list[str]:
    return sorted(Authenticator.objects.filter(user=account).values_list("type", flat=True))


# --- The last way to sign in ---


@pytest.mark.parametrize("also", [[], [give_codes], [give_app, give_codes]], ids=["alone", "codes", "app and codes"])
def test_the_only_passkey_without_a_password_stays(also: list[Any], browser: Browser, person: Account) -> None:
    key = give_key(person)
    for give in also:
        give(person)
    before = left(person)
    confirm(browser, person)
    page = browser.get(f"/account/2fa/webauthn/keys/{key.pk}/remove/").content.decode()
    assert "Set a password or add another passkey first" in page
    answer = remove(browser, key)
    assert answer.status_code == 409
    assert "Set a password or add another passkey first" in answer.content.decode()
    assert left(person) == before
    assert not SecurityEvent.objects.filter(kind="passkey_removed").exists()


def test_no_other_method_removes_a_factor(browser: Browser, person: Account) -> None:
    key, _ = give_key(person), give_app(person)
    confirm(browser, person)
    for path in (f"/account/2fa/webauthn/keys/{key.pk}/remove/", "/account/2fa/totp/deactivate/"):
        assert browser.delete(path).status_code == 405
    assert left(person) == ["totp", "webauthn"]


def test_one_of_two_passkeys_can_be_removed(browser: Browser, person: Account) -> None:
    keys = [give_key(person), give_key(person)]
    assert remove(browser, keys[0]).status_code == 302
    assert remove(browser, keys[1]).status_code == 409
    assert left(person) == ["webauthn"]


def test_a_security_key_alone_does_not_sign_in(browser: Browser, person: Account) -> None:
    passkey, key = give_key(person), give_key(person, signs_in_alone=False)
    assert remove(browser, passkey).status_code == 409
    assert remove(browser, key).status_code == 302


def test_with_a_password_the_only_passkey_can_be_removed(person: Account) -> None:
    browser = sign_in(Browser(), person)
    browser.post("/account/reauthenticate/", {"login": person.email, "password": PASSWORD})
    key = give_key(person)
    assert remove(browser, key).status_code == 302
    assert left(person) == []


# --- Recovery codes never vanish silently ---


@pytest.mark.parametrize("what", ["passkey", "app"])
def test_the_removal_of_recovery_codes_is_announced_and_mailed(what: str, person: Account) -> None:
    browser = sign_in(Browser(), person)
    browser.post("/account/reauthenticate/", {"login": person.email, "password": PASSWORD})
    path = "/account/2fa/totp/deactivate/"
    if what == "passkey":
        path = f"/account/2fa/webauthn/keys/{give_passkey(person).pk}/remove/"
    else:
        give_app(person)
    confirm(browser, person)
    assert "recovery codes are also removed" not in browser.get(path).content.decode()
    give_codes(person)
    assert "Your recovery codes are also removed" in browser.get(path).content.decode()
    assert browser.post(path).status_code == 302
    assert left(person) == []
    [told] = Outbox.objects.filter(subject__contains="removed")
    assert "Your recovery codes were removed as well" in " ".join(told.body.split())
    assert SecurityEvent.objects.filter(kind="recovery_codes_removed").count() == 1


def test_recovery_codes_stay_while_another_factor_does(person: Account) -> None:
    browser = sign_in(Browser(), person)
    browser.post("/account/reauthenticate/", {"login": person.email, "password": PASSWORD})
    give_app(person)
    give_codes(person)
    key = give_key(person)
    path = f"/account/2fa/webauthn/keys/{key.pk}/remove/"
    confirm(browser, person)
    assert "recovery codes are also removed" not in browser.get(path).content.decode()
    assert browser.post(path).status_code == 302
    assert left(person) == ["recovery_codes", "totp"]
    assert "recovery codes" not in Outbox.objects.get(subject__contains="removed").body.lower()


# --- Neither password nor factor: a code from an email ---

SENSITIVE: tuple[tuple[str, str, dict[str, str]], ...] = (
    ("POST", "/account/email/", {"action_add": "", "email": "new@example.com"}),
    ("GET", "/account/delete", {}),
    ("POST", "/account/delete", {}),
    ("POST", "/account/export", {}),
    ("GET", "/account/export/file", {}),
    ("GET", "/account/2fa/totp/activate/", {}),
    ("GET", "/account/2fa/webauthn/add/", {}),
    ("POST", "/account/password/set/", {"password1": NEW_PASSWORD, "password2": NEW_PASSWORD}),
)


@pytest.fixture
def bare(browser: Browser, person: Account) -> Browser:
    """The browser of a person who has neither a password nor a factor, and who signed in an hour ago."""
    age_sign_in(browser, 3600)
    session = browser.session
    session["account_authentication_methods"] = []
    session.save()
    return browser


def mailed_code() -> str:
    found = re.search(r"^ {4}(\S{4}-\S{4}-\S{4})$", str(mail.outbox[-1].body), re.MULTILINE)
    assert found
    return found[1]


@pytest.mark.parametrize(("method", "path", "form"), SENSITIVE, ids=[f"{m} {p}" for m, p, _ in SENSITIVE])
def test_sensitive_actions_ask_for_a_code_from_a_mail(
    method: str, path: str, form: dict[str, str], bare: Browser, person: Account
) -> None:
    answer = getattr(bare, method.lower())(path, form)
    assert answer.status_code == 302
    assert answer["Location"].startswith(BY_EMAIL)
    person.refresh_from_db()
    assert (person.is_active, person.has_usable_password()) == (True, False)
    assert not mail.outbox


def test_a_first_password_is_not_stored_while_the_code_is_asked_for(bare: Browser) -> None:
    form = urlencode({"password1": NEW_PASSWORD, "password2": NEW_PASSWORD})  # as browsers send it
    answer = bare.post("/account/password/set/", form, content_type="application/x-www-form-urlencoded")
    assert answer["Location"] == f"{BY_EMAIL}?next=%2Faccount%2Fpassword%2Fset%2F"
    assert "battery" in NEW_PASSWORD
    assert "battery" not in str(dict(bare.session))


def test_the_code_from_the_mail_continues_the_action(bare: Browser, person: Account) -> None:
    asked = bare.get("/account/2fa/totp/activate/")["Location"]
    assert "Send me the code" in bare.get(asked).content.decode()
    bare.post(BY_EMAIL, {"action": "send", "next": "/account/2fa/totp/activate/"})
    assert mail.outbox[-1].to == [person.email]
    code = mailed_code()
    wrong = bare.post(BY_EMAIL, {"code": "AAAA-BBBB-CCCC", "next": "/account/2fa/totp/activate/"})
    assert b"not the code" in wrong.content
    assert bare.get("/account/2fa/totp/activate/").status_code == 302
    answer = bare.post(BY_EMAIL, {"code": code.lower(), "next": "/account/2fa/totp/activate/"})
    assert answer["Location"] == "/account/2fa/totp/activate/"
    assert bare.get("/account/2fa/totp/activate/").status_code == 200
    form = {"password1": NEW_PASSWORD, "password2": NEW_PASSWORD}
    assert bare.post("/account/password/set/", form).status_code == 302
    person.refresh_from_db()
    assert person.has_usable_password()


def test_codes_of_others_and_older_codes_are_rejected(bare: Browser, person: Account, later: Any) -> None:
    bare.post(BY_EMAIL, {"action": "send"})
    code = mailed_code()
    later(31 * 60)
    assert b"not the code" in bare.post(BY_EMAIL, {"code": code}).content


def test_people_with_a_password_are_asked_for_it(person: Account) -> None:
    browser = sign_in(Browser(), person)
    assert browser.get(BY_EMAIL)["Location"].startswith("/account/reauthenticate/")
    assert Browser().get(BY_EMAIL)["Location"].startswith("/account/login/")
