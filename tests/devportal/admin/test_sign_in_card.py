"""The card "Sign-in" of a person's page: it answers why someone can't sign in, with a bounded number of statements."""

import html
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from django.db import connection
from django.test import Client as Browser
from django.test.utils import CaptureQueriesContext

from accounts.activity import wrong_guesses
from accounts.mail import outbox
from accounts.mail.rendering import render_mail
from accounts.models import Account, Outbox, SecurityEvent, WrongCodes
from accounts.recovery import waiting
from api.usage_counts import flush_usage
from core import clock
from tests.factories import make_account

# The card's nine, the session, roles and permissions of the operator, and the page's own fields and actions.
MOST_STATEMENTS = 23


@pytest.fixture
def person(db: None) -> Account:
    return make_account("ada@example.com")


def page_of(browser: Browser, person: Account) -> str:
    response = browser.get(f"/admin/accounts/account/{person.pk}/change/")
    assert response.status_code == 200
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", response.content.decode())).split())


def type_password(email: str, ip: str, password: str = "wrong") -> None:
    page = {"login": email, "password": password}
    Browser().post("/account/login/", page, REMOTE_ADDR=ip)


def test_it_leads_from_the_first_page_to_the_answer_in_three_clicks(as_operator: Browser, person: Account) -> None:
    assert "/admin/accounts/account/" in as_operator.get("/admin/").content.decode()
    found = as_operator.get("/admin/accounts/account/", {"q": person.email}).content.decode()
    assert f"/admin/accounts/account/{person.pk}/change/" in found
    assert "No limit that the service counts for this account holds them back now." in page_of(as_operator, person)


def test_wrong_passwords_and_the_limit_that_they_reach_are_shown(
    as_operator: Browser, person: Account, settings: Any
) -> None:
    for _ in range(settings.GUESSES_PER_ACCOUNT_AND_ADDRESS + 1):
        type_password(person.email, "203.0.113.9")
    flush_usage()
    text = page_of(as_operator, person)
    assert text.count("A wrong password was entered") == settings.GUESSES_PER_ACCOUNT_AND_ADDRESS
    assert re.search(r"Until \d+ \w+ \d+, \d\d:\d\d UTC, new browsers at 203\.0\.113\.9 can't enter a password\.", text)
    assert text == page_of(as_operator, person)  # looking counts nothing


def test_a_required_proof_of_the_mailbox_is_shown(as_operator: Browser, person: Account, settings: Any) -> None:
    settings.GUESSES_PER_ACCOUNT_PER_HOUR = 2
    for number in range(2):
        assert "a new browser has to enter a code from an email" not in page_of(as_operator, person)
        type_password(person.email, f"203.0.113.{number}")
    assert "a new browser has to enter a code from an email before the next password" in page_of(as_operator, person)


def test_limits_of_mails_are_shown(as_operator: Browser, person: Account, settings: Any) -> None:
    settings.MAILS_PER_RECIPIENT_PER_DAY = 1
    Browser().post("/account/password/reset/", {"email": person.email})
    assert "new browsers can't cause emails to them" in page_of(as_operator, person)


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"is_active": False}, "The account is deactivated"),
        ({"is_active": False, "deletion_due_at": clock.now()}, "They have closed the account."),
        ({"email_verified": False}, "They have not confirmed the email address."),
        ({"password": "!"}, "They have no password."),
    ],
)
def test_states_that_hold_a_person_back_are_shown(
    as_operator: Browser, person: Account, changed: dict[str, Any], says: str
) -> None:
    assert says not in page_of(as_operator, person)
    Account.objects.filter(pk=person.pk).update(**changed)
    assert says in page_of(as_operator, person)


def test_factors_recovery_sessions_and_mails_are_shown(
    as_operator: Browser, person: Account, operator: Account, settings: Any
) -> None:
    secret = generate_totp_secret()
    TOTP.activate(person, secret)
    raw = RecoveryCodes.activate(person).get_unused_codes()
    WrongCodes.objects.create(account=person, count=settings.WRONG_CODES_PER_ACCOUNT)
    browser = Browser()
    browser.force_login(person)
    mail = outbox.store_mail(person.email, render_mail("mailbox_proof", {"email": person.email, "code": "ABCD-EFGH"}))
    Outbox.objects.filter(pk=mail.pk).update(last_error="SMTPServerDisconnected: gone")
    waiting.start(person, operator, reason="Lost", checked="By phone", new_email="", taken_over_at=None)
    text = page_of(as_operator, person)
    for says in (
        "Authenticator app",
        f"{len(raw)} recovery codes",
        "wrong codes in a row were entered",
        "An operator started a recovery on",
        "A recovery of the account was started",
        mail.subject,
        "It waits. SMTPServerDisconnected: gone",
    ):
        assert says in text, says
    for hidden in (secret, *raw, "ABCD-EFGH", browser.cookies[settings.SESSION_COOKIE_NAME].value):
        assert hidden not in text


def test_a_factor_that_cant_be_read_is_shown(as_operator: Browser, person: Account) -> None:
    RecoveryCodes.activate(person)
    Authenticator.objects.update(data={"seed": "gAAAA-of-another-key", "used_mask": 0})
    assert "which can't be read" in page_of(as_operator, person)


def fill(person: Account, number: int) -> None:
    for at in range(number):
        moment = clock.now() - timedelta(minutes=at)
        for kind in ("signed_in", wrong_guesses.PASSWORD):
            ip = f"198.51.100.{at}"
            SecurityEvent.objects.create(account=person, kind=kind, at=moment, ip=ip, details={"methods": ["password"]})
        outbox.queue_mail(person.email, "reset_asked", {"email": person.email})
        name = {"name": f"Key {at}", "signs_in_alone": True}
        Authenticator.objects.create(user=person, type="webauthn", data=name)
        Browser().force_login(person)


def test_it_runs_as_many_statements_for_one_row_as_for_many(as_operator: Browser, person: Account) -> None:
    fill(person, 1)
    page_of(as_operator, person)
    numbers = []
    for number in (0, 30):
        fill(person, number)
        with CaptureQueriesContext(connection) as ran:
            text = page_of(as_operator, person)
        numbers.append(len(ran))
    assert text.count("A wrong password was entered") == text.count("Signed in with a password") == 20
    assert numbers[0] == numbers[1] <= MOST_STATEMENTS


def test_only_people_who_may_see_people_see_it(
    as_reviewer: Browser, person: Account, client: Browser, browser_of: Callable[[Account], Browser]
) -> None:
    for browser in (as_reviewer, browser_of(make_account("bea@example.com"))):
        assert browser.get(f"/admin/accounts/account/{person.pk}/change/").status_code in (302, 403)
