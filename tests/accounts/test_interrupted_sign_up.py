"""An interrupted sign-up continues where it was left, and the owner of the mailbox gets the account."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client as Browser

from accounts.models import Account
from oidc.models import Client
from tests import relying_party
from tests.accounts.entrance.test_sign_up import PASSWORD, confirm, sign_up
from tests.accounts.factors.conftest import code_mailed_to, give_app
from tests.factories import make_account
from tests.relying_party import RelyingParty
from tests.totp import totp

pytestmark = pytest.mark.django_db

EMAIL, OTHER = "new@example.com", "another horse 7 battery"


def sign_in(browser: Browser, password: str = PASSWORD) -> Any:
    return browser.post("/account/login/", {"login": EMAIL, "password": password})


@pytest.mark.parametrize("page", ["/account/login/", "/account/signup/"])
def test_an_interrupted_sign_up_offers_the_code_page_in_the_same_browser(
    client: Browser, mailoutbox: list[Any], page: str
) -> None:
    sign_up(client)
    assert client.get(page)["Location"] == "/account/confirm-email/"
    assert confirm(client, mailoutbox[0])["Location"] == "/connect/resume"


def test_an_expired_sign_up_code_is_explained_on_the_sign_in_page(client: Browser, person: Account) -> None:
    pages = []
    for email in (EMAIL, person.email):
        browser = Browser()
        sign_up(browser, email)
        session = browser.session
        session["account_email_verification_code"]["at"] -= 3600
        session["account_login"]["initiated_at"] -= 3600
        session.save()
        assert browser.get("/account/confirm-email/")["Location"] == "/account/login/"
        page = browser.get("/account/login/")
        assert page.context["form"]["login"].value() == email
        assert "we’ll send you a new code".encode() in page.content
        pages.append(page)
    assert "we’ll send you a new code".encode() not in Browser().get("/account/login/").content


def test_elsewhere_the_password_leads_to_the_code_page(client: Browser, mailoutbox: list[Any]) -> None:
    sign_up(client)
    other = Browser()
    assert sign_in(other)["Location"] == "/account/confirm-email/"
    assert confirm(other, mailoutbox[1])["Location"] == "/connect/resume"
    assert Account.objects.get().email_verified


def test_an_interrupted_sign_up_still_returns_to_the_app(spa: Client, mailoutbox: list[Any]) -> None:
    app = RelyingParty(spa, Browser())
    app.authorize(prompt="create")
    sign_up(app.browser)
    assert app.browser.get("/account/login/")["Location"] == "/account/confirm-email/"
    resumed = app.browser.get(confirm(app.browser, mailoutbox[0])["Location"])
    assert resumed["Location"].startswith("/connect/authorize?")


def test_signing_up_again_replaces_the_old_data_after_the_code(client: Browser, mailoutbox: list[Any]) -> None:
    sign_up(client, given_name="Squatter")
    again = Browser()
    assert sign_up(again, password1=OTHER)["Location"] == "/account/confirm-email/"
    account = Account.objects.get()
    assert account.given_name == "Squatter"
    assert account.check_password(PASSWORD)
    assert confirm(again, mailoutbox[1])["Location"] == "/connect/resume"
    account.refresh_from_db()
    assert (account.full_name, account.email_verified) == ("Grace Hopper", True)
    assert account.check_password(OTHER)
    assert again.get("/account/").status_code == 200
    assert sign_in(Browser(), PASSWORD).status_code == 200


def test_sign_ups_of_strangers_meanwhile_change_nothing(client: Browser, mailoutbox: list[Any]) -> None:
    sign_up(client)
    stranger = Browser()
    sign_up(stranger, password1=OTHER, given_name="Eve")
    assert confirm(client, mailoutbox[0])["Location"] == "/connect/resume"
    account = Account.objects.get()
    assert account.check_password(PASSWORD)
    assert account.given_name == "Grace"
    # Too late, even with the code: the address is proven.
    confirm(stranger, mailoutbox[1])
    account.refresh_from_db()
    assert account.check_password(PASSWORD)


def test_data_of_another_sign_up_is_forgotten(client: Browser, mailoutbox: list[Any]) -> None:
    make_account(EMAIL, verified=False)
    sign_up(client, password1=OTHER)
    client.post("/account/logout/")
    sign_up(client, "second@example.com")
    confirm(client, mailoutbox[-1])
    assert not Account.objects.get(email=EMAIL).check_password(OTHER)
    assert Account.objects.get(email="second@example.com").check_password(PASSWORD)


def test_a_deactivated_person_cannot_sign_up_again(client: Browser, mailoutbox: list[Any]) -> None:
    account = make_account(EMAIL, verified=False)
    Account.objects.filter(pk=account.pk).update(is_active=False)
    assert sign_up(client)["Location"] == "/account/confirm-email/"
    assert "already" in mailoutbox[0].body


def test_by_passkey_the_first_password_ends(client: Browser, mailoutbox: list[Any]) -> None:
    sign_up(client, given_name="Squatter")
    again = Browser()
    form = {"email": EMAIL, "given_name": "Grace", "family_name": ""}
    assert again.post("/account/signup/passkey/", form)["Location"] == "/account/confirm-email/"
    assert confirm(again, mailoutbox[1])["Location"] == "/account/2fa/webauthn/signup/"
    assert sign_in(Browser(), PASSWORD).status_code == 200
    assert not Account.objects.get().has_usable_password()


def test_a_reset_ends_the_password_of_a_sign_up_before_the_new_one_is_chosen(client: Browser) -> None:
    sign_up(client)  # by a stranger
    owner, stranger = Browser(), Browser()
    owner.post("/account/password/reset/", {"email": EMAIL})
    chooses = owner.post("/account/password/reset/confirm/", {"code": code_mailed_to(EMAIL)})["Location"]
    assert Account.objects.get().email_verified
    sign_in(stranger)
    assert stranger.get("/account/")["Location"].startswith("/account/login/")
    owner.post(chooses, {"password1": OTHER, "password2": OTHER})
    assert owner.get("/account/").status_code == 200
    assert Account.objects.get().check_password(OTHER)


# --- The account is deleted meanwhile, for example because its email address went back to another one ---


def begin_sign_up(browser: Browser) -> tuple[str, dict[str, str]]:
    sign_up(browser, EMAIL)
    return "/account/confirm-email/", {"code": code_mailed_to(EMAIL)}


def begin_passkey_sign_up(browser: Browser) -> tuple[str, dict[str, str]]:
    form = {"email": EMAIL, "given_name": "Grace", "family_name": "", "password1": ""}
    browser.post("/account/signup/passkey/", form)
    browser.post("/account/confirm-email/", {"code": code_mailed_to(EMAIL)})
    return "/account/signup/password/", {"password1": OTHER}


def begin_two_factors(browser: Browser) -> tuple[str, dict[str, str]]:
    account = make_account(EMAIL)
    secret = give_app(account)
    relying_party.sign_in(browser, account)
    return "/account/2fa/authenticate/", {"code": totp(secret)}


def begin_reset(browser: Browser) -> tuple[str, dict[str, str]]:
    make_account(EMAIL)
    browser.post("/account/password/reset/", {"email": EMAIL})
    return "/account/password/reset/confirm/", {"code": code_mailed_to(EMAIL)}


def almost_reset(browser: Browser) -> tuple[str, dict[str, str]]:
    browser.post(*begin_reset(browser))
    return "/account/password/reset/complete/", {"password1": OTHER, "password2": OTHER}


@pytest.mark.parametrize("begin", [begin_sign_up, begin_passkey_sign_up, begin_two_factors, begin_reset, almost_reset])
def test_a_step_for_an_account_that_was_deleted_leads_back(
    begin: Callable[[Browser], tuple[str, dict[str, str]]], client: Browser, person: Account
) -> None:
    path, form = begin(client)
    Account.objects.exclude(pk=person.pk).delete()
    assert client.post(path, form).status_code == 302
    assert client.get("/account/login/").status_code == 200
    assert not {"account_login", "account_email_verification_code"} & set(client.session.keys())
