"""Beyond the account's ceiling a browser that nobody knows proves the mailbox, and strangers gain nothing by it."""

import re
from typing import Any

import pytest
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from django.test import Client as Browser

from accounts.entrance import guesses
from accounts.models import Account
from tests.factories import PASSWORD
from tests.security.test_limits import asks_for_mailbox, attempt

PATH = "/account/login/mailbox/"
MOST = 6  # mails a day


@pytest.fixture(autouse=True)
def within_one_window(stopped_clock: None, settings: Any) -> None:
    settings.GUESSES_PER_ACCOUNT_PER_HOUR = 6


def besiege(login: str) -> None:
    """Have strangers meet the ceiling of an account."""
    for n in range(7):
        attempt(login, ip=f"198.51.100.{n}")


def sign_in(browser: Browser, login: str, password: str = PASSWORD, ip: str = "203.0.113.9") -> Any:
    return browser.post("/account/login/", {"login": login, "password": password}, REMOTE_ADDR=ip)


def code_of(mail: Any) -> str:
    found = re.search(r"^ {4}(\S{4}-\S{4}-\S{4})$", mail.body, re.MULTILINE)
    assert found, mail.body
    return found[1]


@pytest.fixture
def asked(person: Account) -> Browser:
    """A browser whose right password leads to the question, because strangers have met the account's ceiling."""
    besiege(person.email)
    browser = Browser()
    assert asks_for_mailbox(sign_in(browser, person.email))
    return browser


def send(browser: Browser) -> Any:
    return browser.post(PATH, {"action": "send"})


def prove(browser: Browser, code: str) -> Any:
    return browser.post(PATH, {"code": code})


def test_the_owner_proves_the_mailbox_and_signs_in(person: Account, mailoutbox: list[Any]) -> None:
    besiege(person.email)
    browser = Browser()
    form = {"login": "Ada@example.com", "password": PASSWORD, "next": "/account/plan"}
    assert asks_for_mailbox(browser.post("/account/login/", form))
    send(browser)
    assert [mail.to for mail in mailoutbox] == [[person.email]]
    back = prove(browser, f" {code_of(mailoutbox[0]).lower().replace('-', ' ')} ")
    assert back["Location"] == "/account/login/?login_hint=ada%40example.com&next=%2Faccount%2Fplan"
    assert browser.get(back["Location"]).status_code == 200
    assert browser.post("/account/login/", form)["Location"] == "/account/plan"


def test_the_mailbox_code_alone_does_not_sign_in(asked: Browser, person: Account) -> None:
    prove(asked, guesses.code_of(person.email).text)
    assert asked.get("/account/")["Location"].startswith("/account/login/")
    assert sign_in(asked, person.email, "wrong horse 9").status_code == 200


def test_a_wrong_code_and_one_for_another_mailbox_prove_nothing(asked: Browser, person: Account) -> None:
    of_another = guesses.code_of("bob@example.com").text
    for number, code in enumerate(("", "AAAA-AAAA-AAAA", "\x00", "0" * 500, "é" * 12, of_another)):
        assert prove(asked, code).status_code in (200, 400), code
        assert asks_for_mailbox(sign_in(asked, person.email, ip=f"203.0.113.{number + 10}")), code


def test_the_owner_can_use_a_code_that_someone_else_requested(person: Account, mailoutbox: list[Any]) -> None:
    besiege(person.email)
    besiege("ada+1@example.com")
    for n in range(MOST + 4):
        stranger = Browser()
        sign_in(stranger, "ada+1@example.com" if n % 2 else person.email, ip=f"192.0.2.{n}")
        last = send(stranger)
    assert len(mailoutbox) == MOST
    assert b"The code in any of them works" in last.content
    browser = Browser()
    sign_in(browser, person.email)
    assert b"any of them works" in send(browser).content
    prove(browser, code_of(mailoutbox[0]))
    assert sign_in(browser, person.email)["Location"] == "/connect/resume"


def test_other_mails_do_not_count_toward_the_limit(person: Account, mailoutbox: list[Any]) -> None:
    for n in range(MOST + 1):
        Browser().post("/account/password/reset/", {"email": person.email}, REMOTE_ADDR=f"192.0.2.{n}")
    besiege(person.email)
    browser = Browser()
    sign_in(browser, person.email)
    send(browser)
    assert code_of(mailoutbox[-1]) == guesses.code_of(person.email).text


def test_a_mailbox_code_is_valid_for_one_to_two_days(person: Account, later: Any) -> None:
    code = guesses.code_of(person.email).text
    later(24 * 3600)
    assert guesses.code_of(person.email).is_right(code)
    later(24 * 3600)
    assert not guesses.code_of(person.email).is_right(code)


def test_a_mailbox_code_survives_a_rotation_of_the_secret_key(person: Account, settings: Any) -> None:
    code = guesses.code_of(person.email).text
    settings.SECRET_KEY_FALLBACKS, settings.SECRET_KEY = [settings.SECRET_KEY], "x" * 50
    assert guesses.code_of(person.email).is_right(code)
    settings.SECRET_KEY_FALLBACKS = []
    assert not guesses.code_of(person.email).is_right(code)


def test_an_unknown_address_gets_the_same_page_and_work(
    person: Account, mailoutbox: list[Any], django_assert_num_queries: Any
) -> None:
    seen: list[list[Any]] = []
    for email in (person.email, "nobody@example.com"):
        besiege(email)
        browser = Browser()
        asked = sign_in(browser, email)
        pages = [asked, browser.get(PATH)]
        with django_assert_num_queries(9, exact=False):
            pages.append(send(browser))
        pages += [browser.get(PATH), prove(browser, "AAAA"), prove(browser, guesses.code_of(email).text)]
        pages.append(sign_in(browser, email, "wrong"))
        seen.append([strip(page, email) for page in pages])
    assert seen[0] == seen[1]
    # Lines break where an address is longer.
    one, other = (
        [mail.subject, mail.body.replace(mail.to[0], "").replace(code_of(mail), "").split()] for mail in mailoutbox
    )
    assert one == other


def strip(page: Any, email: str) -> tuple[int, str, str]:
    text = page.content.decode().replace(email, "").replace(page["X-Request-ID"], "")
    where = page.headers.get("Location", "").replace(email.replace("@", "%40"), "")
    text = re.sub(r'data-counts-down="\d+">[^<]*<', "<", text)  # a second may have passed
    return page.status_code, where, re.sub(r'name="csrfmiddlewaretoken" value="[^"]*"', "", text)


def test_the_page_can_not_be_opened_directly(person: Account) -> None:
    browser = Browser()
    assert browser.get(PATH)["Location"] == "/account/login/"
    assert send(browser)["Location"] == "/account/login/"
    sign_in(browser, person.email)
    assert browser.get(PATH)["Location"] == "/connect/resume"


def test_a_passkey_page_and_a_known_browser_need_no_code(person: Account) -> None:
    known = Browser()
    sign_in(known, person.email)
    del known.cookies["openport_session"]
    besiege(person.email)
    assert sign_in(known, person.email)["Location"] == "/connect/resume"
    assert Browser().get("/account/login/").status_code == 200


def test_two_step_verification_follows_the_mailbox_code(person: Account) -> None:
    secret = generate_totp_secret()
    TOTP.activate(person, secret)
    for n in range(7):
        stranger = Browser()
        sign_in(stranger, person.email, ip=f"198.51.100.{n}")
        stranger.post("/account/2fa/authenticate/", {"code": "000000"}, REMOTE_ADDR=f"198.51.100.{n}")
    browser = Browser()
    sign_in(browser, person.email)
    assert asks_for_mailbox(browser.post("/account/2fa/authenticate/", {"code": "000000"}))
    back = prove(browser, guesses.code_of(person.email).text)
    assert back["Location"] == "/account/2fa/authenticate/"
    assert browser.post(back["Location"], {"code": "000000"}).status_code == 200
