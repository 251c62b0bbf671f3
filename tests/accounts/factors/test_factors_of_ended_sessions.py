"""A factor that a session adds while it is being ended does not stay: for example while the owner takes it back."""

from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal import flows
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP
from allauth.mfa.webauthn.internal.auth import WebAuthn
from django.test import Client as Browser

from accounts.models import Account, Outbox
from tests.accounts.factors.conftest import confirm, give_app, give_codes
from tests.accounts.recovery.test_address_changes import NEW, OLD, change, is_taken_back, take_back, take_back_code
from tests.factories import PASSWORD, make_account
from tests.relying_party import sign_in
from tests.soft_key import SoftKey, add_key
from tests.totp import totp

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def owner(monkeypatch: pytest.MonkeyPatch) -> Account:
    monkeypatch.setattr("accounts.mail.outbox._announce", lambda pk: None)  # mails with codes are wiped once sent
    return make_account(OLD)


@pytest.fixture
def thief(owner: Account) -> Browser:
    browser = sign_in(Browser(), owner)
    browser.post("/account/reauthenticate/", {"login": OLD, "password": PASSWORD})
    return browser


def left(account: Account) -> list[str]:
    return list(Authenticator.objects.filter(user=account).values_list("type", flat=True))


def take_back_during(patch: pytest.MonkeyPatch, where: str, real: Any) -> None:
    """Have the owner take the account back just before `where` stores the thief's new factor."""
    code = take_back_code(OLD)

    def run(*args: Any, **kwargs: Any) -> Any:
        assert is_taken_back(take_back(OLD, code))
        return real(*args, **kwargs)

    patch.setattr(where, run)


def test_an_app_that_is_set_up_meanwhile_is_removed(
    owner: Account, thief: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(thief, NEW)
    secret = thief.get("/account/2fa/totp/activate/").context["form"].secret
    take_back_during(monkeypatch, "allauth.mfa.totp.internal.flows.TOTP.activate", TOTP.activate)
    thief.post("/account/2fa/totp/activate/", {"code": totp(secret)})
    assert left(owner) == []
    assert not Outbox.objects.filter(subject__contains="authenticator app has been set up").exists()


def test_a_passkey_that_is_added_meanwhile_is_removed(
    owner: Account, thief: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(thief, NEW)
    take_back_during(monkeypatch, "allauth.mfa.webauthn.internal.flows.auth.WebAuthn.add", WebAuthn.add)
    add_key(thief, SoftKey())
    assert left(owner) == []
    assert not Outbox.objects.filter(subject__contains="passkey has been added").exists()


def test_recovery_codes_that_are_made_meanwhile_are_removed(
    owner: Account, thief: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    give_app(owner)
    confirm(thief, owner)
    change(thief, NEW)
    where = "allauth.mfa.recovery_codes.internal.flows.RecoveryCodes.activate"
    take_back_during(monkeypatch, where, RecoveryCodes.activate)
    thief.post("/account/2fa/recovery-codes/generate/")
    assert left(owner) == [Authenticator.Type.TOTP]


def test_recovery_codes_that_were_to_be_replaced_stay(
    owner: Account, thief: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    give_app(owner)
    codes = give_codes(owner)
    confirm(thief, owner)
    change(thief, NEW)
    where = "allauth.mfa.recovery_codes.internal.flows.can_generate_recovery_codes"
    take_back_during(monkeypatch, where, flows.can_generate_recovery_codes)
    thief.post("/account/2fa/recovery-codes/generate/")
    kept = Authenticator.objects.get(user=owner, type=Authenticator.Type.RECOVERY_CODES)
    assert kept.wrap().get_unused_codes() == codes
