"""Signing keys that can't be read: the others go on, rotation goes on, and everyone is told which setting is wrong."""

from collections.abc import Callable
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client as Browser

from devportal.console.models import AuditEvent
from oidc.checks import check_signing_keys
from oidc.models import SigningKey
from oidc.tokens import signing_keys
from tests.relying_party import RelyingParty

State = SigningKey.State
WRONG = "another key of more than thirty-two characters"
LIFETIME, AHEAD = 90 * 24 * 3600, 2 * 3600

pytestmark = pytest.mark.django_db


def damage(state: State) -> str:
    """Have the key in this state encrypted with a key that nobody has; return its kid."""
    row = SigningKey.objects.get(state=state)
    row.private_encrypted = row.private_encrypted[:-8] + "AAAAAA=="
    row.save()
    signing_keys.clear_keyring()
    return row.kid


def rotated(times: int) -> None:
    for _ in range(times):
        signing_keys.rotate(now=True)
    signing_keys.clear_keyring()


def actions() -> list[str]:
    return list(AuditEvent.objects.order_by("pk").values_list("action", flat=True))


# --- A wrong KEY_ENCRYPTION_KEY ---


@pytest.fixture
def wrong_key(settings: Any) -> None:
    settings.KEY_ENCRYPTION_KEY = WRONG
    signing_keys.clear_keyring()


def test_the_process_starts_and_says_which_setting_is_wrong(wrong_key: None, caplog: pytest.LogCaptureFixture) -> None:
    signing_keys.preload_keyring()
    assert "KEY_ENCRYPTION_KEY" in caplog.text
    ready = Browser().get("/health/ready")
    assert (ready.status_code, ready.json()["missing"]) == (503, ["signing_key"])
    assert len(Browser().get("/.well-known/jwks").json()["keys"]) == 1


def test_unreadable_keys_return_503_and_existing_tokens_stay_valid(
    app: RelyingParty, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    right, tokens, code = settings.KEY_ENCRYPTION_KEY, app.tokens(), app.code()
    settings.KEY_ENCRYPTION_KEY = WRONG
    signing_keys.clear_keyring()
    for refused in (app.refresh(tokens["refresh_token"]), app.exchange(code)):
        assert (refused.status_code, refused.json()["error"]) == (503, "temporarily_unavailable")
    assert "KEY_ENCRYPTION_KEY" in caplog.text
    assert app.call("/v1/me", tokens["access_token"]).status_code == 200
    settings.KEY_ENCRYPTION_KEY = right
    signing_keys.reload_keyring()
    assert app.exchange(code).status_code == 200
    assert app.refresh(tokens["refresh_token"]).status_code == 200


def test_the_check_names_the_setting(settings: Any) -> None:
    right = settings.KEY_ENCRYPTION_KEY
    rotated(1)
    assert check_signing_keys(None, databases=["default"]) == []
    settings.KEY_ENCRYPTION_KEY = WRONG
    found = check_signing_keys(None, databases=["default"])
    assert [message.id for message in found] == ["devportal.E017"] * 2
    assert all("KEY_ENCRYPTION_KEY" in message.msg for message in found)
    settings.KEY_ENCRYPTION_KEY_FALLBACKS = [right]
    assert check_signing_keys(None, databases=["default"]) == []


def test_rotation_replaces_nothing_where_nothing_can_be_read(wrong_key: None, caplog: pytest.LogCaptureFixture) -> None:
    """A worker with a wrong setting must not take away the key that all others sign with."""
    before = list(SigningKey.objects.values_list())
    assert signing_keys.rotate(now=True) == "unreadable"
    with pytest.raises(CommandError, match="KEY_ENCRYPTION_KEY"):
        call_command("rotate_keys")
    assert list(SigningKey.objects.values_list()) == before
    assert "KEY_ENCRYPTION_KEY" in caplog.text


# --- One row that can't be read ---


@pytest.mark.parametrize("state", [State.NEXT, State.RETIRED])
def test_an_unreadable_key_that_does_not_sign_disturbs_nothing(app: RelyingParty, state: State) -> None:
    old = app.tokens()
    rotated(3)
    kid = damage(state)
    assert app.tokens()["token_type"] == "Bearer"
    assert kid in [key["kid"] for key in Browser().get("/.well-known/jwks").json()["keys"]]
    assert app.call("/v1/me", old["access_token"]).status_code == 200


def test_an_unreadable_next_key_is_retired_and_rotation_continues(later: Callable[[float], None]) -> None:
    rotated(1)
    kid = damage(State.NEXT)
    assert signing_keys.rotate() == "waiting"
    assert SigningKey.objects.get(kid=kid).state == State.RETIRED
    assert "signing_key.retired" in actions()
    later(LIFETIME)
    assert signing_keys.rotate() == "published"
    later(AHEAD)
    assert signing_keys.rotate() == "activated"


def test_an_unreadable_active_key_is_replaced_by_the_next_one(app: RelyingParty) -> None:
    rotated(1)
    kid, following = damage(State.ACTIVE), SigningKey.objects.get(state=State.NEXT).kid
    assert signing_keys.rotate() == "activated"
    signing_keys.clear_keyring()
    assert signing_keys.signing_key().kid == following
    assert SigningKey.objects.get(kid=kid).state == State.RETIRED
    retired = AuditEvent.objects.get(action="signing_key.retired")
    assert (retired.target, retired.details) == (kid, {"why": "unreadable"})
    assert app.tokens()["token_type"] == "Bearer"


def test_an_unreadable_active_key_without_a_next_one_is_replaced(app: RelyingParty) -> None:
    rotated(2)
    damage(State.ACTIVE)
    assert signing_keys.rotate() == "replaced"
    signing_keys.clear_keyring()
    assert app.tokens()["token_type"] == "Bearer"
    assert signing_keys.rotate() == "waiting"


def test_both_of_them_unreadable_are_replaced_by_one(app: RelyingParty) -> None:
    rotated(3)
    damage(State.ACTIVE)
    damage(State.NEXT)
    assert signing_keys.rotate() == "replaced"
    assert SigningKey.objects.exclude(state=State.RETIRED).count() == 1
    signing_keys.clear_keyring()
    assert app.tokens()["token_type"] == "Bearer"


def test_an_operator_cannot_activate_what_cannot_sign(person: Any) -> None:
    rotated(1)
    damage(State.NEXT)
    assert not signing_keys.activate_next_key(person.pk)


# --- Taking keys out of publication ---


def test_withdrawing_takes_retired_keys_out_at_once(app: RelyingParty) -> None:
    old = app.tokens()
    leaked = signing_keys.signing_key().kid
    rotated(2)
    assert app.call("/v1/me", old["access_token"]).status_code == 200
    call_command("rotate_keys", "--withdraw", "--dry-run")
    assert SigningKey.objects.filter(withdrawn_at=None).count() == 2
    call_command("rotate_keys", "--withdraw", "--yes")
    signing_keys.clear_keyring()
    assert leaked not in [key["kid"] for key in Browser().get("/.well-known/jwks").json()["keys"]]
    assert app.call("/v1/me", old["access_token"]).status_code == 401
    assert app.refresh(old["refresh_token"]).status_code == 200
    assert AuditEvent.objects.get(action="signing_key.withdrawn").target == leaked


def test_a_withdrawn_key_stays_out_however_long_tokens_live(settings: Any) -> None:
    rotated(2)
    call_command("rotate_keys", "--withdraw", "--yes")
    settings.ACCESS_TOKEN_SECONDS = 10**9
    assert len(signing_keys.reload_keyring().published) == 1


def test_a_key_is_not_withdrawn_unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    rotated(2)
    with pytest.raises(CommandError, match="--yes"):
        call_command("rotate_keys", "--withdraw")
    assert not SigningKey.objects.exclude(withdrawn_at=None).exists()
