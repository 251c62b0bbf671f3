"""The parts of django-allauth that are not public (accounts/allauth_internals.py) still do what the code expects."""

import re
import time
from pathlib import Path
from typing import Any

import pytest
from allauth.account.authentication import get_authentication_records
from allauth.account.utils import user_pk_to_url_str
from allauth.core import context as allauth_context
from allauth.mfa.models import Authenticator
from django.test import Client as Browser
from django.test import RequestFactory

from accounts import allauth_internals as internals
from accounts.models import Account
from core.database import encryption
from core.http.sessions import SessionStore
from tests.accounts.entrance.test_sign_up import sign_up
from tests.accounts.factors.conftest import give_app, give_passkey, sign_in_as_far_as_possible
from tests.accounts.test_passkey_sign_up import create_passkey
from tests.accounts.test_passkey_sign_up import sign_up as sign_up_by_passkey
from tests.factories import PASSWORD
from tests.relying_party import age_sign_in

pytestmark = pytest.mark.django_db
ROOT = Path(__file__).resolve().parents[2]
_PRIVATE = re.compile(r"^\s*(from|import) allauth\.(\S*\.)?(internal|_\w+)\b", re.MULTILINE)


def test_no_other_module_imports_them() -> None:
    layers = ("core", "accounts", "oidc", "api", "devportal")
    sources = [path for layer in layers for path in (ROOT / layer).rglob("*.py")]
    users = [path.relative_to(ROOT).as_posix() for path in sources if _PRIVATE.search(path.read_text())]
    assert users == ["accounts/allauth_internals.py"]


def test_the_session_holds_a_sign_in_that_is_not_complete(person: Account) -> None:
    """`LOGIN_SESSION_KEY`, `login_stage_required`, `stage_of`."""
    give_app(person)
    browser, _ = sign_in_as_far_as_possible(person)
    state = browser.session[internals.LOGIN_SESSION_KEY]
    assert (state["user_pk"], "redirect_url" in state) == (user_pk_to_url_str(person), True)
    assert browser.get("/account/recovery/start/").context["email"] == person.email
    assert Browser().get("/account/recovery/start/")["Location"] == "/account/login/"


@pytest.mark.parametrize("key", ["EMAIL_VERIFICATION_CODE_SESSION_KEY", "PASSWORD_RESET_VERIFICATION_SESSION_KEY"])
def test_the_session_holds_the_state_of_a_mailed_code(key: str, person: Account) -> None:
    browser, is_reset = Browser(), key.startswith("PASSWORD")
    if is_reset:
        browser.post("/account/password/reset/", {"email": person.email})
    else:
        sign_up(browser)
    state = browser.session[getattr(internals, key)]
    account = person if is_reset else Account.objects.exclude(pk=person.pk).get()
    assert (int(state["user_id"]), state["email"]) == (account.pk, account.email)
    assert 0 <= time.time() - state["at"] < 60


def test_the_session_holds_the_secret_of_a_new_app(signed_in: Browser) -> None:
    """`SECRET_SESSION_KEY`."""
    secret = signed_in.get("/account/2fa/totp/activate/").context["form"].secret
    assert encryption.decrypt(signed_in.session[internals.SECRET_SESSION_KEY]) == secret


def test_a_form_waits_until_its_sender_has_reauthenticated(signed_in: Browser, person: Account) -> None:
    """`STATE_SESSION_KEY`, `serialize_request`, `is_reauthentication_required`, `BaseReauthenticateView`."""
    age_sign_in(signed_in, 3600)
    path = signed_in.post("/account/export")["Location"]
    assert "/account/export" in signed_in.session[internals.STATE_SESSION_KEY]["request"]
    assert signed_in.post(path, {"login": person.email, "password": PASSWORD})["Location"] == "/account/data"
    assert internals.STATE_SESSION_KEY not in signed_in.session


def test_a_passkey_sign_up_comes_with_recovery_codes(mailoutbox: list[Any]) -> None:
    """`auto_generate_recovery_codes`, `webauthn`."""
    browser = Browser()
    sign_up_by_passkey(browser, mailoutbox)
    create_passkey(browser)
    assert set(Authenticator.objects.values_list("type", flat=True)) == {"webauthn", "recovery_codes"}


def test_the_session_holds_what_the_person_has_used(person: Account, rf: RequestFactory) -> None:
    """`record_authentication`, `reauthenticate_by_key`."""
    request = rf.get("/")
    request.session, request.user = SessionStore(), person
    with allauth_context.request_context(request):
        internals.record_authentication(request, person, method="mailed_code", reauthenticated=True)
        internals.reauthenticate_by_key(request, give_passkey(person))
    used = get_authentication_records(request, person)
    assert [(record["method"], record["reauthenticated"]) for record in used] == [("mailed_code", True), ("mfa", True)]
