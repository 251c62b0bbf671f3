"""Forms of the sign-in pages: Back after an error, the title, the focus, keyboards, and what is carried along."""

import re
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.test import Client as Browser

from accounts.models import Account, Outbox
from tests.accounts.entrance.test_sign_up import code_of, sign_up
from tests.accounts.factors.conftest import give_app
from tests.factories import PASSWORD
from tests.relying_party import sign_in

pytestmark = pytest.mark.django_db

LOGIN, SIGN_UP, RESET = "/account/login/", "/account/signup/", "/account/password/reset/"
WRONG = "wrong horse 9 battery"
# What browsers send when a form is about to show a page.
NAVIGATION = {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}


@pytest.fixture
def browser(db: None) -> Browser:
    return Browser(headers=NAVIGATION)


def fail(browser: Browser, email: str, **more: str) -> Any:
    return browser.post(LOGIN, {"login": email, "password": WRONG} | more)


def focused(page: Any) -> list[str]:
    """Return the names of the fields with the focus."""
    found = re.findall(r"<input[^>]*\bautofocus\b[^>]*>", page.content.decode())
    return [name for field in found for name in re.findall(r'name="(\w+)"', field)]


def title(page: Any) -> str:
    found = re.search(r"<title>(.*?)</title>", page.content.decode())
    assert found
    return found[1]


# --- POST, redirect, GET ---


def test_an_error_is_shown_on_a_page_that_can_be_loaded_again(browser: Browser, person: Account) -> None:
    assert fail(browser, person.email)["Location"] == LOGIN
    page = browser.get(LOGIN)
    assert "The email address or the password is not correct." in page.content.decode()
    assert page.context["form"]["login"].value() == person.email
    assert "not correct" not in browser.get(LOGIN).content.decode()


def test_neither_passwords_nor_codes_are_kept(browser: Browser, person: Account) -> None:
    fail(browser, person.email)
    browser.post(SIGN_UP, {"email": "new@example.com", "given_name": "", "password1": WRONG})
    assert WRONG not in str(dict(browser.session))
    assert WRONG not in browser.get(SIGN_UP).content.decode()
    give_app(person)
    browser.post(LOGIN, {"login": person.email, "password": PASSWORD})
    assert browser.post("/account/2fa/authenticate/", {"code": "654321"}).status_code == 302
    assert "654321" not in str(dict(browser.session))
    assert "Incorrect code" in browser.get("/account/2fa/authenticate/").content.decode()


def test_the_error_page_does_not_check_the_form_again(browser: Browser, person: Account, settings: Any) -> None:
    settings.SIGN_INS_PER_MINUTE = 2
    fail(browser, person.email)
    for _ in range(3):
        assert browser.get(LOGIN).status_code == 200
    assert fail(browser, person.email).status_code == 302
    assert fail(browser, person.email).status_code == 429


def test_the_page_keeps_the_way_back_to_the_app(browser: Browser, person: Account) -> None:
    assert fail(browser, person.email, next="/account/apps/")["Location"] == f"{LOGIN}?next=%2Faccount%2Fapps%2F"
    assert fail(browser, person.email, next="https://evil.example/")["Location"] == LOGIN


def test_errors_of_one_page_are_not_shown_on_another(browser: Browser, person: Account) -> None:
    fail(browser, person.email)
    assert "not correct" not in browser.get(SIGN_UP).content.decode()


def test_long_values_are_not_kept(browser: Browser) -> None:
    fail(browser, "x" * 5000 + "@example.com")
    assert len(Session.objects.get().session_data) < 2000


def test_programs_get_the_page_as_the_response(client: Browser, person: Account) -> None:
    answer = fail(client, person.email)
    assert answer.status_code == 200
    assert "not correct" in answer.content.decode()
    assert not Session.objects.exists()


@pytest.mark.parametrize("path", [LOGIN, SIGN_UP, RESET, "/account/signup/passkey/"])
def test_each_entrance_page_redirects_after_an_empty_form(browser: Browser, path: str) -> None:
    assert browser.post(path, {})["Location"] == path
    page = browser.get(path)
    assert title(page).startswith("Error: ")
    assert focused(page)


def test_a_wrong_code_of_a_mail_redirects_too(browser: Browser) -> None:
    sign_up(browser)
    assert browser.post("/account/confirm-email/", {"code": "AAAA-BBBB"})["Location"] == "/account/confirm-email/"
    page = browser.get("/account/confirm-email/")
    assert "This is not the code" in page.content.decode()
    assert title(page).startswith("Error: ")
    assert Outbox.objects.count() <= 1


def test_a_wrong_password_at_reauthentication_redirects_too(browser: Browser, person: Account) -> None:
    sign_in(browser, person)
    form = {"login": person.email, "password": WRONG, "next": "/account/delete"}
    assert browser.post("/account/reauthenticate/", form)["Location"].endswith("?next=%2Faccount%2Fdelete")


# --- Focus, title, keyboards ---


def test_the_focus_is_in_the_first_empty_field(client: Browser, person: Account) -> None:
    assert focused(client.get(LOGIN)) == ["login"]
    assert focused(client.get(f"{LOGIN}?login_hint={person.email}")) == ["password"]
    assert focused(client.get(SIGN_UP)) == ["email"]
    assert focused(client.get(RESET)) == ["email"]
    assert focused(fail(client, person.email)) == ["password"]


# --- Carried along, and agreed to ---


def test_a_wrong_password_brings_the_email_address_to_the_reset_page(browser: Browser, person: Account) -> None:
    fail(browser, person.email)
    page = browser.get(LOGIN).content.decode()
    assert person.email not in re.findall(r'href="([^"]*)"', page)
    assert browser.get(RESET).context["form"]["email"].value() == person.email


def test_terms_and_privacy_are_named_at_sign_up_once_they_are_set(client: Browser, settings: Any) -> None:
    details = f"{SIGN_UP}details/"
    assert "By creating an account" not in client.get(details).content.decode()
    settings.TERMS_URL, settings.PRIVACY_URL = "https://example.com/terms", "https://example.com/privacy"
    text = client.get(details).content.decode()
    assert 'you agree to the <a href="https://example.com/terms">terms</a>' in text
    assert 'The <a href="https://example.com/privacy">privacy policy</a>' in text


def test_pages_for_a_new_password_name_its_account_for_password_managers(
    signed_in: Browser, person: Account, mailoutbox: list[Any]
) -> None:
    reset = Browser()
    reset.post("/account/password/reset/", {"email": person.email})
    reset.post("/account/password/reset/confirm/", {"code": code_of(mailoutbox[-1])})
    pages = [reset.get("/account/password/reset/complete/"), signed_in.get("/account/password/change/")]
    for page in pages:
        (field,) = re.findall('<input[^>]*autocomplete="username"[^>]*>', page.content.decode())
        assert f'value="{person.email}"' in field
        assert "hidden" in field
        assert page.content.decode().index(field) < page.content.decode().index('type="password"')
