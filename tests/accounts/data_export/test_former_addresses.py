"""Closing an account whose email address was changed a few days ago: the former address is told, and can keep it."""

from typing import Any

import pytest
from django.test import Client as Browser

from accounts.models import Account, Outbox, SecurityEvent
from accounts.recovery.tasks import delete_closed_accounts
from devportal.console.models import AuditEvent
from tests.accounts.recovery.test_address_changes import NEW, OLD, change, is_taken_back, take_back, take_back_code
from tests.devportal.admin.conftest import make_staff
from tests.factories import PASSWORD, make_project
from tests.relying_party import sign_in

pytestmark = pytest.mark.django_db
DAY = 24 * 3600


@pytest.fixture
def thief(person: Account) -> Browser:
    return sign_in(Browser(), person)


@pytest.fixture
def code(thief: Browser) -> str:
    """Have the thief change the email address and close the account; return the code that takes it back."""
    change(thief, NEW)
    code = take_back_code(OLD)
    thief.post("/account/reauthenticate/", {"login": NEW, "password": PASSWORD})
    assert thief.post("/account/delete")["Location"] == "/account/goodbye"
    return code


def told(about: str) -> list[str]:
    return sorted(Outbox.objects.filter(subject__contains=about).values_list("to", flat=True))


def test_the_former_email_address_gets_a_mail_when_the_account_is_closed(code: str) -> None:
    assert told("Your account will be deleted") == [NEW]
    [row] = Outbox.objects.filter(subject__contains="An account that had your email address will be deleted")
    assert row.to == OLD
    assert "/account/address/take-back" in row.body
    assert NEW not in row.body


def test_taking_the_address_back_offers_to_keep_the_account(code: str, person: Account) -> None:
    owner = Browser()
    assert is_taken_back(take_back(OLD, code, owner))
    page = owner.get("/account/address/taken-back").content.decode()
    assert "Keep the account" in page
    assert Account.objects.get(pk=person.pk).deletion_due_at is not None
    assert owner.post("/account/address/taken-back")["Location"] == "/account/address/taken-back"
    row = Account.objects.get(pk=person.pk)
    assert (row.is_active, row.deletion_due_at, row.email) == (True, None, OLD)
    assert "Keep the account" not in owner.get("/account/address/taken-back").content.decode()
    assert SecurityEvent.objects.filter(kind="deletion_cancelled").count() == 1


def test_nobody_else_is_offered_to_keep_it(code: str, person: Account, thief: Browser) -> None:
    take_back(OLD, code, Browser())
    for browser in (Browser(), thief):
        assert "Keep the account" not in browser.get("/account/address/taken-back").content.decode()
        browser.post("/account/address/taken-back")
    assert not Account.objects.get(pk=person.pk).is_active


def test_keeping_it_ends_with_the_sessions_that_end_later(code: str, person: Account) -> None:
    owner = Browser()
    take_back(OLD, code, owner)
    Account.objects.filter(pk=person.pk).update(session_stamp="another stamp")
    owner.post("/account/address/taken-back")
    assert not Account.objects.get(pk=person.pk).is_active


def test_the_former_email_address_gets_a_mail_when_the_account_is_kept(code: str, person: Account) -> None:
    browser = Browser()
    browser.post("/account/login/", {"login": NEW, "password": PASSWORD})
    browser.post("/account/closed")
    assert told("Your account will be kept") == sorted([NEW, OLD])


def test_the_former_email_address_gets_a_mail_when_it_could_not_be_deleted(
    code: str, person: Account, settings: Any, later: Any
) -> None:
    settings.ADDRESS_REVERSAL_DAYS = 20
    make_project(person)  # by an operator
    later(14 * DAY + 1)
    assert delete_closed_accounts() == 0
    assert told("Your account was not deleted") == sorted([NEW, OLD])


@pytest.mark.parametrize("days", [0, 14])
def test_the_former_address_gets_the_last_mail(
    days: int, person: Account, thief: Browser, settings: Any, later: Any
) -> None:
    settings.ACCOUNT_DELETION_DAYS, settings.ADDRESS_REVERSAL_DAYS = days, 20
    change(thief, NEW)
    thief.post("/account/reauthenticate/", {"login": NEW, "password": PASSWORD})
    thief.post("/account/delete")
    later(14 * DAY + 1)
    delete_closed_accounts()
    assert not Account.objects.filter(pk=person.pk).exists()
    assert told("Your account has been deleted") == sorted([NEW, OLD])


def test_an_operator_deactivates_an_account_that_its_owner_closed(code: str, person: Account, later: Any) -> None:
    operator = sign_in(Browser(), make_staff("opal@example.com", "operator"))
    page = f"/admin/accounts/account/{person.pk}/do/deactivate/"
    assert operator.get(page).status_code == 200
    assert operator.post(page, {"reason": "Evidence of fraud"}).status_code == 302
    row = Account.objects.get(pk=person.pk)
    assert (row.is_active, row.deletion_due_at) == (False, None)
    audited = AuditEvent.objects.get(action="account.deactivated")
    assert audited.before["is_active"] is False
    assert "deletion_due_at" in audited.before
    browser = Browser()
    answer = browser.post("/account/login/", {"login": NEW, "password": PASSWORD})
    assert answer["Location"] == "/account/inactive/"
    later(15 * DAY)
    delete_closed_accounts()
    assert Account.objects.filter(pk=person.pk).exists()
    assert operator.post(page.replace("deactivate", "activate")).status_code == 302
    assert Account.objects.get(pk=person.pk).is_active
