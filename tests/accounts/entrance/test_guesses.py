"""Guesses count before they are checked, and only the ones that were checked and wrong keep counting."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from allauth.account.auth_backends import AuthenticationBackend
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from django.core.exceptions import ValidationError
from django.db import OperationalError
from django.test import Client as Browser

from accounts.entrance import guesses
from accounts.entrance.guesses import Guess
from accounts.models import Account, WrongCodes
from accounts.recovery import address_changes
from core.limits import Rate, RateLimited, seconds_left
from tests.accounts.factors.conftest import give_app, give_codes
from tests.factories import PASSWORD
from tests.security.test_limits import is_limited

ADDRESS = (Rate("guesses, address", 3, 60), ("203.0.113.1",))


def guess(sleeps: float = 0, is_right: bool = True) -> None:
    with guesses._count_in_turn([ADDRESS], None) as counted:
        time.sleep(sleeps)
        if not is_right:
            counted.is_wrong()


def test_right_guesses_at_the_same_moment_wait_for_each_other(
    stopped_clock: None, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    monkeypatch.setattr(guesses, "TURN_SECONDS", 0.01)
    settings.PASSWORD_WAIT_SECONDS = 60
    with ThreadPoolExecutor(25) as pool:  # no more of one IP address may wait
        list(pool.map(lambda _: guess(sleeps=0.02), range(30)))
    for _ in range(3):
        guess(is_right=False)
    with pytest.raises(RateLimited):
        guess()


def test_wrong_guesses_at_the_same_moment_get_no_more_than_the_limit(
    stopped_clock: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guesses, "TURN_SECONDS", 0.01)

    def is_checked_and_wrong(number: int) -> bool:
        is_right = number % 4 > 0
        try:
            guess(sleeps=0.02, is_right=is_right)
        except RateLimited:
            return False
        return not is_right

    with ThreadPoolExecutor(30) as pool:
        assert sum(pool.map(is_checked_and_wrong, range(60))) == 3


def test_a_guess_waits_only_while_others_may_be_right(stopped_clock: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def pause(seconds: float, group: object) -> bool:
        raise AssertionError

    monkeypatch.setattr("core.passwords.pause", pause)
    for _ in range(3):
        guess(is_right=False)
    for _ in range(2):
        with pytest.raises(RateLimited) as limited:
            guess()
        assert limited.value.wait == seconds_left(ADDRESS[0], *ADDRESS[1])


def test_beyond_the_requests_that_may_wait_the_next_try_is_soon(
    stopped_clock: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.passwords.pause", lambda seconds, group: False)
    with Guess(ADDRESS), Guess(ADDRESS), Guess(ADDRESS):
        with pytest.raises(RateLimited) as limited:
            guess()
        assert limited.value.wait == 1
    guess()


def test_a_right_guess_adds_nothing_to_the_next_window(later: Callable[[float], None]) -> None:
    """Otherwise right passwords at the end of a minute would allow more wrong ones in the next."""
    with Guess(ADDRESS), Guess(ADDRESS), Guess(ADDRESS):
        later(61)
    for _ in range(3):
        guess(is_right=False)
    with pytest.raises(RateLimited):
        guess()


def test_a_refused_guess_counts_nowhere(stopped_clock: None) -> None:
    both = (Rate("guesses, both", 1, 300), ("203.0.113.1", "ada"))
    with Guess(both):
        for _ in range(5):
            with pytest.raises(RateLimited):
                Guess(ADDRESS, both)
    for _ in range(3):
        guess(is_right=False)


def test_a_form_s_error_is_a_wrong_guess_and_a_fault_is_not(stopped_clock: None) -> None:
    for error in [OperationalError] * 5 + [ValidationError] * 3:
        with pytest.raises(error), Guess(ADDRESS):
            raise error("wrong")
    with pytest.raises(RateLimited):
        Guess(ADDRESS)


def test_a_fault_after_a_wrong_guess_changes_nothing(stopped_clock: None) -> None:
    for _ in range(3):
        counted = Guess(ADDRESS)
        counted.is_wrong()
        with pytest.raises(OperationalError), counted:
            raise OperationalError
    with pytest.raises(RateLimited):
        Guess(ADDRESS)


# --- The pages ---


def at_sign_in(browser: Browser, person: Account) -> Any:
    return browser.post("/account/login/", {"login": person.email, "password": PASSWORD})


def at_second_factor(browser: Browser, person: Account) -> Any:
    if "_auth_user_id" not in browser.session and not browser.session.get("account_login"):
        at_sign_in(browser, person)
    return browser.post("/account/2fa/authenticate/", {"code": give_codes(person)[0]})


def at_take_back(browser: Browser, person: Account) -> Any:
    return browser.post("/account/address/take-back", {"email": person.email, "code": "AAAA-BBBB-CCCC"})


@pytest.mark.parametrize(
    ("send", "check", "status"),
    [
        (at_sign_in, (AuthenticationBackend, "authenticate"), 302),
        (at_second_factor, (RecoveryCodes, "validate_code"), 302),
        (at_second_factor, (guesses, "count_wrong_code"), 302),
        (at_take_back, (address_changes, "take_back"), 200),
    ],
)
def test_what_a_fault_kept_from_being_checked_is_no_wrong_guess(
    person: Account, monkeypatch: pytest.MonkeyPatch, send: Any, check: Any, status: int, stopped_clock: None
) -> None:
    if send is at_second_factor:
        give_app(person)
        give_codes(person)
    browser = Browser(raise_request_exception=False)

    def fail(*args: Any, **kwargs: Any) -> Any:
        raise OperationalError("the connection was lost")

    with monkeypatch.context() as outage:
        outage.setattr(check[0], check[1], fail)
        answers = [send(browser, person) for _ in range(12)]
        assert all(answer.status_code >= 500 for answer in answers)
    assert not WrongCodes.objects.filter(count__gt=0).exists()
    answer = send(browser, person)
    assert answer.status_code == status
    assert not is_limited(answer)
