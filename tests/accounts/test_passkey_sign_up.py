"""Sign-up with a passkey: both ways on one page, a password if no passkey can be created, its name afterwards."""

from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.test import Client as Browser

from accounts.models import Account, Outbox, SecurityEvent
from accounts.sessions.browser_sessions import end_all_sessions
from oidc.models import Client
from tests.accounts.entrance.test_sign_up import PASSWORD, confirm
from tests.factories import make_account
from tests.relying_party import RelyingParty, answer_of, claims_of
from tests.soft_key import SoftKey

pytestmark = pytest.mark.django_db

EMAIL = "new@example.com"
CREATE, CODES, INSTEAD = "/account/2fa/webauthn/signup/", "/account/2fa/first-codes/", "/account/signup/password/"


def sign_up(browser: Browser, mailoutbox: list[Any], **more: str) -> Browser:
    """Sign up with the passkey button, up to the page that creates the passkey."""
    form = {"email": EMAIL, "given_name": "Grace", "family_name": "", "password1": ""} | more
    assert browser.post("/account/signup/passkey/", form)["Location"] == "/account/confirm-email/"
    assert confirm(browser, mailoutbox[-1])["Location"] == CREATE
    return browser


def create_passkey(browser: Browser) -> Any:
    options = browser.get(CREATE).context["js_data"]["creation_options"]
    return browser.post(CREATE, {"credential": SoftKey().made(options)})


# --- One page ---


def test_a_password_that_was_typed_does_not_count_with_the_passkey_button(
    client: Browser, mailoutbox: list[Any]
) -> None:
    sign_up(client, mailoutbox, password1=PASSWORD)
    assert not Account.objects.get().has_usable_password()
    assert client.post("/account/signup/", {"email": "b@example.com", "given_name": "B"}).status_code == 302


def test_the_other_button_still_needs_a_password(client: Browser) -> None:
    page = client.post("/account/signup/", {"email": EMAIL, "given_name": "Grace"})
    assert page.status_code == 200
    assert "password1" in page.context["form"].errors


# --- The name ---


def test_the_passkey_is_named_after_it_was_created(client: Browser, mailoutbox: list[Any]) -> None:
    sign_up(client, mailoutbox)
    assert b'name="name"' not in client.get(CREATE).content
    assert create_passkey(client)["Location"] == CODES
    assert 'value="Unknown browser"' in client.get(CODES).content.decode()
    assert client.post(CODES, {"name": "  My <b>laptop</b>  "})["Location"] == "/connect/resume"
    key = Authenticator.objects.get(type=Authenticator.Type.WEBAUTHN)
    assert key.wrap().name == "My <b>laptop</b>"
    assert "<b>" not in client.get("/account/2fa/webauthn/").content.decode()


@pytest.mark.parametrize(
    ("name", "kept"), [("", "Unknown browser"), ("   ", "Unknown browser"), ("x" * 500, "x" * 60)], ids=str
)
def test_the_name_can_be_chosen_once_and_is_cut(client: Browser, mailoutbox: list[Any], name: str, kept: str) -> None:
    create_passkey(sign_up(client, mailoutbox))
    client.post(CODES, {"name": name})
    client.post(CODES, {"name": "Another"})
    assert Authenticator.objects.get(type=Authenticator.Type.WEBAUTHN).wrap().name == kept
    assert b'name="name"' not in client.get(CODES).content


def test_a_later_name_has_the_same_limit(client: Browser, mailoutbox: list[Any]) -> None:
    create_passkey(sign_up(client, mailoutbox))
    key = Authenticator.objects.get(type=Authenticator.Type.WEBAUTHN)
    path = f"/account/2fa/webauthn/keys/{key.pk}/edit/"
    assert "name" in client.post(path, {"name": "x" * 61}).context["form"].errors
    assert client.post(path, {"name": "x" * 60})["Location"] == "/account/2fa/webauthn/"
    key.refresh_from_db()
    assert key.wrap().name == "x" * 60


# --- A password instead ---


def test_a_password_can_be_chosen_instead(spa: Client, mailoutbox: list[Any]) -> None:
    app = RelyingParty(spa, Browser())
    app.authorize(prompt="create")
    sign_up(app.browser, mailoutbox)
    assert f'href="{INSTEAD}"' in app.browser.get(CREATE).content.decode()
    assert EMAIL in app.browser.get(INSTEAD).content.decode()
    resumed = app.browser.post(INSTEAD, {"password1": PASSWORD})
    assert resumed["Location"] == "/connect/resume"
    assert Account.objects.get(email=EMAIL).check_password(PASSWORD)
    assert SecurityEvent.objects.filter(kind="password_set").count() == 1
    assert not Outbox.objects.filter(subject__contains="password").exists()
    consent = app.browser.get(app.browser.get("/connect/resume")["Location"])
    code = answer_of(app.answer_consent(consent))["code"]
    assert claims_of(app.exchange(code).json()["id_token"])["email"] == EMAIL
    [step] = app.browser.session["authentication_steps"]["steps"]
    assert step["kind"] == "password"


@pytest.mark.parametrize("password", ["", "short", EMAIL])
def test_the_password_has_to_be_good(client: Browser, mailoutbox: list[Any], password: str) -> None:
    sign_up(client, mailoutbox)
    assert client.post(INSTEAD, {"password1": password}).status_code == 200
    assert not Account.objects.get().has_usable_password()
    assert client.get("/account/").status_code == 302


def test_it_belongs_to_this_step_of_this_browser(client: Browser, mailoutbox: list[Any]) -> None:
    sign_up(client, mailoutbox)
    assert Browser().post(INSTEAD, {"password1": PASSWORD})["Location"] == "/account/signup/"
    create_passkey(client)
    client.post(INSTEAD, {"password1": PASSWORD})
    assert not Account.objects.get().has_usable_password()


@pytest.mark.parametrize("step", ["unverified", "known"])
def test_before_the_code_nobody_can_set_one(client: Browser, step: str) -> None:
    if step == "known":
        make_account(EMAIL)
    client.post("/account/signup/passkey/", {"email": EMAIL, "given_name": "Grace"})
    assert client.post(INSTEAD, {"password1": PASSWORD})["Location"] == "/account/signup/"
    assert not Account.objects.get().check_password(PASSWORD)


@pytest.mark.parametrize("change", ["sessions ended", "password chosen"])
@pytest.mark.parametrize("step", ["passkey", "password"])
def test_a_change_meanwhile_ends_a_sign_up_after_its_code(
    client: Browser, mailoutbox: list[Any], step: str, change: str
) -> None:
    """The owner of the mailbox has ended the sessions or chosen a password elsewhere, with a later code."""
    sign_up(client, mailoutbox)
    options = client.get(CREATE).context["js_data"]["creation_options"]
    account = Account.objects.get()
    if change == "sessions ended":
        end_all_sessions(account)
    else:
        account.set_password("another horse 8 battery")
        account.save()
    if step == "passkey":
        client.post(CREATE, {"credential": SoftKey().made(options)})
    else:
        assert client.post(INSTEAD, {"password1": PASSWORD})["Location"] == "/account/login/"
    assert client.get("/account/").status_code == 302
    assert not Authenticator.objects.exists()
    account.refresh_from_db()
    assert account.has_usable_password() == (change == "password chosen")
    assert not account.check_password(PASSWORD)
