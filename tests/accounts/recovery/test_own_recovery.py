"""People who lost every factor start the recovery themselves at sign-in, with the password and the mailbox."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from django.test import Client as Browser

from accounts.models import Account, AccountRecovery, Outbox, SecurityEvent
from accounts.recovery import waiting
from core.database import encryption
from devportal.console.models import AuditEvent
from tests.accounts.factors.conftest import (
    code_mailed_to,
    give_app,
    give_codes,
    give_passkey,
    sign_in_as_far_as_possible,
    sign_in_by_mail,
)
from tests.totp import totp

HOUR = 3600
START, STOP, TWO_STEP_PAGE = "/account/recovery/start/", "/account/recovery/", "/account/2fa/authenticate/"
Outcome = AccountRecovery.Outcome


@pytest.fixture
def secret(person: Account) -> str:
    """Give the person every second factor and a further email address, and return the secret of the app."""
    give_codes(person)
    give_passkey(person)
    EmailAddress.objects.create(user=person, email="ada@work.example.com", verified=True, primary=False)
    return give_app(person)


@pytest.fixture
def halfway(person: Account, secret: str) -> Browser:
    """A browser in which the person has typed the password."""
    return sign_in_as_far_as_possible(person)[0]


def start(browser: Browser, email: str = "ada@example.com") -> Any:
    """Ask for the code, type it, and return the page that follows."""
    browser.post(START, {"action": "send"})
    return browser.post(START, {"code": code_mailed_to(email)}, follow=True)


def stop_code() -> str:
    mail = Outbox.objects.filter(subject__contains="about to be removed").latest("pk")
    found = re.search(r"/account/recovery/\?code=(\S+)", encryption.decrypt(mail.body_encrypted))
    assert found
    return found[1]


def kinds(account: Account) -> list[str]:
    return [*SecurityEvent.objects.filter(account=account).order_by("pk").values_list("kind", flat=True)]


def test_password_and_mailbox_start_it_and_every_address_is_notified(halfway: Browser, person: Account) -> None:
    assert START in halfway.get(TWO_STEP_PAGE).content.decode()
    assert "72 hours" in halfway.get(START).content.decode()
    assert "Your account is being recovered" in start(halfway).content.decode()
    row = AccountRecovery.objects.get()
    assert row.is_own
    assert (row.due_at - row.started_at).total_seconds() == 72 * HOUR
    told = Outbox.objects.filter(subject__contains="about to be removed")
    assert {mail.to for mail in told} == {"ada@example.com", "ada@work.example.com"}
    event = SecurityEvent.objects.get(account=person, kind="recovery_started")
    assert (event.by, bool(event.ip)) == (SecurityEvent.By.PERSON, True)
    entry = AuditEvent.objects.get(action="account.recovery_started")
    assert (entry.actor, entry.details) == (person, {"by_person": True})
    assert Authenticator.objects.count() == 3  # nothing changes yet
    assert halfway.get("/account/").status_code == 302


def test_a_sign_in_with_a_recovery_code_cancels_it(halfway: Browser, person: Account) -> None:
    start(halfway)
    codes = Authenticator.objects.get(user=person, type="recovery_codes").wrap().get_unused_codes()
    browser, _ = sign_in_as_far_as_possible(person)
    browser.post(TWO_STEP_PAGE, {"code": codes[0]})
    assert browser.get("/account/").status_code == 200
    assert AccountRecovery.objects.get().outcome == Outcome.LAPSED
    event = SecurityEvent.objects.get(account=person, kind="recovery_lapsed")
    assert event.details == {"reason": "factor_used"}
    assert Outbox.objects.filter(subject__contains="Nothing was removed", to="ada@work.example.com").exists()


def test_a_sign_in_does_not_cancel_the_recovery_of_an_operator(
    person: Account, secret: str, operator: Account, later: Callable[[float], None]
) -> None:
    waiting.start(person, operator, "Lost the phone", "Called back")
    browser, _ = sign_in_as_far_as_possible(person)
    browser.post(TWO_STEP_PAGE, {"code": totp(secret)})
    assert AccountRecovery.objects.open().exists()


def test_a_new_password_cancels_it(halfway: Browser, person: Account) -> None:
    start(halfway)
    sign_in_by_mail(person)
    assert AccountRecovery.objects.get().outcome == Outcome.LAPSED
    assert SecurityEvent.objects.get(kind="recovery_lapsed").details == {"reason": "password_changed"}


def test_an_operator_can_cancel_it_and_start_another(halfway: Browser, person: Account, operator: Account) -> None:
    start(halfway)
    with pytest.raises(waiting.RecoveryRefused, match="already been started"):
        waiting.start(person, operator, "Lost the phone", "Called back")
    assert waiting.cancel(AccountRecovery.objects.get(), operator, "They lost the mailbox too")
    assert not waiting.start(person, operator, "Lost all", "Called back", new_email="new@example.com").is_own


@pytest.mark.parametrize("contact", ["help@example.com", ""])
def test_people_without_their_mailbox_learn_what_to_do(contact: str, halfway: Browser, settings: Any) -> None:
    settings.SUPPORT_EMAIL = contact
    text = halfway.get(START).content.decode()
    assert ("has published no contact" in text) == (not contact)
    assert ("mailto:help@example.com" in text) == bool(contact)


def test_people_who_chose_the_password_by_mail_before_they_had_factors_can_start_it(person: Account) -> None:
    sign_in_by_mail(person)
    give_app(person)
    browser, _ = sign_in_as_far_as_possible(person, "another horse 8 battery")
    start(browser)
    assert AccountRecovery.objects.get().is_own
