"""A few emails a day that anyone can cause go to one mailbox; the page says when no more do."""

import re
from typing import Any

import pytest
from django.test import Client as Browser

from accounts.models import Account
from core.limits import usage
from tests.accounts.entrance.test_sign_up import code_of
from tests.factories import PASSWORD

# A test stays within one window of each limit.
pytestmark = pytest.mark.usefixtures("stopped_clock")

DAY = 24 * 3600
MOST = 6


def reset(email: str, n: int, browser: Browser | None = None) -> Any:
    form = {"email": email}
    return (browser or Browser()).post("/account/password/reset/", form, REMOTE_ADDR=f"198.51.100.{n}")


def sign_up(email: str, n: int, browser: Browser | None = None) -> Any:
    form = {"email": email, "given_name": "N", "password1": "a quiet evening 42"}
    return (browser or Browser()).post("/account/signup/", form, REMOTE_ADDR=f"198.51.100.{n}")


def words(page: Any) -> str:
    """Return what a page says, but for the address itself and the time that is left of its day."""
    text = re.sub(r"<[^>]+>", "", page.content.decode())
    return re.sub(r"[\w.+-]+@[\w.-]+|\d+ (hour|minute|second)s?", "…", " ".join(text.split()))


def said(page: Any) -> bool:
    return bool(page.status_code == 200 and b"We sent you several emails already" in page.content)


def test_reset_mails_per_mailbox_are_limited(person: Account, mailoutbox: list[Any], later: Any) -> None:
    answers = [reset(person.email, n) for n in range(20)]
    assert len(mailoutbox) == MOST
    assert [answer.status_code for answer in answers[:MOST]] == [302] * MOST
    assert all(said(answer) for answer in answers[MOST:])
    later(DAY)
    assert reset(person.email, 1).status_code == 302
    assert len(mailoutbox) == MOST + 1


def test_all_kinds_of_mail_share_the_limit(person: Account, mailoutbox: list[Any]) -> None:
    for n in range(MOST):
        (reset if n % 2 else sign_up)(person.email, n)
    assert said(reset(person.email, 50))
    assert said(sign_up(person.email, 51))
    assert len(mailoutbox) == MOST


@pytest.mark.parametrize("way", [reset, sign_up])
def test_known_and_unknown_addresses_get_the_same_message(person: Account, mailoutbox: list[Any], way: Any) -> None:
    pages = {email: [way(email, n) for n in range(9)] for email in (person.email, "nobody@example.com")}
    known, unknown = pages.values()
    assert [page.status_code for page in known] == [page.status_code for page in unknown]
    assert said(known[-1])
    assert words(known[-1]) == words(unknown[-1])


def test_sending_codes_again_reveals_no_account(person: Account, mailoutbox: list[Any]) -> None:
    outcomes = []
    for email in (person.email, "nobody@example.com"):
        seen = []
        for n in range(3):
            browser = Browser()
            seen.append(sign_up(email, n, browser).status_code)
            for _ in range(2):
                again = browser.post("/account/confirm-email/", {"action": "resend"}, REMOTE_ADDR=f"192.0.2.{n}")
                seen.append(again.status_code)
        outcomes.append(seen)
    assert outcomes[0] == outcomes[1]
    assert outcomes[0][-1] == 302 or 200 in outcomes[0]


def test_an_earlier_code_still_works_at_the_limit(db: None, mailoutbox: list[Any], later: Any) -> None:
    browser = Browser()
    sign_up("new@example.com", 1, browser)
    code = code_of(mailoutbox[-1])
    later(60)
    for n in range(MOST):
        reset("new@example.com", n)
    assert said(browser.post("/account/confirm-email/", {"action": "resend"}))
    assert browser.post("/account/confirm-email/", {"code": code}).status_code == 302
    assert Account.objects.get(email="new@example.com").email_verified


def test_spellings_and_tags_count_as_one_mailbox() -> None:
    same = ["ada@example.com", "ADA@Example.com", " ada@example.com", "ada+1@example.com", "ada+x+y@EXAMPLE.COM"]
    assert {usage.mailbox_key(address) for address in same} == {"ada@example.com"}
    same = ["a.d.a@gmail.com", "ada+notes@googlemail.com", "Ada@Gmail.com"]
    assert {usage.mailbox_key(address) for address in same} == {"ada@gmail.com"}
    assert usage.mailbox_key("a.da@example.com") != usage.mailbox_key("ada@example.com")
    assert usage.mailbox_key("ada@b\u00fccher.example") == usage.mailbox_key("ada@xn--bcher-kva.example")
    assert usage.mailbox_key("+x@example.com") == "+x@example.com"


def test_a_known_browser_has_a_separate_mail_limit(person: Account, mailoutbox: list[Any], later: Any) -> None:
    browser = Browser()
    browser.post("/account/login/", {"login": person.email, "password": PASSWORD})
    del browser.cookies["openport_session"]
    for n in range(12):
        reset(person.email, n)
    assert len(mailoutbox) == MOST
    answers = []
    for n in range(MOST + 1):
        later(60)
        answers.append(reset(person.email, n, browser))
    assert [answer.status_code for answer in answers[:MOST]] == [302] * MOST
    assert said(answers[-1])


def test_notices_of_own_actions_are_mailed_despite_the_limit(
    signed_in: Browser, person: Account, mailoutbox: list[Any]
) -> None:
    for n in range(12):
        reset(person.email, n)
    form = {"oldpassword": PASSWORD, "password1": "another horse 7 battery", "password2": "another horse 7 battery"}
    signed_in.post("/account/password/change/", form)
    assert "assword" in mailoutbox[-1].subject
