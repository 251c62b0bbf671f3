"""Rotating KEY_ENCRYPTION_KEY: every encrypted column is known, re-encrypted beside traffic, and counted."""

import ast
import json
import re
from collections.abc import Iterator
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from django.apps import apps
from django.contrib.sessions.models import Session
from django.core.management import CommandError, call_command
from django.db import models

from accounts.mail import outbox
from accounts.mail.rendering import Mail
from accounts.models import Account
from core import clock
from core.database import encryption
from devportal.console.models import AuditEvent
from devportal.console.playground import flow
from devportal.review.submission.developer_actions import save_submission
from devportal.review.submission.for_reviewers import Credentials, ForReviewers
from oidc.models import SigningKey
from tests.core.test_encryption import NEW, OLD, rotate
from tests.factories import make_account, make_client, make_project
from tests.relying_party import RelyingParty

ROOT = Path(__file__).resolve().parents[2]
CIPHERTEXT = re.compile(r"gAAAAA[\w=-]{60,}")
# What encrypts, and why nothing of it is left to re-encrypt, or where it is registered.
ENCRYPTS = {
    "oidc/tokens/signing_keys.py",  # oidc/apps.py
    "accounts/adapter.py",  # accounts/sessions/keys.py; mailed codes in a session, valid for minutes
    "accounts/views/forms.py",  # the secret of an authenticator app in a session, until the app is set up
    "accounts/mail/outbox.py",  # itself
    "devportal/review/submission/for_reviewers.py",  # itself
    "devportal/console/playground/flow.py",  # a code in a session, worth nothing after a minute
}

pytestmark = pytest.mark.django_db


@pytest.fixture
def stored(person: Account, settings: Any) -> Account:
    """A person with an authenticator app and recovery codes, encrypted with the old key like the signing key."""
    settings.KEY_ENCRYPTION_KEY = OLD
    SigningKey.objects.update(private_encrypted=encryption.encrypt(json.dumps({"kty": "RSA"})))
    TOTP.activate(person, generate_totp_secret())
    RecoveryCodes.activate(person)
    imported = Account.objects.create_user("imported@example.com")
    codes = {"migrated_codes": [encryption.encrypt("one"), encryption.encrypt("two")]}
    mail = Mail("A code", "123456", "<p>123456</p>")
    outbox.store_mail("waiting@example.com", mail, expires_at=clock.now() + timedelta(minutes=5))
    Authenticator.objects.create(user=imported, type=Authenticator.Type.RECOVERY_CODES, data=codes)
    owner = make_account()
    account = ForReviewers(test_account=Credentials("tester", "let me in"))
    save_submission(make_client(make_project(owner)), owner, {}, for_reviewers=account)
    return person


def said(*arguments: str) -> str:
    out = StringIO()
    call_command("reencrypt", *arguments, stdout=out)
    return out.getvalue()


def encrypted_cells() -> Iterator[tuple[str, str]]:
    """Yield each text that looks encrypted, wherever it is in the database, by table and column."""
    for model in apps.get_models(include_auto_created=True):
        for field in model._meta.concrete_fields:
            if not isinstance(field, models.CharField | models.TextField | models.JSONField):
                continue
            for value in model._default_manager.values_list(field.attname, flat=True):
                for text in CIPHERTEXT.findall(value if isinstance(value, str) else json.dumps(value)):
                    yield f"{model._meta.db_table}.{field.column}", text


def test_every_encrypted_column_is_registered(stored: Account, settings: Any) -> None:
    found = {column for column, _ in encrypted_cells()}
    assert found == {column.name for column in encryption.registered()}
    assert len(list(encrypted_cells())) == 8


def test_after_a_rotation_the_old_key_opens_nothing_and_a_second_run_changes_nothing(
    stored: Account, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encryption, "BATCH", 2)
    rotate(settings)
    assert "3 with the present key (3 re-encrypted now)" in said()
    cells = list(encrypted_cells())
    assert len(cells) == 8
    assert all(encryption.is_current(text) for _, text in cells)
    assert "(0 re-encrypted now)" in said()
    assert list(encrypted_cells()) == cells


def test_every_encrypted_column_is_known() -> None:
    found = set()
    for folder in ("accounts", "api", "devportal", "oidc"):
        for path in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Attribute) and node.attr in ("encrypt", "reencrypt"):
                    found.add(str(path.relative_to(ROOT)))
    assert found - {"core/database/encryption.py", "devportal/operations/management/commands/reencrypt.py"} == ENCRYPTS


def test_secrets_and_codes_are_the_same_afterwards(stored: Account, settings: Any) -> None:
    def secrets() -> list[Any]:
        rows = Authenticator.objects.filter(user=stored).order_by("pk")
        return [encryption.decrypt(next(iter(row.data.values()))) for row in rows]

    RecoveryCodes(Authenticator.objects.get(user=stored, type="recovery_codes"))._mark_code_used(3)
    before, codes = secrets(), RecoveryCodes.activate(stored).get_unused_codes()
    rotate(settings)
    said()
    settings.KEY_ENCRYPTION_KEY_FALLBACKS = []
    assert secrets() == before
    assert RecoveryCodes.activate(stored).get_unused_codes() == codes
    assert len(codes) == 9


def test_the_check_says_whether_the_old_key_is_needed(stored: Account, settings: Any) -> None:
    rotate(settings)
    before = list(encrypted_cells())
    with pytest.raises(CommandError, match="still needed"):
        said("--check")
    assert list(encrypted_cells()) == before
    assert "mfa_authenticator.data: 3 with the present key (3 re-encrypted now)" in said()
    assert "KEY_ENCRYPTION_KEY_FALLBACKS is no longer needed" in said("--check")
    event = AuditEvent.objects.get(action="encryption_key.rotated")
    assert event.details == {
        "reencrypted": {
            "accounts_outbox.body_encrypted": 1, "accounts_outbox.html_encrypted": 1,
            "review_appreview.test_account_encrypted": 1,
            "mfa_authenticator.data": 3, "oidc_signingkey.private_encrypted": 1,
        }
    }  # fmt: skip


@pytest.mark.parametrize("arguments", [[], ["--check"]])
def test_a_fallback_that_is_missing_is_not_one_that_is_not_needed(
    stored: Account, settings: Any, arguments: list[str]
) -> None:
    """As in a shell without the variable: the service's processes would lose the key that everything needs."""
    rotate(settings)
    settings.KEY_ENCRYPTION_KEY_FALLBACKS = []
    with pytest.raises(CommandError, match="missing in KEY_ENCRYPTION_KEY_FALLBACKS"):
        said(*arguments)


def test_undecryptable_values_are_counted_named_and_kept(stored: Account, settings: Any) -> None:
    settings.KEY_ENCRYPTION_KEY = "a third key, which is lost for ever and ever"
    lost = Authenticator.objects.get(user=stored, type="totp")
    lost.data["secret"] = encryption.encrypt("lost")
    lost.save()
    rotate(settings)
    text = said()
    assert f"1 can't be read (ids {lost.pk} …)" in text
    assert Authenticator.objects.get(pk=lost.pk).data == lost.data


def test_a_writer_at_the_same_moment_is_not_undone(
    stored: Account, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Someone uses up a recovery code between the moments at which a row is read and written."""
    rotate(settings)
    real = encryption.reencrypt
    wrote: list[bool] = []

    def meanwhile(text: str) -> str:
        if not wrote:
            wrote.append(True)
            for row in Authenticator.objects.filter(user=stored, type="recovery_codes"):
                RecoveryCodes(row)._mark_code_used(0)
        return real(text)

    row = Authenticator.objects.get(user=stored, type="recovery_codes")
    monkeypatch.setattr(encryption, "reencrypt", meanwhile)
    (column,) = [one for one in encryption.registered() if one.name == "mfa_authenticator.data"]
    assert encryption._reencrypt_row(column, row.pk, row.data)
    row.refresh_from_db()
    assert row.data["used_mask"] == 1
    assert encryption.is_current(row.data["seed"])


def test_a_code_in_the_playground_that_cannot_be_read_is_none(app: RelyingParty, settings: Any) -> None:
    session: dict[str, Any] = {}
    run = flow.begin_run(session, app.client.project.members.get().account, app.client, "openid")
    run.code = encryption.encrypt("a code")
    kept = [run.has_code]
    settings.KEY_ENCRYPTION_KEY = NEW
    kept.append(run.has_code)
    assert kept == [True, False]
    assert not Session.objects.filter(session_data__contains="gAAAAA").exists()
