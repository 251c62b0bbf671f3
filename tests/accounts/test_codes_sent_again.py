"""“Send a new code” a moment after the last one: the page with the code's field says how long to wait."""

import re
from typing import Any

import pytest
from django.test import Client as Browser

from accounts.models import Account
from tests.accounts.entrance.test_sign_up import code_of, sign_up
from tests.factories import PASSWORD

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def within_one_moment(stopped_clock: None) -> None:
    pass


def told(page: Any) -> int:
    """Return the seconds that a page tells to wait, 0 if it tells none."""
    found = re.search(r'ask for another one in <span data-counts-down="(\d+)">\1 seconds<', page.content.decode())
    return int(found[1]) if found else 0


def start_sign_up(browser: Browser, email: str) -> None:
    sign_up(browser, email)


def start_reset(browser: Browser, email: str) -> None:
    browser.post("/account/password/reset/", {"email": email})


def start_change(browser: Browser, email: str) -> None:
    browser.post("/account/login/", {"login": "ada@example.com", "password": PASSWORD})
    browser.post("/account/reauthenticate/", {"login": "ada@example.com", "password": PASSWORD})
    browser.post("/account/email/", {"email": email, "action_add": ""})


WAYS = [
    pytest.param(start_sign_up, "/account/confirm-email/", {"action": "resend"}, id="sign-up"),
    pytest.param(start_reset, "/account/password/reset/confirm/", {}, id="reset"),
    pytest.param(start_change, "/account/confirm-email/", {"action": "resend"}, id="change"),
]


@pytest.mark.parametrize(("start", "page", "form"), WAYS)
def test_the_page_says_how_long_to_wait(
    client: Browser, person: Account, mailoutbox: list[Any], later: Any, start: Any, page: str, form: dict[str, str]
) -> None:
    again = page if form else "/account/password/reset/"
    for email in ("new@example.com", person.email)[: 1 if start is start_change else 2]:
        browser, before = Browser(), len(mailoutbox)
        start(browser, email)
        sent = len(mailoutbox)
        assert sent == before + 1
        later(20)
        assert told(browser.get(page)) in (39, 40)
        answer = browser.post(again, form or {"email": email})
        assert (answer.status_code, answer["Location"]) == (302, page)
        assert len(mailoutbox) == sent
        later(41)
        assert not told(browser.get(page))
        assert browser.post(again, form or {"email": email})["Location"] == page
        assert told(browser.get(page)) in (59, 60)
        # To an address with an account nothing goes twice that a sign-up causes.
        assert len(mailoutbox) == sent + (email != person.email or start is start_reset)


def test_asking_too_soon_leaves_the_code_as_it_is(client: Browser, mailoutbox: list[Any]) -> None:
    sign_up(client)
    for _ in range(5):
        client.post("/account/confirm-email/", {"action": "resend"})
    assert client.post("/account/confirm-email/", {"code": code_of(mailoutbox[0])})["Location"] == "/connect/resume"


def test_another_email_address_does_not_wait(client: Browser, person: Account, mailoutbox: list[Any]) -> None:
    start_reset(client, "mistyped@example.com")
    start_reset(client, person.email)
    assert [mail.to for mail in mailoutbox] == [["mistyped@example.com"], [person.email]]
