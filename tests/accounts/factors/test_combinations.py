"""Test the ways back into an account: each test is a row of docs/accounts.md#ways-back-into-an-account."""

import re
from collections.abc import Callable
from typing import Any

from allauth.mfa.models import Authenticator
from django.conf import settings as declared
from django.test import Client as Browser

from accounts.models import Account
from accounts.recovery import waiting
from accounts.recovery.tasks import advance_recoveries
from accounts.sessions import keys
from tests.accounts.factors.conftest import (
    NEW_PASSWORD,
    code_mailed_to,
    give_app,
    give_codes,
    give_passkey,
    sign_in_as_far_as_possible,
    sign_in_by_mail,
)
from tests.accounts.recovery.test_own_recovery import START, start
from tests.factories import PASSWORD
from tests.totp import totp

TWO_STEP_PAGE = "/account/2fa/authenticate/"
DOCS = declared.PROJECT_DIR / "docs" / "accounts.md"
CODE_FIELD, KEY_BUTTON = 'name="code"', 'id="mfa_webauthn_authenticate"'


def is_in(browser: Browser) -> bool:
    return browser.get("/account/").status_code == 200


def two_step_page(browser: Browser) -> str:
    """Return the page of two-step verification; the browser has to be there."""
    assert not is_in(browser)
    page = browser.get(TWO_STEP_PAGE)
    assert page.status_code == 200
    return page.content.decode()


def recover(account: Account, operator: Account, later: Callable[[float], None]) -> Browser:
    """Have the operator's recovery done, and return the browser of the person who then signs in by mail."""
    waiting.start(account, operator, "Lost", "Checked")
    later(73 * 3600)
    advance_recoveries()
    account.refresh_from_db()
    return sign_in_by_mail(account)


def recover_at_sign_in(browser: Browser, account: Account, later: Callable[[float], None]) -> Browser:
    """Have the recovery done that the person starts, and return the browser in which they then sign in by mail."""
    start(browser, account.email)
    later(169 * 3600)
    advance_recoveries()
    account.refresh_from_db()
    return sign_in_by_mail(account)


def test_every_row_has_a_test_and_every_test_a_row() -> None:
    section = DOCS.read_text().partition("### Ways back into an account")[2].partition("\n### ")[0]
    rows = re.findall(r"^\| ([^|]+?) \|", section, re.MULTILINE)[1:]
    tests = [name.removeprefix("test_row_").replace("_", " ") for name in globals() if name.startswith("test_row_")]
    assert [row.lower().replace(",", "").replace("-", " ") for row in rows] == tests


def test_row_password(person: Account) -> None:
    assert is_in(sign_in_by_mail(person))


def test_row_passkey_recovery_codes_left(person: Account) -> None:
    person.set_unusable_password()
    person.save()
    give_passkey(person)
    codes = give_codes(person)
    browser = sign_in_by_mail(person)
    page = two_step_page(browser)
    assert "Recovery code" in page
    assert KEY_BUTTON in page
    assert "authenticator app" not in page
    browser.post(TWO_STEP_PAGE, {"code": "00000000"})
    assert not is_in(browser)
    browser.post(TWO_STEP_PAGE, {"code": codes[3]})
    assert is_in(browser)


def test_row_passkey_no_recovery_codes(person: Account, later: Callable[[float], None]) -> None:
    give_passkey(person)
    browser = sign_in_by_mail(person)
    page = two_step_page(browser)
    assert CODE_FIELD not in page
    assert KEY_BUTTON in page
    assert "I have lost all of these" in page
    assert is_in(recover_at_sign_in(browser, person, later))


def test_row_authenticator_app_recovery_codes_left(person: Account) -> None:
    give_app(person)
    codes = give_codes(person)
    browser, _ = sign_in_as_far_as_possible(person)
    page = two_step_page(browser)
    assert "one of your recovery codes" in page
    assert KEY_BUTTON not in page
    browser.post(TWO_STEP_PAGE, {"code": codes[0]})
    assert is_in(browser)


def test_row_authenticator_app_recovery_codes_used_up(person: Account, later: Callable[[float], None]) -> None:
    give_app(person)
    for code in give_codes(person):
        assert Authenticator.objects.get(user=person, type="recovery_codes").wrap().validate_code(code)
    browser, _ = sign_in_as_far_as_possible(person)
    page = two_step_page(browser)
    assert "authenticator app" in page
    assert "or one of your recovery codes" not in page
    assert START in page
    assert is_in(recover_at_sign_in(browser, person, later))


def test_row_recovery_codes_authenticator_app_left(person: Account) -> None:
    secret = give_app(person)
    for code in give_codes(person):
        Authenticator.objects.get(user=person, type="recovery_codes").wrap().validate_code(code)
    browser, _ = sign_in_as_far_as_possible(person)
    browser.post(TWO_STEP_PAGE, {"code": totp(secret)})
    assert is_in(browser)
    assert "You have used all of yours" in browser.get("/account/2fa/").content.decode()


def test_row_password_and_second_factors(person: Account, later: Callable[[float], None]) -> None:
    give_app(person)
    give_passkey(person)
    browser = sign_in_by_mail(person)
    assert two_step_page(browser)
    assert is_in(recover_at_sign_in(browser, person, later))
    assert is_in(sign_in_as_far_as_possible(person, NEW_PASSWORD)[0])


def test_row_mailbox_password_known(person: Account) -> None:
    secret = give_app(person)
    browser, _ = sign_in_as_far_as_possible(person)
    browser.post(TWO_STEP_PAGE, {"code": totp(secret)})
    assert is_in(browser)
    browser.post("/account/reauthenticate/", {"login": person.email, "password": PASSWORD})
    browser.post("/account/email/", {"action_add": "", "email": "ada@new.example.com"})
    browser.post("/account/confirm-email/", {"code": code_mailed_to("ada@new.example.com")})
    person.refresh_from_db()
    assert (person.email, person.email_verified) == ("ada@new.example.com", True)


def test_row_mailbox_and_password_passkey_left(person: Account) -> None:
    give_passkey(person)  # it signs in by itself: tests/browser/test_factors.py
    page = Browser().get("/account/login/").content.decode()
    assert "Sign in with a passkey" in page


def test_row_mailbox_password_and_second_factors(
    person: Account, operator: Account, later: Callable[[float], None]
) -> None:
    give_app(person)
    new = "ada@new.example.com"
    waiting.start(person, operator, "Lost", "Checked", new)
    later(73 * 3600)
    advance_recoveries()
    person.refresh_from_db()
    assert (person.email, person.email_verified) == (new, False)
    assert is_in(sign_in_by_mail(person))
    person.refresh_from_db()
    assert (person.email, person.email_verified) == (new, True)


def test_row_encryption_key(person: Account, settings: Any) -> None:
    give_app(person)
    give_codes(person)
    settings.KEY_ENCRYPTION_KEY, settings.KEY_ENCRYPTION_KEY_FALLBACKS = "n" * 40, []
    browser, _ = sign_in_as_far_as_possible(person)
    assert two_step_page(browser)
    assert keys.remove_unreadable_factors(person.pk)
    assert not is_in(sign_in_as_far_as_possible(person)[0])
    assert is_in(sign_in_by_mail(person))


def test_row_encryption_key_passkey_left(person: Account, settings: Any) -> None:
    give_app(person)
    give_codes(person)
    give_passkey(person)
    settings.KEY_ENCRYPTION_KEY, settings.KEY_ENCRYPTION_KEY_FALLBACKS = "n" * 40, []
    assert not keys.remove_unreadable_factors(person.pk)
    browser, _ = sign_in_as_far_as_possible(person)
    page = two_step_page(browser)
    assert KEY_BUTTON in page
    assert CODE_FIELD not in page


def test_a_mailbox_alone_never_opens_an_account_with_two_step_verification(person: Account) -> None:
    give_app(person)
    browser = sign_in_by_mail(person)
    assert not is_in(browser)
    assert not is_in(sign_in_as_far_as_possible(person, NEW_PASSWORD)[0])
