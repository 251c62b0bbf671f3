"""`manage.py discard_unreadable`: the drill for a lost KEY_ENCRYPTION_KEY."""

import builtins
import re
from io import StringIO
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from django.core import mail
from django.core.management import CommandError, call_command
from django.test import Client as Browser

from accounts.models import Account, Outbox
from accounts.sessions import keys
from devportal.console.models import AuditEvent
from oidc.models import SigningKey
from oidc.tokens import signing_keys
from tests.factories import PASSWORD, make_account
from tests.relying_party import RelyingParty
from tests.totp import totp

LOST = "the key that everyone thought someone else had kept"
NEW_PASSWORD = "a new staple 7 horse"

pytestmark = pytest.mark.django_db


def run(*arguments: str) -> str:
    out = StringIO()
    call_command("discard_unreadable", *arguments, stdout=out)
    return out.getvalue()


def with_app(person: Account, *, passkey: bool = False) -> str:
    """Give a person an authenticator app and recovery codes; return the app's secret."""
    secret: str = generate_totp_secret()
    TOTP.activate(person, secret)
    RecoveryCodes.activate(person)
    if passkey:
        Authenticator.objects.create(user=person, type=Authenticator.Type.WEBAUTHN, data={"name": "Key"})
    return secret


@pytest.fixture
def lost_key(person: Account, settings: Any) -> str:
    """The person `ada` has an authenticator app, and the key that its secret needs is gone."""
    secret = with_app(person)
    settings.KEY_ENCRYPTION_KEY = LOST
    signing_keys.clear_keyring()
    return secret


def types_of(person: Account) -> set[str]:
    return set(Authenticator.objects.filter(user=person).values_list("type", flat=True))


def test_unreadable_factors_reject_codes_and_break_no_page(lost_key: str, person: Account) -> None:
    browser = Browser()
    assert browser.post("/account/login/", {"login": person.email, "password": PASSWORD}).status_code == 302
    code = totp(lost_key)
    answer = browser.post("/account/2fa/authenticate/", {"code": code})
    assert answer.status_code == 200
    assert "Incorrect code" in answer.content.decode()


def test_a_dry_run_counts_and_changes_nothing(lost_key: str, person: Account) -> None:
    before = list(SigningKey.objects.values_list()), list(Authenticator.objects.values_list())
    said = run("--dry-run")
    assert "1 signing key(s)" in said
    assert "1 people" in said
    assert (list(SigningKey.objects.values_list()), list(Authenticator.objects.values_list())) == before
    assert not AuditEvent.objects.filter(action="encryption_key.lost").exists()


def test_without_confirmation_it_does_nothing(lost_key: str, person: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CommandError, match="--yes"):
        run()
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr(builtins, "input", lambda question: "y")
    assert "Nothing was changed" in run()
    assert types_of(person) == {"totp", "recovery_codes"}


def test_the_service_can_sign_again_and_old_tokens_stay_valid(app: RelyingParty, settings: Any) -> None:
    tokens = app.tokens()
    settings.KEY_ENCRYPTION_KEY = LOST
    signing_keys.clear_keyring()
    assert app.refresh(tokens["refresh_token"]).status_code == 503
    assert "1 signing key(s) were retired" in run("--yes")
    signing_keys.clear_keyring()
    assert app.call("/v1/me", tokens["access_token"]).status_code == 200
    assert app.refresh(tokens["refresh_token"]).status_code == 200
    assert Browser().get("/health/ready").status_code == 200


def test_people_without_another_factor_prove_their_mailbox(
    lost_key: str, person: Account, django_capture_on_commit_callbacks: Any
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        assert "1 of them sign in with a mailed code" in run("--yes")
    assert types_of(person) == set()
    (told,) = [message for message in mail.outbox if message.to == [person.email]]
    assert "set up two-step verification again" in told.subject
    assert "Forgot your password?" in told.body

    browser = Browser()
    refused = browser.post("/account/login/", {"login": person.email, "password": PASSWORD})
    assert refused.status_code == 200  # the password alone, which someone else may know
    browser.post("/account/password/reset/", {"email": person.email})
    code = re.findall(r"^ {4}(\S+)$", str(mail.outbox[-1].body), re.MULTILINE)[-1]
    assert browser.post("/account/password/reset/confirm/", {"code": code}).status_code == 302
    form = {"password1": NEW_PASSWORD, "password2": NEW_PASSWORD}
    assert browser.post("/account/password/reset/complete/", form).status_code == 302
    assert browser.get("/account/").status_code == 200
    assert Browser().post("/account/login/", {"login": person.email, "password": NEW_PASSWORD}).status_code == 302


def test_sessions_of_people_with_unreadable_factors_end(signed_in: Browser, person: Account, settings: Any) -> None:
    with_app(person)
    settings.KEY_ENCRYPTION_KEY = LOST
    assert signed_in.get("/account/").status_code == 200
    run("--yes")
    assert signed_in.get("/account/").status_code == 302


def test_people_with_a_passkey_keep_password_and_sessions(signed_in: Browser, person: Account, settings: Any) -> None:
    with_app(person, passkey=True)
    settings.KEY_ENCRYPTION_KEY = LOST
    run("--yes")
    assert types_of(person) == {"webauthn"}
    assert signed_in.get("/account/").status_code == 200
    assert "You sign in as before" in Outbox.objects.get().body


def test_people_with_readable_factors_are_not_affected(lost_key: str, settings: Any) -> None:
    other = make_account("grace@example.com")
    with_app(other)  # encrypted with the key of now
    run("--yes")
    assert types_of(other) == {"totp", "recovery_codes"}
    assert other.has_usable_password()
    assert list(Outbox.objects.values_list("to", flat=True)) == ["ada@example.com"]


def test_a_person_who_gets_no_mail_does_not_keep_the_others_from_theirs(
    lost_key: str, person: Account, settings: Any
) -> None:
    Account.objects.filter(pk=person.pk).update(email="ädä@example.com")  # no mail server accepts it
    with_app(make_account("grace@example.com"))
    settings.KEY_ENCRYPTION_KEY = f"{LOST} again"
    assert "The second factors of 2 people were removed" in run("--yes")
    assert list(Outbox.objects.values_list("to", flat=True)) == ["grace@example.com"]
    assert "Everything is readable" in run("--yes")


def test_an_account_that_is_deleted_meanwhile_stops_nothing(
    lost_key: str, person: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = keys.people_with_unreadable_factors()
    monkeypatch.setattr(keys, "people_with_unreadable_factors", lambda: [*found, person.pk + 1000])
    run("--yes")
    assert types_of(person) == set()
    assert AuditEvent.objects.filter(action="encryption_key.lost").exists()


def test_a_run_is_in_the_audit_trail_and_a_second_one_finds_nothing(lost_key: str, person: Account) -> None:
    kid = SigningKey.objects.get().kid
    run("--yes")
    event = AuditEvent.objects.get(action="encryption_key.lost")
    assert event.details == {"signing_keys": [kid], "people": 1, "passwords_ended": 1}
    assert "Everything is readable" in run("--yes")
    assert AuditEvent.objects.filter(action="encryption_key.lost").count() == 1
