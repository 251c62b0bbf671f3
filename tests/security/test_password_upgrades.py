"""A password hash with fewer iterations than Django uses now is replaced when its person signs in."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.hashers import make_password
from django.test import Client as Browser

from accounts.models import Account
from tests.factories import PASSWORD, make_account
from tests.relying_party import sign_in
from tests.services.passwords import QuickPasswordHasher

pytestmark = pytest.mark.django_db

NEW_PASSWORD = "another horse 8 battery"


@pytest.fixture
def owner(settings: Any) -> Account:
    settings.PASSWORD_HASHERS = ["tests.services.passwords.QuickPasswordHasher"]
    return make_account("ada@example.com")


@pytest.fixture
def raised(owner: Account, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Raise the number of iterations, as a new version of Django does."""
    return lambda: monkeypatch.setattr(QuickPasswordHasher, "iterations", QuickPasswordHasher.iterations + 1)


def test_reauthentication_signs_nobody_out(raised: Callable[[], None], owner: Account) -> None:
    browser = sign_in(Browser(), owner)
    raised()
    browser.post("/account/reauthenticate/", {"login": owner.email, "password": PASSWORD})
    assert browser.get("/account/").status_code == 200


def test_a_wrong_new_password_signs_nobody_out(raised: Callable[[], None], owner: Account) -> None:
    browser = sign_in(Browser(), owner)
    raised()
    browser.post("/account/password/change/", {"oldpassword": PASSWORD, "password1": "x"})
    assert browser.get("/account/").status_code == 200


def test_a_sign_in_replaces_the_hash(raised: Callable[[], None], owner: Account) -> None:
    before = owner.password
    raised()
    browser = sign_in(Browser(), owner)
    assert browser.get("/account/").status_code == 200
    owner.refresh_from_db()
    assert owner.password.split("$")[1] == str(QuickPasswordHasher.iterations) != before.split("$")[1]
    assert owner.check_password(PASSWORD)


def test_a_new_password_is_not_overwritten(
    raised: Callable[[], None], owner: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    raised()
    encode = QuickPasswordHasher.encode

    def choose_another_first(hasher: Any, password: str, salt: str, iterations: int | None = None) -> str:
        if iterations is None:  # a new hash, and not a check
            monkeypatch.setattr(QuickPasswordHasher, "encode", encode)
            Account.objects.filter(pk=owner.pk).update(password=make_password(NEW_PASSWORD))
        return encode(hasher, password, salt, iterations)

    monkeypatch.setattr(QuickPasswordHasher, "encode", choose_another_first)
    browser = sign_in(Browser(), owner)
    assert browser.get("/account/").status_code == 302
    owner.refresh_from_db()
    assert owner.check_password(NEW_PASSWORD)
