"""What the sign-in page says about a passkey that no account has any more, and what the browser learns."""

from typing import Any

import pytest
from django.test import Client as Browser

from accounts.factors.forms import UNKNOWN, UNUSABLE
from accounts.models import Account
from tests.soft_key import SoftKey, give_key

pytestmark = pytest.mark.django_db

LOGIN = "/account/2fa/webauthn/login/"


def sign_in_with(key: SoftKey, account: Account, browser: Browser | None = None) -> Any:
    browser = browser or Browser()
    options = browser.get(LOGIN, headers={"Accept": "application/json"}).json()["request_options"]
    return browser.post(LOGIN, {"credential": key.signed(options, account)}, follow=True)


def test_a_removed_passkey_is_named_as_the_cause(person: Account) -> None:
    key = SoftKey()
    give_key(person, key).delete()
    page = sign_in_with(key, person).content.decode()
    assert UNKNOWN in page
    assert "Incorrect code" not in page


def test_so_is_the_passkey_of_a_deleted_account(person: Account) -> None:
    key = SoftKey()
    give_key(person, key)
    gone = Account(pk=person.pk)
    person.delete()
    assert UNKNOWN in sign_in_with(key, gone).content.decode()


def test_a_wrong_signature_does_not_read_like_a_removed_passkey(person: Account) -> None:
    give_key(person, SoftKey())
    page = sign_in_with(SoftKey(), person).content.decode()  # another private key under the same id
    assert UNUSABLE in page
    assert UNKNOWN not in page
