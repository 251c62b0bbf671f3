"""Guesses in two-step verification are limited like passwords, and nobody can lock others out of it."""

from typing import Any

import pytest
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from django.test import Client as Browser

from accounts.models import Account
from tests.factories import PASSWORD
from tests.security.test_limits import asks_for_mailbox, is_limited

PATH = "/account/2fa/authenticate/"


@pytest.fixture(autouse=True)
def within_one_window(stopped_clock: None) -> None:
    pass


@pytest.fixture
def two_steps(person: Account) -> Account:
    TOTP.activate(person, generate_totp_secret())
    return person


def guess(person: Account, ip: str, times: int = 1) -> list[Any]:
    """Guess at the code, as somebody who knows the password."""
    browser = Browser()
    form = {"login": person.email, "password": PASSWORD}
    assert browser.post("/account/login/", form, REMOTE_ADDR=ip).status_code == 302
    return [browser.post(PATH, {"code": f"{n:06}"}, REMOTE_ADDR=ip) for n in range(times)]


def test_two_step_codes_are_limited_from_one_ip_address(two_steps: Account) -> None:
    answers = guess(two_steps, "203.0.113.1", 6)
    assert [answer.status_code for answer in answers[:5]] == [200] * 5
    assert is_limited(answers[-1])


def test_two_step_codes_are_limited_from_many_ip_addresses(two_steps: Account, settings: Any) -> None:
    settings.GUESSES_PER_ACCOUNT_PER_HOUR = 7
    answers = [guess(two_steps, f"198.51.100.{n}")[0] for n in range(8)]
    assert [answer.status_code for answer in answers[:7]] == [200] * 7
    assert asks_for_mailbox(answers[-1])


def test_a_known_browser_is_not_limited_by_others(person: Account, settings: Any) -> None:
    browser = Browser()
    form = {"login": person.email, "password": PASSWORD}
    assert browser.post("/account/login/", form).status_code == 302
    del browser.cookies["openport_session"]
    TOTP.activate(person, generate_totp_secret())
    settings.GUESSES_PER_ACCOUNT_PER_HOUR = 3
    assert asks_for_mailbox([guess(person, f"198.51.100.{n}")[0] for n in range(4)][-1])
    browser.post("/account/login/", form)
    assert browser.post(PATH, {"code": "000000"}).status_code == 200


def test_reauthentication_has_a_separate_limit(signed_in: Browser, person: Account) -> None:
    TOTP.activate(person, generate_totp_secret())
    answers = [signed_in.post("/account/2fa/reauthenticate/", {"code": f"{n:06}"}) for n in range(11)]
    assert [answer.status_code for answer in answers[:10]] == [200] * 10
    assert is_limited(answers[-1])
