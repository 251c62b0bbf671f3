"""Removing factors at the same moment, on PostgreSQL with a connection for each request."""

import pytest
from allauth.mfa.models import Authenticator
from django.test import Client as Browser

from accounts.factors.removal import remove_factors
from accounts.models import Account
from accounts.recovery.waiting import lock_account
from tests.accounts.factors.conftest import confirm, give_app, give_codes, sign_in_as_far_as_possible
from tests.accounts.factors.test_last_way_in import end_password, give_key
from tests.at_once import at_once, blocked_by
from tests.factories import PASSWORD, make_account
from tests.relying_party import sign_in

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]


@pytest.mark.parametrize("round_", range(3))
def test_removing_both_passkeys_at_once_keeps_one(round_: int) -> None:
    account: Account = make_account("ada@example.com")
    browsers = [sign_in(Browser(), account) for _ in range(2)]
    for browser in browsers:
        browser.post("/account/reauthenticate/", {"login": account.email, "password": PASSWORD})
    for browser in browsers:
        end_password(browser, account)
    for browser in browsers:
        session = browser.session
        session["_auth_user_hash"] = account.get_session_auth_hash()
        session.save()
    keys = [give_key(account), give_key(account)]
    for browser in browsers:
        confirm(browser, account)
    answers = at_once(2, lambda n: browsers[n].post(f"/account/2fa/webauthn/keys/{keys[n].pk}/remove/"))
    assert sorted(answer.status_code for answer in answers) == [302, 409]
    assert Authenticator.objects.filter(user=account).count() == 1


def test_a_recovery_code_that_is_replaced_at_this_moment_is_wrong() -> None:
    account = make_account("ada@example.com")
    give_app(account)
    code, *_ = give_codes(account)
    browser, _ = sign_in_as_far_as_possible(account)
    codes = Authenticator.objects.filter(type=Authenticator.Type.RECOVERY_CODES)
    answer = blocked_by(codes.delete, lambda: browser.post("/account/2fa/authenticate/", {"code": code}))
    assert answer.status_code == 200
    assert "code" in answer.context["form"].errors


def test_a_passkey_that_is_renamed_at_this_moment_stays_removed() -> None:
    account = make_account("ada@example.com")
    browser, key = sign_in(Browser(), account), give_key(account)
    confirm(browser, account)
    path = f"/account/2fa/webauthn/keys/{key.pk}/edit/"
    answer = blocked_by(
        lambda: remove_factors(lock_account(account.pk), [key]), lambda: browser.post(path, {"name": "Back again"})
    )
    assert answer["Location"] == "/account/2fa/webauthn/"
    assert not Authenticator.objects.exists()
