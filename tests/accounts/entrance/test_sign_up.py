"""Sign-up: the form, the code, and the way back to the app that waits."""

import re
from typing import Any
from urllib.parse import urlsplit

import pytest
from allauth.account.models import EmailAddress
from django.test import Client as Browser

from accounts.models import Account
from core.email_addresses import stored_address
from oidc.models import Client, TokenFamily
from tests.relying_party import RelyingParty, answer_of, claims_of

pytestmark = pytest.mark.django_db

PASSWORD = "a quiet evening 42"


def sign_up(browser: Browser, email: str = "new@example.com", **changes: str) -> Any:
    form = {"email": email, "given_name": "Grace", "family_name": "Hopper", "password1": PASSWORD} | changes
    return browser.post("/account/signup/", form)


def code_of(mail: Any) -> str:
    lines = [line.strip() for line in mail.body.splitlines()]
    return str(
        next(line for line in lines if 6 <= len(line) <= 12 and line.replace("-", "").isalnum() and line.isupper())
    )


def confirm(browser: Browser, mail: Any) -> Any:
    return browser.post("/account/confirm-email/", {"code": code_of(mail)})


# --- The form ---


def test_the_email_address_comes_first_and_is_not_looked_up(
    client: Browser, person: Account, mailoutbox: list[Any]
) -> None:
    first, details = "/account/signup/", "/account/signup/details/"
    assert "password1" not in client.get(first).content.decode()
    for address in (person.email, "new@example.com"):
        answer = client.post(first, {"step": "email", "email": address, "next": "/account/apps/"})
        assert answer["Location"] == f"{details}?next=%2Faccount%2Fapps%2F"
        text = client.get(answer["Location"]).content.decode()
        assert f'<input type="hidden" name="email" value="{address}"' in text
        assert text.count('name="next" value="/account/apps/"') == 1
    assert mailoutbox == []
    foreign = {"step": "email", "email": "new@example.com", "next": "https://evil.example/"}
    assert client.post(first, foreign)["Location"] == details
    assert client.post(first, {"step": "email", "email": "nobody"}).status_code == 200
    form = {"email": "new@example.com", "given_name": "Grace", "family_name": "", "password1": PASSWORD}
    assert client.post(details, form).status_code == 302
    assert mailoutbox[0].to == ["new@example.com"]


def test_it_creates_an_account_with_an_unverified_email_address(client: Browser, mailoutbox: list[Any]) -> None:
    response = sign_up(client)
    assert response.status_code == 302
    account = Account.objects.get()
    assert (account.email, account.full_name) == ("new@example.com", "Grace Hopper")
    assert account.email_verified is False
    assert not account.is_staff
    assert not account.is_superuser
    assert [mail.to for mail in mailoutbox] == [["new@example.com"]]


@pytest.mark.parametrize(
    ("typed", "other"),
    [
        ("new@xn--bcher-kva.example", "new@Bücher.example"),  # Chromium converts what a person types
        ("new@bu\u0308cher.example", "NEW@XN--BCHER-KVA.example"),
        ("\u200bnew@faß.example\ufeff", "new@xn--fa-hia.example"),
        ("New.Person@Example.COM", "new.person@example.com"),
    ],
)
def test_every_spelling_of_an_email_address_leads_to_one_account(
    client: Browser, mailoutbox: list[Any], typed: str, other: str
) -> None:
    sign_up(client, typed)
    confirm(client, mailoutbox[0])
    account = Account.objects.get()
    assert [account.email] == mailoutbox[0].to == [stored_address(other)]
    assert EmailAddress.objects.get().email == account.email
    assert account.email_verified
    assert client.get("/account/").status_code == 200
    browser = Browser()
    assert browser.post("/account/login/", {"login": other, "password": PASSWORD}).status_code == 302
    assert browser.get("/account/").status_code == 200
    assert f'value="{account.email}"' in Browser().get("/account/login/", {"login_hint": other}).content.decode()
    Browser().post("/account/password/reset/", {"email": other})
    sign_up(Browser(), other)
    assert Account.objects.get() == account
    assert {mail.to[0] for mail in mailoutbox} == {account.email}


@pytest.mark.parametrize("address", ["åda@example.com", '"ada"@example.com', f"{'a' * 65}@example.com", "a@❤.example"])
def test_an_email_address_without_mail_is_refused_in_each_form(
    signed_in: Browser, mailoutbox: list[Any], address: str
) -> None:
    for page in (
        sign_up(Browser(), address),
        Browser().post("/account/login/", {"login": address, "password": PASSWORD}),
        Browser().post("/account/password/reset/", {"email": address}),
        Browser().post("/account/address/take-back", {"email": address, "code": "AAAA-BBBB-CCCC"}),
        signed_in.post("/account/email/", {"email": address, "action_add": ""}),
    ):
        assert page.status_code == 200
        assert re.search("before the @|after the @", page.content.decode())
    assert mailoutbox == []


def test_a_wrong_code_proves_nothing(client: Browser) -> None:
    for code in ("", "AAAA-BBBB", "x" * 500):
        sign_up(client)
        client.post("/account/confirm-email/", {"code": code})
        assert Account.objects.get().email_verified is False
        assert client.get("/account/")["Location"].startswith("/account/login/")


def test_three_wrong_codes_end_it_with_a_sentence_about_codes(client: Browser) -> None:
    sign_up(client)
    answers = [client.post("/account/confirm-email/", {"code": "AAAA-BBBB"}, follow=True) for _ in range(3)]
    said = [answer.content.decode() for answer in answers]
    assert "This is not the code of the newest email." in said[0]
    assert "You typed a wrong code too many times, so it no longer works." in said[2]
    assert "login attempts" not in said[2]


def test_a_code_does_not_work_in_another_browser(client: Browser, mailoutbox: list[Any]) -> None:
    sign_up(client)
    other = Browser()
    confirm(other, mailoutbox[0])
    assert Account.objects.get().email_verified is False
    sign_up(other, "second@example.com")
    confirm(other, mailoutbox[0])
    assert not Account.objects.filter(email_verified=True).exists()


def test_opening_the_link_of_a_mail_changes_nothing(client: Browser, mailoutbox: list[Any]) -> None:
    sign_up(client)
    body = mailoutbox[0].body
    assert code_of(mailoutbox[0])
    for word in body.split():
        if word.startswith("http"):
            Browser().get(urlsplit(word).path)
    assert Account.objects.get().email_verified is False


def test_the_mails_host_is_ours_and_not_the_requests(settings: Any, mailoutbox: list[Any]) -> None:
    settings.ALLOWED_HOSTS = ["*"]
    form = {"email": "new@example.com", "given_name": "G", "password1": PASSWORD}
    Browser().post("/account/signup/", form, headers={"Host": "evil.example.com"})
    (mail,) = mailoutbox
    assert "evil.example.com" not in mail.body + mail.subject + str(mail.extra_headers) + mail.from_email


def test_a_family_name_may_be_left_out(client: Browser) -> None:
    sign_up(client, family_name="")
    account = Account.objects.get()
    assert (account.given_name, account.family_name) == ("Grace", None)


REJECTED = [
    {"given_name": ""},
    {"given_name": "x" * 101},
    {"family_name": "x" * 101},
    {"email": ""},
    {"email": "no address"},
    {"email": "a@b@c.example.com"},
    {"email": "x" * 400 + "@example.com"},
    {"password1": ""},
    {"password1": "short"},
    {"password1": "new@example.com"},
]


def test_fields_that_the_form_rejects(client: Browser) -> None:
    for changes in REJECTED:
        assert sign_up(client, **changes).status_code == 200, changes
    assert not Account.objects.exists()


def test_fields_that_are_not_on_the_form_are_not_read(client: Browser) -> None:
    sign_up(client, is_staff="on", is_superuser="on", email_verified="on", is_active="", id="1")
    account = Account.objects.get()
    assert not account.is_staff
    assert not account.is_superuser
    assert not account.email_verified
    assert account.is_active


# --- The way to an app ---


def test_signing_up_for_an_app_leads_back_to_it(spa: Client, mailoutbox: list[Any]) -> None:
    app = RelyingParty(spa, Browser())
    form_page = app.authorize(prompt="create")
    assert urlsplit(form_page["Location"]).path == "/account/signup/"
    page = app.browser.get(form_page["Location"])
    assert b"Orbit Notes" in page.content
    form = {"email": "new@example.com", "given_name": "Grace", "password1": PASSWORD}
    form["next"] = page.context["redirect_field_value"]
    response = app.browser.post("/account/signup/", form)
    response = confirm(app.browser, mailoutbox[0])
    for _ in range(3):
        if response.status_code == 302:
            response = app.browser.get(response["Location"])
    assert response.status_code == 200
    answer = answer_of(app.answer_consent(response))
    assert answer["state"] == app.state
    claims = claims_of(app.exchange(answer["code"]).json()["id_token"])
    assert (claims["email"], claims["email_verified"]) == ("new@example.com", True)


def test_auth_time_after_a_sign_up_is_its_moment(spa: Client, mailoutbox: list[Any]) -> None:
    app = RelyingParty(spa, Browser())
    sign_up(app.browser)
    confirm(app.browser, mailoutbox[0])
    claims = claims_of(app.tokens()["id_token"])
    assert 0 <= claims["iat"] - claims["auth_time"] < 60
    assert TokenFamily.objects.get().auth_time.year > 2000
