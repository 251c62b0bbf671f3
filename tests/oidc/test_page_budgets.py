"""The budgets of a sign-in's steps (docs/architecture.md#budgets): no step above twelve statements, most far below."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client as Browser

from accounts.models import Account
from oidc.authorization import consent
from oidc.models import Client
from tests.factories import PASSWORD, make_account, make_client
from tests.oidc.test_budgets import Counted
from tests.people_pages import MOST
from tests.relying_party import RelyingParty, sign_in
from tests.soft_key import SoftKey, add_key

pytestmark = pytest.mark.django_db


def step(most: int, send: Callable[[], Any], status: int) -> Any:
    """Send a request of at most so many statements."""
    assert most <= MOST
    with Counted() as counted:
        answer = send()
    assert answer.status_code == status, answer.content[:600]
    assert len(counted.statements) <= most, "\n".join(counted.statements)
    return answer


def sign_in_step(app: RelyingParty, person: Account, page: Any, most: int) -> Any:
    form = {"login": person.email, "password": PASSWORD}
    return step(most, lambda: app.browser.post(page["Location"], form), 302)


@pytest.fixture
def newcomer(app: RelyingParty) -> RelyingParty:
    """The app, in front of a browser in which nobody is signed in; others did what a process makes once."""
    other = RelyingParty(app.client, sign_in(Browser(), app.client.project.members.get().account))
    other.code()
    Browser().get("/account/login/")
    return app.beside(Browser())


def test_a_first_sign_in(newcomer: RelyingParty, person: Account) -> None:
    app = newcomer
    came = step(2, app.authorize, 302)
    step(2, lambda: app.browser.get(came["Location"]), 200)
    back = sign_in_step(app, person, came, 11)  # a new browser: with the email that tells of it
    again = step(1, lambda: app.browser.get(back["Location"]), 302)
    page = step(6, lambda: app.browser.get(again["Location"]), 200)
    step(12, lambda: app.answer_consent(page), 200)


def test_a_sign_in_with_remembered_consent(newcomer: RelyingParty, person: Account) -> None:
    app = newcomer
    known = app.beside(sign_in(Browser(), person))
    known.code()
    del known.browser.cookies["openport_session"]
    came = step(2, lambda: known.authorize(state="later"), 302)
    back = sign_in_step(known, person, came, 12)
    again = step(1, lambda: known.browser.get(back["Location"]), 302)
    step(10, lambda: known.browser.get(again["Location"]), 200)
    step(10, lambda: known.authorize(state="another"), 302)


def test_a_sign_in_takes_no_more_with_many_sessions(newcomer: RelyingParty, person: Account) -> None:
    for number in range(5):
        sign_in(Browser(REMOTE_ADDR=f"10.1.1.{number}"), person)
    came = newcomer.authorize()
    sign_in_step(newcomer, person, came, 11)


def test_a_new_browser_that_someone_else_signs_in_with(newcomer: RelyingParty, person: Account) -> None:
    app = newcomer.beside(sign_in(Browser(), make_account()))
    del app.browser.cookies["openport_session"]
    came = app.authorize()
    sign_in_step(app, person, came, 12)


def test_the_first_consent_to_a_second_app_of_a_project(newcomer: RelyingParty, person: Account) -> None:
    second = make_client(newcomer.client.project, name="Second")
    consent.record_consent(person, newcomer.client, ["openid", "profile"])
    app = RelyingParty(second, sign_in(Browser(), person))
    page = app.authorize()
    step(12, lambda: app.answer_consent(page), 200)


def test_a_photo_whose_address_changes_takes_four_more(newcomer: RelyingParty, person: Account) -> None:
    Account.objects.filter(pk=person.pk).update(picture="pictures/photo.webp")
    app = newcomer.beside(sign_in(Browser(), person))
    app.code(scope="openid email")
    page = app.authorize(scope="openid email profile")
    with Counted() as counted:
        app.answer_consent(page)
    assert len(counted.statements) <= MOST + 4, "\n".join(counted.statements)


def test_consent_to_more(newcomer: RelyingParty, person: Account) -> None:
    app = newcomer.beside(sign_in(Browser(), person))
    app.code(scope="openid email")
    page = app.authorize(scope="openid email profile")
    step(12, lambda: app.answer_consent(page), 200)


def test_a_cancelled_consent(newcomer: RelyingParty, person: Account) -> None:
    app = newcomer.beside(sign_in(Browser(), person))
    page = app.authorize()
    step(6, lambda: app.answer_consent(page, "cancel"), 200)


def test_a_passkey_that_an_app_asks_for(newcomer: RelyingParty, person: Account) -> None:
    app = newcomer.beside(sign_in(Browser(), person))
    app.code(scope="openid email")
    sent = {"scope": "openid email", "claims": '{"id_token":{"acr":{"essential":true,"values":["phr"]}}}'}
    page = step(6, lambda: app.authorize(**sent), 200)
    assert "Set up a passkey" in page.content.decode()
    key = SoftKey()
    app.browser.post("/account/reauthenticate/", {"login": person.email, "password": PASSWORD})
    add_key(app.browser, key)
    step(11, lambda: app.authorize(**sent), 200)  # remembered consent, and that the account still has the passkey
    page = step(8, lambda: app.authorize(prompt="login", **sent), 200)
    form = {"reference": page.context["reference"]}
    form["credential"] = key.signed(page.context["js_data"]["request_options"])
    back = step(8, lambda: app.browser.post("/connect/step-up", form), 303)
    step(11, lambda: app.browser.get(back["Location"]), 200)


def test_a_full_app(newcomer: RelyingParty, person: Account, settings: Any) -> None:
    app = newcomer.beside(sign_in(Browser(), person))
    settings.UNVERIFIED_APP_PEOPLE = 0
    step(8, app.authorize, 403)
    Client.objects.filter(pk=app.client.pk).update(enabled=False)
    step(4, app.authorize, 403)
