"""Allow, pressed in a tab that was opened before the account was switched in another one: nobody's access is granted.

Browsers send an old CSRF token then, because a switch changes it; `strict` checks it as the service does.
"""

import re
from typing import Any

import pytest
from django.test import Client as Browser

from accounts.models import Account
from oidc.models import AuthorizationCode, Client, Connection
from tests.factories import make_account
from tests.relying_party import RelyingParty, answer_of, sign_in
from tests.several_accounts import CHOOSE, choices_of, with_accounts

SAYS = "<strong>The account was switched.</strong>"


@pytest.fixture
def bob(db: None) -> Account:
    return make_account("bob@example.com")


@pytest.fixture
def strict(spa: Client, person: Account, bob: Account) -> RelyingParty:
    """An app in front of a browser in which Bob and Ada are signed in, Ada at present; forged forms are rejected."""
    browser = with_accounts(bob, person)
    browser.handler.enforce_csrf_checks = True
    return RelyingParty(spa, browser)


def token_of(page: Any) -> str:
    found = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page.content.decode())
    assert found
    return found[1]


def switch(app: RelyingParty, account: Account) -> None:
    """Switch the account in another tab."""
    page = app.browser.get(CHOOSE)
    form = {"account": choices_of(page)[account.email], "csrfmiddlewaretoken": token_of(page)}
    assert app.browser.post(CHOOSE, form)["Location"] == "/account/"


def press(app: RelyingParty, page: Any, decision: str = "allow", path: str = "/connect/consent") -> Any:
    form = {"reference": page.context["reference"], "decision": decision, "csrfmiddlewaretoken": token_of(page)}
    return app.browser.post(path, form)


def asked_again(app: RelyingParty, response: Any, account: Account) -> Any:
    """Follow to the question, and check that it names this account and what happened."""
    page = app.browser.get(app.browser.get(response["Location"])["Location"])
    text = page.content.decode()
    assert page.status_code == 200
    assert SAYS in text
    assert account.email in text
    assert page.context["account"] == account
    return page


@pytest.mark.parametrize("decision", ["allow", "cancel", ""])
def test_the_question_is_shown_again_for_the_new_account(strict: RelyingParty, bob: Account, decision: str) -> None:
    page = strict.authorize()
    switch(strict, bob)
    response = press(strict, page, decision)
    assert response.status_code == 302
    assert response["Location"].startswith("/connect/resume?request=")
    assert not Connection.objects.exists()
    again = asked_again(strict, response, bob)
    assert "code" in answer_of(press(strict, again))
    assert [*Connection.objects.values_list("account__email", flat=True)] == [bob.email]


def test_it_is_also_shown_if_the_new_account_allowed_the_app_before(strict: RelyingParty, bob: Account) -> None:
    strict.beside(sign_in(Browser(), bob)).tokens()
    AuthorizationCode.objects.all().delete()
    page = strict.authorize()
    switch(strict, bob)
    asked_again(strict, press(strict, page), bob)
    assert not AuthorizationCode.objects.exists()


def test_the_new_account_is_asked_until_it_answers(strict: RelyingParty, bob: Account) -> None:
    strict.beside(sign_in(Browser(), bob)).tokens()
    page = strict.authorize()
    switch(strict, bob)
    press(strict, page)
    again = strict.authorize()  # the same request, reloaded
    assert SAYS in again.content.decode()
    assert "code" in answer_of(press(strict, again))
    assert "code" in answer_of(strict.authorize(state="another")), "other requests are not affected"


def test_switching_back_grants_only_to_the_account_that_is_shown(
    strict: RelyingParty, bob: Account, person: Account
) -> None:
    page = strict.authorize()
    switch(strict, bob)
    switch(strict, person)
    shown = strict.browser.get(strict.browser.get(press(strict, page)["Location"])["Location"])
    assert shown.context["account"] == person
    assert not Connection.objects.exists()


def test_without_a_switch_nothing_is_said(strict: RelyingParty) -> None:
    page = strict.authorize()
    assert SAYS not in page.content.decode()
    assert "code" in answer_of(press(strict, page))


def test_a_step_up_form_from_before_the_switch_is_not_used(strict: RelyingParty, bob: Account) -> None:
    claims = '{"id_token":{"acr":{"essential":true,"values":["phr"]}}}'
    page = strict.authorize(claims=claims)
    switch(strict, bob)
    response = press(strict, page, "cancel", "/connect/step-up")
    asked_again(strict, response, bob)


def test_a_form_of_another_browser_marks_nothing(strict: RelyingParty, bob: Account) -> None:
    theirs = strict.beside(sign_in(Browser(), bob))
    page = theirs.authorize()
    response = press(strict, page)
    assert strict.browser.get(response["Location"]).status_code == 410
    assert SAYS not in strict.authorize().content.decode()


def test_nobody_signed_in_learns_nothing(strict: RelyingParty) -> None:
    page = strict.authorize()
    browser = Browser(enforce_csrf_checks=True)
    form = {"reference": page.context["reference"], "decision": "allow", "csrfmiddlewaretoken": token_of(page)}
    assert browser.post("/connect/consent", form).status_code == 403


@pytest.mark.parametrize("reference", ["", ":", " ", "\x00", "a" * 5000, "x.y.z:a:b", "é:ü"])
def test_a_made_up_form_does_nothing(strict: RelyingParty, reference: str) -> None:
    strict.authorize()
    form = {"reference": reference, "decision": "allow", "csrfmiddlewaretoken": "x"}
    response = strict.browser.post("/connect/consent", form)
    assert response.status_code in (302, 400)
    assert response.get("Location", "/connect/resume") == "/connect/resume"
    assert not Connection.objects.exists()
    assert SAYS not in strict.authorize().content.decode()
