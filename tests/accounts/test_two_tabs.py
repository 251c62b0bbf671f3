"""Two tabs of one browser: after a sign-in in one, the other goes on; a sign-in of a minute ago is enough."""

import re
from typing import Any

import pytest
from django.test import Client as Browser

from accounts.models import Account
from tests.accounts.entrance.test_sign_up import confirm, sign_up
from tests.accounts.factors.conftest import give_app
from tests.factories import PASSWORD, make_account, make_client
from tests.relying_party import RelyingParty, age_sign_in

pytestmark = pytest.mark.django_db


def open_tab(browser: Browser, client: Any, path: str = "") -> tuple[str, dict[str, str]]:
    """Open a sign-in page for an app; return the page's address and the fields that it hides."""
    page = RelyingParty(client, browser).authorize()
    address = page["Location"].replace("/account/login/", path or "/account/login/")
    text = browser.get(address).content.decode()
    return address, dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', text))


@pytest.fixture
def strict() -> Browser:
    return Browser(enforce_csrf_checks=True)


@pytest.mark.parametrize("login", ["ada@example.com", " ADA@example.com"])
def test_the_form_of_another_tab_continues_to_its_app(person: Account, strict: Browser, login: str) -> None:
    (_, fields), (second, stale) = open_tab(strict, make_client()), open_tab(strict, make_client())
    assert stale["next"] != fields["next"]
    form = {"login": login, "password": PASSWORD}
    assert strict.post("/account/login/", form | fields)["Location"] == fields["next"].replace("&amp;", "&")
    answer = strict.post("/account/login/", form | stale)
    assert (answer.status_code, answer["Location"]) == (302, stale["next"])
    assert strict.get(answer["Location"])["Location"].startswith("/connect/authorize?")
    assert strict.get(second)["Location"] == stale["next"]


@pytest.mark.parametrize("path", ["/account/login/", "/account/signup/", "/account/password/reset/"])
def test_the_page_asks_when_another_account_was_meant(person: Account, strict: Browser, path: str) -> None:
    make_account("bob@example.com")
    (_, fields), (_, stale) = open_tab(strict, make_client()), open_tab(strict, make_client(), path)
    strict.post("/account/login/", {"login": person.email, "password": PASSWORD} | fields)
    form = {"login": "bob@example.com", "email": "bob@example.com", "password": PASSWORD}
    answer = strict.post(path, form | stale)
    assert answer.status_code == 403
    assert b"You are already signed in" in answer.content
    assert f'href="{stale.get("next", "/connect/resume")}"' in answer.content.decode()
    assert strict.session["_auth_user_id"] == str(person.pk)


def test_after_a_sign_out_the_page_is_opened_again(person: Account, strict: Browser) -> None:
    address, fields = open_tab(strict, make_client())
    strict.post("/account/login/", {"login": person.email, "password": PASSWORD} | fields)
    del strict.cookies["openport_session"]
    answer = strict.post("/account/login/", {"login": person.email, "password": PASSWORD} | fields)
    assert answer.status_code == 403
    assert f'href="{address.removesuffix("&login_hint=")}"' in answer.content.decode().replace("&amp;", "&")


@pytest.mark.parametrize("following", ["https://evil.example.com/", "//evil.example.com", "javascript:alert(1)"])
def test_the_page_redirects_only_to_known_urls(person: Account, strict: Browser, following: str) -> None:
    _, fields = open_tab(strict, make_client())
    form = {"login": person.email, "password": PASSWORD}
    strict.post("/account/login/", form | fields)
    assert strict.post("/account/login/", form | {"next": following})["Location"] == "/connect/resume"


def test_other_stale_forms_are_rejected(person: Account, strict: Browser) -> None:
    _, fields = open_tab(strict, make_client())
    strict.post("/account/login/", {"login": person.email, "password": PASSWORD} | fields)
    answer = strict.post("/account/delete", {"email": person.email})
    assert answer.status_code == 403
    assert Account.objects.filter(pk=person.pk).exists()


def test_a_code_page_reloaded_after_the_sign_in_continues(client: Browser, spa: Any, mailoutbox: list[Any]) -> None:
    RelyingParty(spa, client).authorize()
    sign_up(client)
    confirm(client, mailoutbox[0])
    for answer in (client.get("/account/confirm-email/"), client.post("/account/confirm-email/", {"code": "x"})):
        assert answer["Location"] == "/connect/resume"


# --- Reauthentication ---

ASKS = "/account/2fa/totp/activate/"


def is_asked(browser: Browser) -> bool:
    answer = browser.get(ASKS)
    return answer.status_code == 302 and "reauthenticate" in answer["Location"]


def test_a_sign_in_of_a_minute_ago_counts(signed_in: Browser) -> None:
    assert not is_asked(signed_in)
    age_sign_in(signed_in, 299)
    assert not is_asked(signed_in)
    age_sign_in(signed_in, 2)
    assert is_asked(signed_in)


def test_a_recent_sign_up_counts(client: Browser, mailoutbox: list[Any]) -> None:
    sign_up(client)
    assert client.get(ASKS)["Location"].startswith("/account/login/")
    confirm(client, mailoutbox[0])
    assert not is_asked(client)


def test_a_recent_password_reset_counts(client: Browser, person: Account, mailoutbox: list[Any]) -> None:
    client.post("/account/password/reset/", {"email": person.email})
    code = re.findall(r"^ {4}(\S+)$", mailoutbox[0].body, re.MULTILINE)[0]
    client.post("/account/password/reset/confirm/", {"code": code})
    form = {"password1": "another horse 7 battery", "password2": "another horse 7 battery"}
    client.post("/account/password/reset/complete/", form)
    assert not is_asked(client)


def test_one_of_two_factors_does_not_count_as_a_sign_in(client: Browser, person: Account) -> None:
    client.post("/account/login/", {"login": person.email, "password": PASSWORD})
    age_sign_in(client, 600)
    client.post("/account/logout/")
    give_app(person)
    client.post("/account/login/", {"login": person.email, "password": PASSWORD})
    assert client.get(ASKS)["Location"].startswith("/account/login/")


def test_another_session_or_account_does_not_count(signed_in: Browser, person: Account) -> None:
    age_sign_in(signed_in, 600)
    Browser().post("/account/login/", {"login": person.email, "password": PASSWORD})
    assert is_asked(signed_in)
    session = signed_in.session
    session["authentication"] = {"at": session["authentication"]["at"] + 600, "account": person.pk + 1}
    session.save()
    assert is_asked(signed_in)


def test_a_time_in_the_future_does_not_count(signed_in: Browser) -> None:
    age_sign_in(signed_in, -3600)
    assert is_asked(signed_in)
