"""Emails of the sign-in pages: nobody waits for the mail server, and a code is kept no longer than it is of use."""

import re
import smtplib
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.test import Client as Browser

from accounts.mail import delivery, outbox
from accounts.mail.rendering import Mail
from accounts.models import Account, Outbox
from accounts.tasks import send_waiting_mail
from core import clock
from tests.accounts.mail.test_outbox import MailServer, queue
from tests.relying_party import sign_in

pytestmark = pytest.mark.django_db
Mover = Callable[[float], None]
CODE = re.compile(r"^ {4}(\S+)$", re.MULTILINE)
ADDRESS = "eve@example.com"
PASSWORD = "a quiet evening 42"


def sign_up(address: str = ADDRESS, browser: Browser | None = None) -> Browser:
    browser = browser or Browser()
    form = {"email": address, "given_name": "Eve", "family_name": "", "password1": PASSWORD}
    assert browser.post("/account/signup/", form).status_code == 302
    return browser


def ask_again(browser: Browser) -> None:
    assert browser.post("/account/confirm-email/", {"action": "resend"}).status_code == 302


def code_of(message: Any) -> str:
    (code,) = CODE.findall(message.body)
    return str(code)


@pytest.mark.parametrize("way", ["sign-up", "reset"])
def test_pages_work_without_the_mail_server_and_the_code_comes_later(
    way: str, person: Account, down: type[MailServer], later: Mover
) -> None:
    browser, page = wanted_code(way, ADDRESS if way == "sign-up" else person.email)
    assert not mail.outbox
    down.error = None
    later(15)
    assert send_waiting_mail() == 1
    answer = browser.post(page, {"code": code_of(mail.outbox[0])}, follow=True)
    if way == "sign-up":
        assert Account.objects.get(email=ADDRESS).email_verified
    else:
        assert 'name="password1"' in answer.content.decode()


def test_changing_the_password_works_without_the_mail_server(
    person: Account, down: type[MailServer], later: Mover
) -> None:
    from tests.factories import PASSWORD as CURRENT

    browser = sign_in(Browser(), person)
    form = {"oldpassword": CURRENT, "password1": PASSWORD, "password2": PASSWORD}
    assert browser.post("/account/password/change/", form).status_code == 302
    down.error = None
    later(30)
    assert send_waiting_mail() == 1
    assert mail.outbox[0].subject.endswith("Your password has been changed")


def test_a_code_is_stored_encrypted_and_wiped_when_it_is_sent(down: type[MailServer], later: Mover) -> None:
    sign_up()
    row = Outbox.objects.get()
    (code,) = CODE.findall(row.text())
    stored = " ".join(str(value) for value in Outbox.objects.values_list().get())
    assert code not in stored
    assert row.body == ""
    down.error = None
    later(15)
    send_waiting_mail()
    row.refresh_from_db()
    assert (row.body, row.body_encrypted, row.is_wiped) == ("", "", True)
    assert row.try_again() is False


def test_a_code_that_is_no_longer_valid_is_not_sent(down: type[MailServer], later: Mover) -> None:
    sign_up()
    down.error = None
    later(15 * 60)
    assert send_waiting_mail() == 0
    assert not mail.outbox
    row = Outbox.objects.get()
    assert row.body_encrypted == ""
    assert row.given_up_at is not None
    assert row.last_error == "ConnectionRefusedError: nobody there"
    assert row.try_again() is False


def test_a_repeated_code_expires_with_the_first(
    down: type[MailServer], later: Mover, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser = sign_up()
    began = Outbox.objects.get().expires_at
    assert began is not None
    monkeypatch.setattr("accounts.mail.codes.time.time", lambda: clock.now().timestamp())
    later(300)
    ask_again(browser)
    second = Outbox.objects.latest("pk").expires_at
    assert second is not None
    assert abs(second - began) < timedelta(seconds=5)


def test_the_newer_of_two_codes_for_one_browser_is_sent(down: type[MailServer], later: Mover) -> None:
    browser = sign_up()
    later(61)  # the attempt at the first one is over, and another code may be asked for
    Outbox.objects.update(not_before=clock.now())
    ask_again(browser)
    down.error = None
    later(15)
    assert send_waiting_mail() == 1
    replaced, newer = Outbox.objects.order_by("pk")
    assert replaced.body_encrypted == ""
    assert (replaced.sent_at, newer.sent_at is not None) == (None, True)
    assert browser.post("/account/confirm-email/", {"code": code_of(mail.outbox[0])}).status_code == 302


def test_codes_are_sent_before_other_mails(down: type[MailServer], later: Mover) -> None:
    for number in range(3):
        queue(f"{number}@example.com")
    sign_up()
    later(60)
    down.error = None
    assert delivery.send_due(limit=1) == 1
    assert mail.outbox[0].to == [ADDRESS]


def test_a_code_is_tried_every_few_seconds(down: type[MailServer], later: Mover) -> None:
    sign_up()
    for _ in range(10):
        later(15)
        send_waiting_mail()
    assert Outbox.objects.get().attempts == 11


@pytest.mark.parametrize("address", [ADDRESS, "ada@example.com"])
def test_a_refused_recipient_sees_no_error_and_the_row_says_why(
    person: Account, server: type[MailServer], address: str
) -> None:
    def refuse(self: MailServer, messages: Any) -> int:
        codes = " ".join(CODE.findall(messages[0].body))
        raise smtplib.SMTPRecipientsRefused({address: (550, f"no such mailbox for {codes}".encode())})

    server.send_messages = refuse  # type: ignore[method-assign]
    sign_up(address)
    row = Outbox.objects.get()
    assert "no such mailbox for" in row.last_error
    assert not re.search(r"[0-9A-Z]{4}-[0-9A-Z]{4}", row.last_error)
    assert (row.given_up_at is not None, row.body_encrypted) == (True, "")


def test_temporary_rejections_are_retried(server: type[MailServer], later: Mover) -> None:
    server.error = smtplib.SMTPRecipientsRefused({ADDRESS: (450, b"greylisted")})
    sign_up()
    server.error = None
    later(15)
    assert send_waiting_mail() == 1


def test_a_server_that_disconnects_counts_as_down(server: type[MailServer]) -> None:
    server.error = smtplib.SMTPSenderRefused(421, b"too busy", "no-reply@example.com")
    for number in range(3):
        queue(f"{number}@example.com")
    assert delivery.send_due() == 0
    assert server.tried == 1


def test_a_process_that_found_it_down_asks_it_for_no_new_mail_for_a_while(down: type[MailServer]) -> None:
    sign_up()
    sign_up("eva@example.com")
    assert down.tried == 1
    assert sorted(Outbox.objects.values_list("attempts", flat=True)) == [0, 1]


def test_known_and_unknown_addresses_store_the_same_rows(person: Account, down: type[MailServer]) -> None:
    for address in (person.email, ADDRESS):
        delivery.resume()
        sign_up(address)
        Browser().post("/account/password/reset/", {"email": address})
    for rows in (Outbox.objects.filter(to=person.email), Outbox.objects.filter(to=ADDRESS)):
        assert [(row.body, bool(row.body_encrypted), row.expires_at is None) for row in rows] == [("", True, False)] * 2


def test_a_text_that_cannot_be_read_holds_up_no_other(server: type[MailServer]) -> None:
    lost = outbox.store_mail(ADDRESS, Mail("Code", "x"), expires_at=clock.now() + timedelta(minutes=5))
    Outbox.objects.filter(pk=lost.pk).update(body_encrypted="encrypted with another key")
    queue("other@example.com")
    assert send_waiting_mail() == 1
    assert Outbox.objects.get(pk=lost.pk).last_error


@pytest.mark.parametrize("address", [f"{'x' * 60}@{'y' * 63}.example", "ada@straße.example", "ada@exam\u200dple.com"])
def test_an_address_that_no_mail_server_takes_fails_no_page(server: type[MailServer], address: str) -> None:
    assert Browser().post("/account/password/reset/", {"email": address}).status_code in (200, 302)


def test_mails_contain_only_allowed_characters(server: type[MailServer]) -> None:
    row = outbox.store_mail(ADDRESS, Mail("two\nlines", "a\x00b\rc"), expires_at=clock.now() + timedelta(minutes=5))
    assert (row.subject, row.text()) == ("two lines", "ab\nc\n")


DELAYED, SPAM = "Our emails are delayed at the moment", "Check your spam folder"


def wanted_code(way: str, email: str) -> tuple[Browser, str]:
    """Ask for a code in a new browser; return it and the page that asks for the code."""
    browser = Browser()
    if way == "sign-up":
        return sign_up(email, browser), "/account/confirm-email/"
    if way == "reset":
        browser.post("/account/password/reset/", {"email": email})
        return browser, "/account/password/reset/confirm/"
    browser.post("/account/login/", {"login": email, "password": "wrong"})
    browser.post("/account/login/mailbox/", {"action": "send"})
    return browser, "/account/login/mailbox/"


@pytest.mark.parametrize("way", ["sign-up", "reset", "proof"])
@pytest.mark.parametrize("email", [ADDRESS, "ada@example.com"])
def test_a_delayed_code_is_shown_as_delayed_to_known_and_unknown_addresses(
    person: Account, down: type[MailServer], later: Mover, settings: Any, way: str, email: str
) -> None:
    settings.GUESSES_PER_ACCOUNT_PER_HOUR = 0
    assert person.email == "ada@example.com"
    browser, page = wanted_code(way, email)
    assert SPAM in browser.get(page).content.decode()
    later(61)
    text = browser.get(page).content.decode()
    assert DELAYED in text
    assert SPAM not in text
    if way != "proof":
        # A replaced mail is still a delayed one: only an address without an account gets another email.
        again = {"action": "resend"} if way == "sign-up" else {"email": email}
        browser.post(page if way == "sign-up" else "/account/password/reset/", again)
        assert DELAYED in browser.get(page).content.decode()
    down.error = None
    later(16)
    assert send_waiting_mail() >= 1
    assert SPAM in browser.get(page).content.decode()


@pytest.mark.parametrize(
    ("error", "delayed"),
    [
        (ConnectionRefusedError("nobody there"), True),
        (TimeoutError("it hangs"), True),
        (smtplib.SMTPServerDisconnected("closed"), True),
        (smtplib.SMTPRecipientsRefused({"x@example.com": (450, b"try later")}), False),
        (smtplib.SMTPRecipientsRefused({"x@example.com": (550, b"nobody")}), False),
    ],
)
def test_only_a_mail_server_that_accepts_nothing_delays_codes(
    server: type[MailServer], later: Mover, error: Exception, delayed: bool
) -> None:
    server.error = error
    sign_up()
    later(61)
    assert delivery.codes_are_delayed() is delayed
    Outbox.objects.update(last_error="")  # a worker has claimed it again
    server.error = None
    delivery.resume()
    assert delivery.send_queued(queue().pk)
    assert not delivery.codes_are_delayed()


def test_codes_that_nobody_can_use_any_more_are_not_delayed(down: type[MailServer], later: Mover) -> None:
    queue()
    later(61)
    assert not delivery.codes_are_delayed()  # an email without a code
    sign_up()
    later(901)
    assert not delivery.codes_are_delayed()
