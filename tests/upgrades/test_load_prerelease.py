"""The data of a development state before 0.1.0 is carried over once (docs/upgrades.md#from-a-development-state).

The folder `development_state` has a dump and the raw secrets of what is in it. It was filled with the code of commit
7644d43 (people, clients, an API key, tokens, consents, a review), then migrated and dumped with that of fa7050c.
"""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from allauth.usersessions.models import UserSession
from django.contrib.sessions.models import Session
from django.core.management import CommandError, call_command
from django.test import Client as Browser

from accounts.activity.recording import sentence
from accounts.models import Account, SecurityEvent
from accounts.roles import roles_of
from core import clock
from devportal.console.models import AuditEvent
from devportal.review.models import AppReview, ReviewEntry
from oidc.models import Client, Connection, FormerMember, SigningKey, TokenFamily
from oidc.signing_keys import clear_keyring
from tests.relying_party import FORM, RelyingParty, answer_of, claims_of, header_of
from tests.totp import totp

FOLDER = Path(__file__).parent / "development_state"
DUMP = FOLDER / "dump.jsonl"
SECRETS: dict[str, str] = json.loads((FOLDER / "secrets.json").read_text())
SIGNED_IN = "Signed in with a password and a code of an authenticator app"
DUMPED_AT = datetime(2026, 11, 24, 1, tzinfo=UTC)


@pytest.fixture
def encryption_key(db: None, settings: Any) -> Iterator[None]:
    """The KEY_ENCRYPTION_KEY of the dump."""
    settings.KEY_ENCRYPTION_KEY = SECRETS["key_encryption_key"]
    yield
    clear_keyring()


@pytest.fixture
def loaded(encryption_key: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The database after the load, an hour after the dump."""
    SigningKey.objects.update(id=1000)  # the dump's key has the id that this one had
    call_command("load_prerelease", str(DUMP))
    monkeypatch.setattr(clock, "now", lambda: DUMPED_AT)


@pytest.fixture
def signed_in(loaded: None, settings: Any) -> Browser:
    """The browser of the person, who signed in with password and authenticator app."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.PBKDF2PasswordHasher"]
    browser = Browser()
    login = browser.post("/account/login/", {"login": SECRETS["email"], "password": SECRETS["password"]})
    done = browser.post(login["Location"], {"code": totp(SECRETS["totp_secret"])})
    assert done.status_code == 302
    assert browser.get("/account/").status_code == 200
    return browser


def refresh(token: str, **client: str) -> Any:
    form = {"grant_type": "refresh_token", "refresh_token": token} | client
    return Browser().post("/connect/token", urlencode(form), content_type=FORM)


def confidential() -> dict[str, str]:
    return {"client_id": SECRETS["client_id"], "client_secret": SECRETS["client_secret"]}


def test_refresh_tokens_client_secrets_and_the_signing_key_work(loaded: None) -> None:
    assert refresh(SECRETS["refresh_token"], client_id=SECRETS["client_id"], client_secret="wrong").status_code == 401
    tokens = refresh(SECRETS["refresh_token"], **confidential()).json()
    assert claims_of(tokens["access_token"])["sub"] == SECRETS["sub"]
    assert tokens["scope"] == SECRETS["scope"]
    key = SigningKey.objects.get()
    assert header_of(tokens["access_token"])["kid"] == key.kid
    me = Browser().get("/v1/me", headers={"Authorization": f"Bearer {tokens['access_token']}"})
    assert (me.status_code, me.json()["id"]) == (200, SECRETS["sub"])


def test_a_public_client_refreshes(loaded: None) -> None:
    tokens = refresh(SECRETS["public_refresh_token"], client_id=SECRETS["public_client_id"]).json()
    assert claims_of(tokens["access_token"])["sub"] == SECRETS["sub"]


def test_revoked_and_superseded_tokens_stay_so(loaded: None) -> None:
    assert refresh(SECRETS["revoked_refresh_token"], client_id=SECRETS["public_client_id"]).status_code == 400
    assert refresh(SECRETS["superseded"], **confidential()).status_code == 400
    assert refresh(SECRETS["refresh_token"], **confidential()).status_code == 400, "a replay ends the family"


def test_api_keys_work(loaded: None) -> None:
    response = Browser().get("/v1/me", headers={"Authorization": f"Bearer {SECRETS['api_key']}"})
    assert (response.status_code, response.json()["email"]) == (200, "owner@example.net")


def test_people_sign_in_and_their_consents_hold(signed_in: Browser) -> None:
    client = Client.objects.get(client_id=SECRETS["client_id"])
    app = RelyingParty(client, signed_in, SECRETS["client_secret"], redirect_uri=SECRETS["redirect_uri"])
    tokens = app.exchange(answer_of(app.authorize())["code"]).json()  # no consent page came between
    assert tokens["scope"] == SECRETS["scope"], "the scope that was left out stays out"
    assert claims_of(tokens["id_token"])["sub"] == SECRETS["sub"]
    assert Connection.objects.get(client=client).left_out == "profile"


def test_recovery_codes_work(loaded: None, settings: Any) -> None:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.PBKDF2PasswordHasher"]
    browser = Browser()
    login = browser.post("/account/login/", {"login": SECRETS["email"], "password": SECRETS["password"]})
    assert browser.post(login["Location"], {"code": SECRETS["recovery_code"]}).status_code == 302
    assert browser.get("/account/").status_code == 200


def test_roles_reviews_and_former_members_are_carried_over_and_sessions_are_not(loaded: None) -> None:
    assert roles_of(Account.objects.get(email="rob@example.net")) == {"reviewer"}
    assert AppReview.objects.get().status == "changes_requested"
    assert FormerMember.objects.get().account.email == "eve@example.net"
    assert sentence(SecurityEvent.objects.earliest("pk")) == SIGNED_IN
    assert (Session.objects.count(), UserSession.objects.count()) == (0, 0)


@pytest.mark.parametrize(
    ("why", "reason", "note"),
    [
        ("revoked by the app", "ended_revoked_by_app", ""),
        ("ended by the operator", "ended_by_operator", ""),
        ("a laptop was stolen", "ended_by_operator", "a laptop was stolen"),
    ],
)
def test_reasons_of_revocations_become_codes(
    why: str, reason: str, note: str, encryption_key: None, tmp_path: Path
) -> None:
    dump = tmp_path / "dump.jsonl"
    dump.write_text(DUMP.read_text().replace('"revoked_why": "revoked by the app"', f'"revoked_why": "{why}"'))
    call_command("load_prerelease", str(dump))
    ended = TokenFamily.objects.exclude(revoked_at=None).get()
    assert (ended.revocation_reason, ended.revocation_note) == (reason, note)
    assert set(TokenFamily.objects.filter(revoked_at=None).values_list("revocation_reason", flat=True)) == {""}


def test_the_first_of_two_approvals_is_renamed(encryption_key: None, tmp_path: Path) -> None:
    given = {"revision": 1, "scopes": {}, "text": "Fine."}
    rows = [json.loads(line) for line in DUMP.read_text().splitlines()]
    fields: dict[str, dict[str, Any]] = {row["model"]: row["fields"] for row in rows}
    fields["console.appreview"] |= {"first_key": given, "first_key_by": 1, "first_key_at": "2026-11-23T12:00:00Z"}
    fields["console.reviewentry"]["kind"] = "first_key"
    fields["console.auditevent"]["action"] = "review.first_key"
    dump = tmp_path / "dump.jsonl"
    dump.write_text("\n".join(map(json.dumps, rows)))
    call_command("load_prerelease", str(dump))
    review = AppReview.objects.get()
    assert (review.first_approval, review.first_approval_by_id, review.first_approval_at is None) == (given, 1, False)
    assert review.entries.filter(kind=ReviewEntry.Kind.FIRST_APPROVAL).count() == 1
    assert AuditEvent.objects.filter(action="review.first_approval").count() == 1


def test_other_renamed_columns_and_actions_keep_their_values(encryption_key: None, tmp_path: Path) -> None:
    at = "2026-11-23T12:00:00Z"
    rows = [json.loads(line) for line in DUMP.read_text().splitlines()]
    fields: dict[str, dict[str, Any]] = {row["model"]: row["fields"] for row in rows}
    fields["console.appreview"]["late_told_at"] = at
    fields["oidc.tokenfamily"]["told_authentication"] = '{"acr": "mfa"}'
    fields["console.auditevent"]["action"] = "desk.note_written"
    dump = tmp_path / "dump.jsonl"
    dump.write_text("\n".join(map(json.dumps, rows)))
    call_command("load_prerelease", str(dump))
    assert AppReview.objects.get().late_notified_at == datetime.fromisoformat(at)
    assert TokenFamily.objects.filter(authentication_claims='{"acr": "mfa"}').count() == 1
    assert AuditEvent.objects.filter(action="review.note_written").count() == 1


def test_new_rows_get_new_keys(loaded: None) -> None:
    highest = Account.objects.order_by("pk").last()
    assert highest is not None
    assert Account.objects.create_user("new@example.com", None).pk > highest.pk


def test_a_database_in_use_is_refused(encryption_key: None) -> None:
    Account.objects.create_user("ada@example.com", None)
    with pytest.raises(CommandError, match="has accounts"):
        call_command("load_prerelease", str(DUMP))


@pytest.mark.parametrize(
    "content",
    [b"\xff\xfe", b"no JSON", b"[]\n", b"{}\n", b'{"model": 1}\n', b'{"model": "oidc.tokenfamily", "fields": {}}\n'],
)
def test_another_file_is_named_and_changes_nothing(db: None, tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "dump.jsonl"
    file.write_bytes(content)
    with pytest.raises(CommandError, match="is not what dumpdata of the last development state writes"):
        call_command("load_prerelease", str(file))
    assert SigningKey.objects.exists()


def test_a_file_that_can_not_be_read_is_named(db: None, tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing"):
        with pytest.raises(CommandError, match="can't be read"):
            call_command("load_prerelease", str(path))


def test_another_encryption_key_loads_nothing(db: None) -> None:
    before = SigningKey.objects.get().kid
    with pytest.raises(CommandError, match=r"can't read mfa_authenticator\.data, oidc_signingkey"):
        call_command("load_prerelease", str(DUMP))
    assert not Account.objects.exists()
    assert SigningKey.objects.get().kid == before
