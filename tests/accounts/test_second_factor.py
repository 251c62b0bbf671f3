"""Authenticator apps: the secret is encrypted while the app is set up; a code works once."""

import time
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.test import Client as Browser

from accounts.models import Account
from tests.accounts.entrance.test_sign_up import confirm, sign_up
from tests.accounts.factors.conftest import give_app, give_codes, sign_in_as_far_as_possible
from tests.accounts.test_passkey_sign_up import create_passkey
from tests.accounts.test_passkey_sign_up import sign_up as sign_up_by_passkey
from tests.factories import PASSWORD
from tests.totp import totp


@pytest.mark.parametrize("seconds", [0, 31, 59])
def test_a_code_works_once_for_as_long_as_it_is_valid(
    person: Account, seconds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = give_app(person)
    began = time.time() // 30 * 30 + 0.5
    monkeypatch.setattr(time, "time", lambda: began)
    code = totp(secret, 1)  # of a phone whose clock is ahead
    answers = []
    for moment in (began, began + seconds):
        monkeypatch.setattr(time, "time", lambda moment=moment: moment)
        browser, _ = sign_in_as_far_as_possible(person)
        answers.append(browser.post("/account/2fa/authenticate/", {"code": code}).status_code)
    assert answers == [302, 200]


ARABIC = str.maketrans("0123456789", "\u0660\u0661\u0662\u0663\u0664\u0665\u0666\u0667\u0668\u0669")


def as_typed(code: str) -> str:
    """Return a code as a keyboard and a clipboard may make it: digits of another script, spaces, direction marks."""
    return f"\u200f{code[:3]}\u202f{code[3:]} \u2069".translate(ARABIC)


def status_of_code(person: Account, code: str) -> int:
    browser = Browser()
    browser.post("/account/login/", {"login": person.email, "password": PASSWORD})
    return browser.post("/account/2fa/authenticate/", {"code": code}).status_code


def test_codes_are_read_in_any_script_and_work_once(signed_in: Browser, person: Account) -> None:
    signed_in.post("/account/reauthenticate/", {"login": person.email, "password": PASSWORD})
    secret = signed_in.get("/account/2fa/totp/activate/").context["form"].secret
    assert signed_in.post("/account/2fa/totp/activate/", {"code": as_typed(totp(secret))}).status_code == 302
    recovery = give_codes(person)[0]
    for code in (totp(secret, 1), recovery):
        assert [status_of_code(person, typed) for typed in (as_typed(code), as_typed(code), code)] == [302, 200, 200]


def test_the_secret_of_an_app_that_is_being_set_up_is_encrypted(signed_in: Browser, person: Account) -> None:
    for code in ("000000", "111111"):
        page = signed_in.get("/account/2fa/totp/activate/")
        secret = page.context["form"].secret
        refused = signed_in.post("/account/2fa/totp/activate/", {"code": code})
        assert (refused.status_code, refused.context["form"].secret) == (200, secret)
        assert secret not in str(dict(signed_in.session))
    assert signed_in.post("/account/2fa/totp/activate/", {"code": totp(secret)}).status_code == 302
    app = Authenticator.objects.get(user=person, type=Authenticator.Type.TOTP).wrap()
    assert app.validate_code(totp(secret, 1))
    assert secret not in str(dict(signed_in.session))


def test_the_code_that_set_up_an_app_signs_nobody_in(signed_in: Browser, person: Account) -> None:
    page = signed_in.get("/account/2fa/totp/activate/")
    code = totp(page.context["form"].secret)
    signed_in.post("/account/2fa/totp/activate/", {"code": code})
    browser, _ = sign_in_as_far_as_possible(person)
    assert browser.post("/account/2fa/authenticate/", {"code": code}).status_code == 200


@pytest.mark.parametrize("way", ["password", "passkey"])
def test_a_sign_in_that_was_given_up_does_not_stop_a_sign_up(way: str, person: Account, mailoutbox: list[Any]) -> None:
    give_app(person)
    browser, _ = sign_in_as_far_as_possible(person)
    if way == "password":
        sign_up(browser)
        confirm(browser, mailoutbox[-1])
    else:
        sign_up_by_passkey(browser, mailoutbox)
        create_passkey(browser)
    assert browser.get("/account/").status_code == 200
    assert browser.session["_auth_user_id"] == str(Account.objects.exclude(pk=person.pk).get().pk)
