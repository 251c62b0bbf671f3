"""Operators end a person's sessions and ask for a new password: audited, seen by the person, and without a secret."""

from typing import Any

import pytest
from allauth.account.models import EmailAddress
from django.core import mail
from django.test import Client as Browser

from accounts.mail.recipient_limit import count_mail
from accounts.models import Account, Outbox, SecurityEvent
from devportal.console.models import AuditEvent
from tests.factories import make_account
from tests.relying_party import sign_in

ACTS = ("sign-out", "send-reset")
REASON = "They called us, and we know their voice"


def act(browser: Browser, row: Account, name: str, **form: Any) -> Any:
    return browser.post(f"/admin/accounts/account/{row.pk}/do/{name}/", form, follow=True)


def is_signed_in(browser: Browser) -> bool:
    return bool(browser.get("/account/sessions/").status_code == 200)


def test_signing_out_a_person_ends_every_session(as_operator: Browser, operator: Account, person: Account) -> None:
    browsers = [sign_in(Browser(), person) for _ in range(2)]
    other = sign_in(Browser(), make_account())
    response = act(as_operator, person, "sign-out", reason=REASON)
    assert "They have been signed out everywhere" in response.content.decode()
    assert [is_signed_in(browser) for browser in (*browsers, other, as_operator)] == [False, False, True, True]
    event = AuditEvent.objects.latest("pk")
    assert (event.action, event.actor, event.target) == ("account.signed_out", operator, f"account:{person.pk}")
    assert event.details == {"reason": REASON}
    text = sign_in(browsers[0], person).get("/account/activity/").content.decode()
    assert "Signed out everywhere" in text
    assert "The Openport team" in text
    assert REASON not in text
    assert operator.email not in text


def test_a_reset_mails_the_person_and_grants_no_access(
    as_operator: Browser, operator: Account, person: Account
) -> None:
    before = person.password
    browser = sign_in(Browser(), person)
    response = act(as_operator, person, "send-reset", reason=REASON)
    [row] = Outbox.objects.filter(to=person.email)
    assert row.subject.endswith("Please choose a new password")
    assert "/account/password/reset/" in row.body
    assert REASON not in row.body
    assert "code=" not in row.body
    assert not mail.outbox  # no code went anywhere
    assert "?" not in row.body.partition("http")[2]  # the link is the same for everyone
    assert person.email not in response.content.decode().partition("An email asks them")[2][:200]
    person.refresh_from_db()
    assert person.password == before
    assert is_signed_in(browser)
    assert AuditEvent.objects.latest("pk").action == "account.reset_sent"
    assert "An email was sent that asks to choose a new password" in browser.get("/account/activity/").content.decode()


def test_a_mailbox_gets_no_more_resets_than_other_mails(as_operator: Browser, person: Account, settings: Any) -> None:
    for _ in range(settings.MAILS_PER_RECIPIENT_PER_DAY):
        count_mail(person.email)
    response = act(as_operator, person, "send-reset", reason=REASON)
    assert "Nothing was sent" in response.content.decode()
    assert not Outbox.objects.filter(to=person.email).exists()
    assert not AuditEvent.objects.filter(action="account.reset_sent").exists()


def test_unverified_email_addresses_get_no_reset(as_operator: Browser) -> None:
    unproven = make_account("unproven@example.com", verified=False)
    assert "has not confirmed this email" in act(as_operator, unproven, "send-reset", reason=REASON).content.decode()
    assert not Outbox.objects.filter(to=unproven.email).exists()


def test_a_reset_that_no_mail_server_would_accept_is_refused(as_operator: Browser, person: Account) -> None:
    address = "åda@example.com"
    EmailAddress.objects.filter(user=person).update(email=address)
    Account.objects.filter(pk=person.pk).update(email=address)
    page = act(as_operator, person, "send-reset", reason=REASON).content.decode()
    assert "no mail server accepts this email address" in page
    assert not AuditEvent.objects.filter(action="account.reset_sent").exists()


@pytest.mark.parametrize("name", ACTS)
def test_a_reason_is_required_and_opening_changes_nothing(as_operator: Browser, person: Account, name: str) -> None:
    browser = sign_in(Browser(), person)
    before = SecurityEvent.objects.count()
    act(as_operator, person, name, reason=" ")
    page = as_operator.get(f"/admin/accounts/account/{person.pk}/do/{name}/?reason={REASON}")
    assert page.status_code == 200
    assert is_signed_in(browser)
    assert SecurityEvent.objects.count() == before
    assert not Outbox.objects.filter(to=person.email).exists()


@pytest.mark.parametrize("name", ACTS)
def test_reviewers_can_not_use_security_actions(as_reviewer: Browser, person: Account, name: str) -> None:
    assert act(as_reviewer, person, name, reason=REASON).status_code == 403
