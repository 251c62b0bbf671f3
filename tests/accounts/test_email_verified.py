"""`email_verified` says what allauth's record says, at every step; and is never true for an address not proven."""

from typing import Any

import pytest
from allauth.account.models import EmailAddress
from django.test import Client as Browser

from accounts.models import Account
from tests.accounts.entrance.test_sign_up import code_of
from tests.factories import make_account
from tests.relying_party import RelyingParty, sign_in

pytestmark = pytest.mark.django_db


def in_step(account: Account) -> bool:
    account.refresh_from_db()
    proven = EmailAddress.objects.filter(user=account, email__iexact=account.email, verified=True).exists()
    return bool(account.email_verified == proven)


@pytest.mark.parametrize("verified", [True, False])
def test_email_verified_follows_the_email_record(verified: bool) -> None:
    account = make_account(verified=verified)
    assert account.email_verified is verified
    record = EmailAddress.objects.get(user=account)
    record.verified = not verified
    record.save()
    account.refresh_from_db()
    assert account.email_verified is not verified


def test_email_verified_ends_with_the_email_record() -> None:
    account = make_account()
    EmailAddress.objects.get(user=account).delete()
    account.refresh_from_db()
    assert account.email_verified is False


def test_the_record_of_another_address_proves_nothing() -> None:
    account = make_account(verified=False)
    EmailAddress.objects.create(user=account, email="other@example.com", verified=True)
    account.refresh_from_db()
    assert account.email_verified is False


def test_saving_the_account_with_an_old_value_does_not_undo_it(signed_in: Browser, person: Account) -> None:
    signed_in.post("/account/profile", {"given_name": "Augusta", "family_name": ""})
    assert in_step(person)
    assert person.email_verified


def change_address(browser: Browser, email: str) -> Any:
    form = {"login": "ada@example.com", "password": "correct horse 9 battery", "next": "/account/email/"}
    browser.post("/account/reauthenticate/", form)
    return browser.post("/account/email/", {"action_add": "", "email": email})


def test_a_new_address_counts_only_once_it_is_proven(app: RelyingParty, person: Account, mailoutbox: list[Any]) -> None:
    token = app.tokens()["access_token"]
    change_address(app.browser, "ada.new@example.com")
    assert in_step(person)
    answer = app.call("/connect/userinfo", token).json()
    assert (answer["email"], answer["email_verified"]) == ("ada@example.com", True)
    mail = next(mail for mail in mailoutbox if mail.to == ["ada.new@example.com"])
    app.browser.post("/account/confirm-email/", {"code": code_of(mail)})
    assert in_step(person)
    answer = app.call("/connect/userinfo", token).json()
    assert (answer["email"], answer["email_verified"]) == ("ada.new@example.com", True)


def test_an_unproven_person_cannot_sign_in(mailoutbox: list[Any]) -> None:
    account = make_account("unproven@example.com", verified=False)
    browser = sign_in(Browser(), account)
    assert browser.get("/account/")["Location"].startswith("/account/login/")
    browser.post("/account/confirm-email/", {"code": code_of(mailoutbox[-1])})
    assert in_step(account)
    assert account.email_verified
    assert browser.get("/account/").status_code == 200


def test_the_admin_cannot_declare_an_address_proven() -> None:
    from django.contrib.admin.sites import site

    assert "email_verified" in site._registry[Account].readonly_fields
