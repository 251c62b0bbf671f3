"""The budgets of pages in the middle of a flow: sign-up, forgotten password, two-step verification."""

from typing import Any
from urllib.parse import quote

import pytest
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from django.test import Client as Browser

from accounts.activity.recording import record, token_of
from accounts.models import Account
from tests.accounts.entrance.test_sign_up import code_of, sign_up
from tests.accounts.factors.conftest import give_app
from tests.factories import PASSWORD
from tests.oidc.test_budgets import Counted

pytestmark = pytest.mark.django_db


def shown(browser: Browser, address: str, most: int) -> None:
    browser.get(address)
    with Counted() as counted:
        assert browser.get(address).status_code == 200
    assert len(counted.statements) <= most, "\n".join(counted.statements)


def test_budget_of_the_sign_up_code_page(client: Browser) -> None:
    sign_up(client)
    shown(client, "/account/confirm-email/", 4)


def test_budget_of_the_password_reset_pages(client: Browser, person: Account, mailoutbox: list[Any]) -> None:
    client.post("/account/password/reset/", {"email": person.email})
    shown(client, "/account/password/reset/confirm/", 3)
    client.post("/account/password/reset/confirm/", {"code": code_of(mailoutbox[-1])})
    shown(client, "/account/password/reset/complete/", 2)


def test_budget_of_the_mailbox_code_page(client: Browser, person: Account, settings: Any) -> None:
    settings.GUESSES_PER_ACCOUNT_PER_HOUR = 0
    client.post("/account/login/", {"login": person.email, "password": PASSWORD})
    shown(client, "/account/login/mailbox/", 1)


def test_the_page_of_two_step_verification(client: Browser, person: Account) -> None:
    give_app(person)
    client.post("/account/login/", {"login": person.email, "password": PASSWORD})
    shown(client, "/account/2fa/authenticate/", 6)
    shown(client, "/account/recovery/start/", 9)


def test_budget_of_reauthentication_by_mail(signed_in: Browser, person: Account) -> None:
    person.set_unusable_password()
    person.save()
    session = signed_in.session
    session["_auth_user_hash"] = person.get_session_auth_hash()
    session.save()
    shown(signed_in, "/account/reauthenticate/email/", 6)


def test_budget_of_the_page_that_undoes_a_factor(client: Browser, person: Account) -> None:
    codes = RecoveryCodes.activate(person).instance
    event = record(person, "recovery_codes_made", factor=codes.pk, mailbox=person.email)
    shown(client, f"/account/undo/?event={quote(token_of(event))}", 5)
    shown(client, f"/account/secure/?event={quote(token_of(event))}", 5)
