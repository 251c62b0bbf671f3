"""A password is hashed before its transaction begins: a slow hash must hold neither a slot nor a lock."""

from collections.abc import Callable
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from django.contrib.auth.hashers import MD5PasswordHasher
from django.db import connection
from django.test import Client as Browser

from accounts.models import Account
from accounts.views.forms import SignupForm
from tests.accounts.activity.test_notices import key
from tests.accounts.entrance.test_sign_up import code_of, confirm
from tests.accounts.entrance.test_sign_up import sign_up as sign_up_as
from tests.accounts.factors.conftest import confirm as confirm_with_factors
from tests.factories import PASSWORD, make_account
from tests.relying_party import sign_in

pytestmark = pytest.mark.django_db(transaction=True)

NEW = "a bright morning 27"


@pytest.fixture
def hashes(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """For each hash that is computed, whether a transaction was open."""
    found: list[bool] = []
    real = MD5PasswordHasher.encode

    def encode(self: MD5PasswordHasher, password: str, salt: str) -> str:
        found.append(connection.in_atomic_block)
        return str(real(self, password, salt))

    monkeypatch.setattr(MD5PasswordHasher, "encode", encode)
    return found


@pytest.fixture
def ada() -> Account:
    return make_account("ada@example.com")


@pytest.mark.parametrize("email", ["new@example.com", "ada@example.com", "unproven@example.com"])
def test_a_sign_up_hashes_once_and_outside_of_transactions(ada: Account, email: str, hashes: list[bool]) -> None:
    make_account("unproven@example.com", verified=False)
    hashes.clear()
    assert sign_up_as(Browser(), email).status_code == 302
    assert hashes == [False]


def test_a_sign_up_that_loses_a_race_hashes_once(hashes: list[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    real = SignupForm.save

    def another_comes_first(self: Any, request: Any) -> Any:
        Account.objects.create(email="new@example.com")
        return real(self, request)

    monkeypatch.setattr(SignupForm, "save", another_comes_first)
    assert sign_up_as(Browser()).status_code == 302
    assert hashes == [False]
    assert Account.objects.count() == 1


def test_a_sign_up_and_its_confirmed_repetition_keep_the_password(hashes: list[bool], mailoutbox: list[Any]) -> None:
    for password in (PASSWORD, NEW):
        browser = Browser()
        sign_up_as(browser, password1=password)
        del hashes[:]
    confirm(browser, mailoutbox[-1])
    assert hashes == []
    assert Account.objects.get().check_password(NEW)


def change(browser: Browser, account: Account) -> Any:
    form = {"oldpassword": PASSWORD, "password1": NEW, "password2": NEW}
    return sign_in(browser, account).post("/account/password/change/", form)


def set_first(browser: Browser, account: Account) -> Any:
    sign_in(browser, account)
    key(account, "Phone", is_passkey=True)
    Account.objects.filter(pk=account.pk).update(password="!none")
    account.refresh_from_db()
    session = browser.session
    session["_auth_user_hash"] = account.get_session_auth_hash()
    session.save()
    confirm_with_factors(browser, account)
    return browser.post("/account/password/set/", {"password1": NEW, "password2": NEW})


def reset(browser: Browser, account: Account, mails: list[Any]) -> Any:
    browser.post("/account/password/reset/", {"email": account.email})
    browser.post("/account/password/reset/confirm/", {"code": code_of(mails[-1])})
    return browser.post("/account/password/reset/complete/", {"password1": NEW, "password2": NEW})


@pytest.mark.parametrize("way", [change, set_first])
def test_a_password_that_is_set_or_changed_is_hashed_outside_of_transactions(
    ada: Account, way: Callable[[Browser, Account], Any], hashes: list[bool]
) -> None:
    assert way(Browser(), ada).status_code == 302
    assert hashes
    assert not any(hashes)
    ada.refresh_from_db()
    assert ada.check_password(NEW)


def test_a_password_that_is_reset_is_hashed_outside_of_transactions(
    ada: Account, hashes: list[bool], mailoutbox: list[Any]
) -> None:
    assert reset(Browser(), ada, mailoutbox).status_code == 302
    assert hashes == [False]
    ada.refresh_from_db()
    assert ada.check_password(NEW)


def test_a_sign_in_and_a_confirmation_by_password_hash_outside_of_transactions(
    ada: Account, hashes: list[bool]
) -> None:
    browser = sign_in(Browser(), ada)
    browser.post("/account/reauthenticate/", {"login": ada.email, "password": PASSWORD})
    assert len(hashes) >= 2
    assert not any(hashes)
    assert EmailAddress.objects.filter(user=ada).exists()
