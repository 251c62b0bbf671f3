"""Factors that are set up twice at the same moment, on PostgreSQL with separate connections."""

from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.test import Client as Browser

from tests.accounts.test_passkey_sign_up import CODES, CREATE, sign_up
from tests.at_once import at_once
from tests.factories import make_account
from tests.relying_party import sign_in
from tests.security.test_added_factors import use_key
from tests.soft_key import SoftKey, give_key
from tests.totp import totp

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]
ADD = "/account/2fa/webauthn/add/"


def test_one_session_adds_its_key_and_the_others_end() -> None:
    account = make_account("ada@example.com")
    browsers = [sign_in(Browser(REMOTE_ADDR=f"10.0.0.{number}"), account) for number in range(4)]
    keys = [SoftKey(id=b"key %d" % number) for number in range(4)]
    pages = [browser.get(ADD).context["js_data"]["creation_options"] for browser in browsers]

    def add(number: int) -> int:
        form = {"name": "A key", "passwordless": "true", "credential": keys[number].made(pages[number])}
        return browsers[number].post(ADD, form).status_code

    # 400: Django can't store a session that another request has just ended.
    answers = at_once(4, add)
    assert 302 in answers
    assert set(answers) <= {302, 400}
    assert Authenticator.objects.filter(user=account, type="webauthn").count() == 1
    assert sum(browser.get("/account/").status_code == 200 for browser in browsers) == 1


def test_a_double_click_adds_an_app_once_and_is_no_error() -> None:
    account, owners = make_account("ada@example.com"), SoftKey()
    browser = sign_in(Browser(), account)
    give_key(account, owners)
    use_key(browser, owners)
    page = "/account/2fa/totp/activate/"
    form = {"code": totp(browser.get(page).context["form"].secret)}
    browser.raise_request_exception = False
    assert at_once(2, lambda _: browser.post(page, form).status_code) == [302, 302]
    assert Authenticator.objects.filter(user=account, type="totp").count() == 1


def test_a_double_click_adds_a_key_once() -> None:
    account, owners = make_account("ada@example.com"), SoftKey()
    browser = sign_in(Browser(), account)
    give_key(account, owners)
    use_key(browser, owners)
    made = SoftKey(id=b"a new key").made(browser.get(ADD).context["js_data"]["creation_options"])
    form = {"name": "A key", "passwordless": "true", "credential": made}
    assert at_once(2, lambda _: browser.post(ADD, form).status_code) == [302, 302]
    assert Authenticator.objects.filter(user=account, type="webauthn").count() == 2


def test_a_double_click_signs_up_with_one_passkey(mailoutbox: list[Any]) -> None:
    first = sign_up(Browser(), mailoutbox)
    second = Browser()
    form = {"credential": SoftKey().made(first.get(CREATE).context["js_data"]["creation_options"])}
    second.cookies.update(first.cookies)
    clicks = (first, second)
    assert at_once(2, lambda number: clicks[number].post(CREATE, form)["Location"]) == [CODES, CODES]
    signed_in = [browser for browser in clicks if browser.get("/account/").status_code == 200]
    assert signed_in
    passkey = Authenticator.objects.get(type="webauthn")
    for browser in signed_in:  # the browser keeps one of the two sessions, and the passkey counts in either
        assert browser.session["first_factor"]["id"] == passkey.pk
        assert [step["verified"] for step in browser.session["authentication_steps"]["steps"]] == [True]
