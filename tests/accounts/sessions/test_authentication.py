"""Authentication records: when and how the person of this session signed in."""

import time
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.test import Client as Browser

from accounts.models import Account
from oidc.models import Client, TokenFamily
from tests.accounts.factors.conftest import give_app
from tests.factories import PASSWORD, make_account
from tests.relying_party import RelyingParty, age_sign_in, claims_of, sign_in
from tests.totp import totp


def test_a_password_sign_in_is_recorded(app: RelyingParty) -> None:
    app.tokens()
    family = TokenFamily.objects.get()
    assert family.amr == ["pwd"]
    assert 0 <= time.time() - family.auth_time.timestamp() < 60


def test_both_factors_of_a_sign_in_are_recorded(spa: Client, person: Account) -> None:
    secret = give_app(person)
    browser = Browser()
    response = browser.post("/account/login/", {"login": person.email, "password": PASSWORD})
    assert "/2fa/" in response["Location"]
    assert browser.get("/account/")["Location"].startswith("/account/login/")
    code = totp(secret)
    assert browser.post(response["Location"], {"code": code}).status_code == 302
    RelyingParty(spa, browser).tokens()
    assert TokenFamily.objects.get().amr == ["otp", "pwd", "mfa"]


def test_two_step_verification_is_required(spa: Client, person: Account) -> None:
    give_app(person)
    browser = Browser()
    app = RelyingParty(spa, browser)
    app.authorize()
    response = browser.post("/account/login/", {"login": person.email, "password": PASSWORD})
    browser.post(response["Location"], {"code": "000000"})
    assert app.authorize().status_code == 302
    assert not TokenFamily.objects.exists()


def test_authenticator_app_secrets_are_encrypted_at_rest(person: Account) -> None:
    secret = give_app(person)
    assert secret not in str(Authenticator.objects.get().data)


def test_auth_time_belongs_to_the_session(spa: Client, person: Account) -> None:
    old, new = RelyingParty(spa, sign_in(Browser(), person)), RelyingParty(spa, sign_in(Browser(), person))
    age_sign_in(old.browser, 5000)
    earlier, later = claims_of(old.tokens()["id_token"]), claims_of(new.tokens()["id_token"])
    assert later["auth_time"] - earlier["auth_time"] >= 4990


@pytest.mark.parametrize(("password", "moves"), [(PASSWORD, True), ("wrong", False), (None, False)])
def test_only_a_fresh_proof_moves_auth_time(
    password: str | None, moves: bool, app: RelyingParty, person: Account
) -> None:
    age_sign_in(app.browser, 5000)
    before = claims_of(app.tokens()["id_token"])["auth_time"]
    if password is None:
        app.browser.get("/account/")
    else:
        app.browser.post("/account/reauthenticate/", {"login": person.email, "password": password})
    assert (claims_of(app.tokens()["id_token"])["auth_time"] - before >= 4990) == moves


def test_records_do_not_pass_from_one_person_to_the_next(app: RelyingParty) -> None:
    age_sign_in(app.browser, 5000)
    app.browser.post("/account/choose", {"decision": "another"})
    sign_in(app.browser, make_account("bob@example.com"))
    claims = claims_of(app.tokens()["id_token"])
    assert claims["iat"] - claims["auth_time"] < 60


def test_a_refresh_keeps_the_first_auth_time(app: RelyingParty) -> None:
    age_sign_in(app.browser, 5000)
    tokens: dict[str, Any] = app.tokens()
    first = claims_of(tokens["id_token"])["auth_time"]
    for _ in range(3):
        tokens = app.refresh(tokens["refresh_token"]).json()
        assert claims_of(tokens["id_token"])["auth_time"] == first
