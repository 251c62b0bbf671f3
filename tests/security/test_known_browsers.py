"""A browser that signed in to an account before is never locked out of it by strangers."""

from typing import Any

import pytest
from django.test import Client as Browser

from accounts.models import Account
from accounts.sessions import known_browsers
from tests.factories import PASSWORD, make_account
from tests.security.test_limits import asks_for_mailbox, attempt, is_limited

# A test stays within one window of each limit.
pytestmark = pytest.mark.usefixtures("stopped_clock")

COOKIE = known_browsers.COOKIE


def sign_in(browser: Browser, email: str, password: str = PASSWORD, ip: str = "192.0.2.1") -> Any:
    return browser.post("/account/login/", {"login": email, "password": password}, REMOTE_ADDR=ip)


def known_browser(*people: Account) -> Browser:
    """Return a browser in which these have signed in once, and that kept nothing but the cookie."""
    browser = Browser()
    for person in people:
        assert sign_in(browser, person.email).status_code == 302
        del browser.cookies["openport_session"]
    return browser


def is_strange(response: Any) -> bool:
    """Tell whether a browser meets what strangers have met."""
    return is_limited(response) or asks_for_mailbox(response)


def lock(person: Account, settings: Any) -> None:
    """Have strangers meet every limit of an account, from the owner's own address too."""
    settings.GUESSES_PER_ACCOUNT_PER_HOUR = 12
    for n in range(30):
        attempt(person.email, ip=f"192.0.2.{1 + n // 6}")
    assert is_limited(attempt(person.email, PASSWORD, "192.0.2.1"))
    assert asks_for_mailbox(attempt(person.email, PASSWORD, "192.0.2.99"))


def test_guesses_elsewhere_do_not_lock_out_a_known_browser(person: Account, settings: Any) -> None:
    browser = known_browser(person)
    lock(person, settings)
    for ip in ("192.0.2.1", "192.0.2.99"):
        assert sign_in(browser, person.email, ip=ip).status_code == 302
        del browser.cookies["openport_session"]


def test_a_known_browser_has_a_separate_limit(person: Account) -> None:
    browser, another = known_browser(person), known_browser(person)
    answers = [sign_in(browser, person.email, "wrong", f"192.0.2.{n}") for n in range(11)]
    assert [answer.status_code for answer in answers[:10]] == [200] * 10
    assert is_limited(answers[-1])
    assert sign_in(another, person.email).status_code == 302


def test_signing_in_again_does_not_give_a_second_budget(person: Account) -> None:
    browser = known_browser(person)
    old = browser.cookies[COOKIE].value
    for _ in range(10):
        sign_in(browser, person.email, "wrong")
    again = known_browser(person)
    again.cookies[COOKIE] = old
    assert is_limited(sign_in(again, person.email))


def test_it_is_known_to_each_account_that_signed_in_there(person: Account, settings: Any) -> None:
    bob = make_account("bob@example.com")
    browser = known_browser(person, bob)
    for account in (person, bob):
        lock(account, settings)
        assert sign_in(browser, account.email).status_code == 302
        del browser.cookies["openport_session"]


def test_a_browser_known_to_one_account_is_unknown_to_another(person: Account, settings: Any) -> None:
    browser = known_browser(make_account("bob@example.com"))
    lock(person, settings)
    assert is_strange(sign_in(browser, person.email))


def test_a_modified_cookie_is_ignored(person: Account, settings: Any) -> None:
    value = known_browser(person).cookies[COOKIE].value
    lock(person, settings)
    for modified in (
        value[:-1] + ("0" if value[-1] != "0" else "1"),
        "x" + value,
        value.replace(".", ".1", 1),
        "|".join([value.split(".")[0]] * 6),
        value.replace(".", "|"),
        "\u00e9..",
        "|" * 4000,
    ):
        browser = Browser()
        browser.cookies[COOKIE] = modified
        assert is_strange(sign_in(browser, person.email)), modified
    browser.cookies[COOKIE] = value
    assert sign_in(browser, person.email).status_code == 302


def test_a_new_password_ends_it_everywhere_but_where_it_was_changed(person: Account, settings: Any) -> None:
    elsewhere, here = known_browser(person), Browser()
    sign_in(here, person.email)
    form = {"oldpassword": PASSWORD, "password1": "another horse 7 battery", "password2": "another horse 7 battery"}
    assert here.post("/account/password/change/", form).status_code == 302
    del here.cookies["openport_session"]
    lock_with(person, settings)
    assert is_strange(sign_in(elsewhere, person.email, "another horse 7 battery"))
    assert sign_in(here, person.email, "another horse 7 battery").status_code == 302


def lock_with(person: Account, settings: Any) -> None:
    settings.GUESSES_PER_ACCOUNT_PER_HOUR = 5
    for n in range(6):
        attempt(person.email, ip=f"198.51.100.{n}")


def test_a_known_browser_is_forgotten_after_its_lifetime(person: Account, settings: Any, later: Any) -> None:
    browser = known_browser(person)
    later(366 * 24 * 3600)
    lock(person, settings)
    assert is_strange(sign_in(browser, person.email))


def test_the_cookie_reveals_nothing_about_the_account(person: Account) -> None:
    first, second = (known_browser(person).cookies[COOKIE] for _ in range(2))
    assert first["httponly"]
    assert first["samesite"] == "Lax"
    assert first["path"] == "/account/"
    assert person.email not in first.value
    assert first.value.split(".")[0] != second.value.split(".")[0]
    assert first.value.split(".")[2] != second.value.split(".")[2]


def test_a_wrong_password_makes_no_browser_known(person: Account) -> None:
    browser = Browser()
    sign_in(browser, person.email, "wrong")
    assert COOKIE not in browser.cookies


def test_guesses_elsewhere_do_not_block_reauthentication(person: Account, settings: Any) -> None:
    browser = Browser()
    sign_in(browser, person.email)
    lock(person, settings)
    form = {"login": person.email, "password": PASSWORD}
    assert browser.post("/account/reauthenticate/", form, REMOTE_ADDR="192.0.2.1").status_code == 302
