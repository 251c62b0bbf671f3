"""Signing keys: rotation, publication, encryption at rest; none is parsed while a request waits."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings
from django.test import Client as Browser
from jwcrypto.jwk import JWK

from core import clock
from core.database import encryption
from oidc.models import SigningKey
from oidc.tasks import rotate_keys
from oidc.tokens import signing_keys
from tests.at_once import at_once
from tests.relying_party import RelyingParty, header_of

State = SigningKey.State
pytestmark = pytest.mark.django_db

LIFETIME = settings.SIGNING_KEY_LIFETIME_SECONDS
AHEAD = settings.SIGNING_KEY_PUBLISH_AHEAD_SECONDS


def states() -> dict[str, str]:
    return {row.kid: row.state for row in SigningKey.objects.all()}


# --- The first key ---


def test_the_first_key_comes_with_the_first_migration_and_signs() -> None:
    row = SigningKey.objects.get()
    assert row.state == State.ACTIVE
    assert row.activated_at is not None
    assert signing_keys.signing_key().kid == row.kid
    assert signing_keys.signing_key().public.get_op_key("verify").key_size >= 2048
    signing_keys.create_first_key()
    assert SigningKey.objects.get() == row, "migrating again makes no second key"


# --- At rest ---


def test_the_private_part_is_encrypted_at_rest() -> None:
    row = SigningKey.objects.get()
    private = json.loads(encryption.decrypt(row.private_encrypted))
    assert private["d"]
    stored = " ".join(str(value) for value in SigningKey.objects.values_list().get())
    for member in ("d", "p", "q", "dp", "dq", "qi"):
        assert private[member] not in stored
        assert member not in row.public_jwk


def test_another_encryption_key_cannot_read_it(settings: Any) -> None:
    settings.KEY_ENCRYPTION_KEY = "another key of more than thirty-two characters"
    signing_keys.clear_keyring()
    assert signing_keys.reload_keyring().active is None
    with pytest.raises(signing_keys.NoSigningKey, match="KEY_ENCRYPTION_KEY"):
        signing_keys.signing_key()


# --- Rotation ---


def test_a_rotation_step_by_step(later: Callable[[float], None]) -> None:
    assert AHEAD >= 2 * 3600
    (first,) = states()
    assert rotate_keys() == "waiting"
    later(LIFETIME - AHEAD * 2 - 3600)
    assert rotate_keys() == "waiting"
    later(3600)
    assert rotate_keys() == "published"
    (second,) = set(states()) - {first}
    assert states() == {first: State.ACTIVE, second: State.NEXT}
    later(AHEAD / 2)
    assert rotate_keys() == "waiting"
    later(AHEAD * 1.5)
    assert rotate_keys() == "activated"
    assert states() == {first: State.RETIRED, second: State.ACTIVE}
    assert rotate_keys() == "waiting"


def test_a_new_key_is_published_two_hours_before_it_signs(later: Callable[[float], None]) -> None:
    assert AHEAD >= 2 * 3600
    later(LIFETIME * 2)
    assert rotate_keys() == "published"
    later(AHEAD - 60)
    assert rotate_keys() == "waiting"
    later(60)
    assert rotate_keys() == "activated"


def test_tokens_stay_valid_through_every_rotation_step(
    app: RelyingParty, later: Callable[[float], None], django_capture_on_commit_callbacks: Any
) -> None:
    made = [app.tokens()["access_token"]]
    for _ in range(2):
        with django_capture_on_commit_callbacks(execute=True):
            signing_keys.rotate(now=True)
        signing_keys.reload_keyring()
        made.append(app.tokens()["access_token"])
    assert len({header_of(token)["kid"] for token in made}) == 2
    for token in made:
        assert app.call("/connect/userinfo", token).status_code == 200
        assert app.call("/v1/me", token).status_code == 200


def test_a_process_without_the_new_key_can_verify_new_tokens(app: RelyingParty) -> None:
    signing_keys.rotate(now=True)
    old_ring = (
        signing_keys.reload_keyring()
    )  # it knows the published next key, as every process does after some minutes
    signing_keys.rotate(now=True)
    signing_keys.clear_keyring()
    token = app.tokens()["access_token"]
    signing_keys._keyring.replace(old_ring)
    assert header_of(token)["kid"] != signing_keys.signing_key().kid
    assert app.call("/v1/me", token).status_code == 200


def test_without_an_active_key_nothing_signs() -> None:
    SigningKey.objects.update(state=State.RETIRED)
    signing_keys.clear_keyring()
    with pytest.raises(signing_keys.NoSigningKey):
        signing_keys.signing_key()


# --- No key is parsed in a request ---


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The private keys parsed from here on."""
    signing_keys.reload_keyring()
    seen: list[str] = []
    real = JWK.import_key

    def import_key(key: JWK, **parameters: Any) -> None:
        if "d" in parameters:
            seen.append(parameters["kty"])
        real(key, **parameters)

    monkeypatch.setattr(JWK, "import_key", import_key)
    return seen


def test_no_request_parses_a_key(app: RelyingParty, client: Browser, parsed: list[str]) -> None:
    tokens = app.tokens()
    app.refresh(tokens["refresh_token"])
    app.call("/v1/me", tokens["access_token"])
    app.authorize(id_token_hint=tokens["id_token"], prompt="none")
    client.get("/.well-known/jwks")
    assert parsed == []


def test_no_request_parses_a_key_after_a_rotation_either(
    app: RelyingParty, parsed: list[str], django_capture_on_commit_callbacks: Any
) -> None:
    for _ in range(2):
        with django_capture_on_commit_callbacks(execute=True):
            signing_keys.rotate(now=True)
    parsed.clear()
    assert app.tokens()["token_type"] == "Bearer"
    assert parsed == []


# --- Two at once ---


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_two_rotations_at_once_publish_one_key() -> None:
    signing_keys.clear_keyring()
    SigningKey.objects.update(activated_at=clock.from_now(-LIFETIME))
    assert sorted(at_once(4, lambda number: signing_keys.rotate())) == ["published", "waiting", "waiting", "waiting"]
    assert SigningKey.objects.filter(state=State.NEXT).count() == 1
    assert SigningKey.objects.filter(state=State.ACTIVE).count() == 1


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_two_activations_at_once_activate_one_key() -> None:
    signing_keys.rotate(now=True)
    SigningKey.objects.filter(state=State.ACTIVE).update(activated_at=clock.from_now(-2 * LIFETIME))
    SigningKey.objects.filter(state=State.NEXT).update(created_at=clock.from_now(-AHEAD))
    assert sorted(at_once(4, lambda number: signing_keys.rotate())) == ["activated", "waiting", "waiting", "waiting"]
    assert SigningKey.objects.filter(state=State.ACTIVE).count() == 1
    assert SigningKey.objects.filter(state=State.RETIRED).count() == 1
