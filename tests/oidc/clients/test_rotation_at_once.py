"""Rotations at the same moment, and beside token requests, on PostgreSQL with separate connections."""

from datetime import timedelta
from typing import Any

import pytest

from api.keys import rotate_key
from api.models import ApiKey
from core import clock
from oidc.clients.secrets import MAX_LIVE_SECRETS, rotate_secret
from oidc.models import Client
from tests.at_once import together
from tests.factories import make_account, make_key, make_project
from tests.oidc.tokens.test_concurrency import party
from tests.relying_party import RelyingParty

__all__ = ["party"]

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]
often = pytest.mark.parametrize("attempt", range(3))


def tomorrow() -> Any:
    return clock.now() + timedelta(hours=24)


@often
def test_two_concurrent_rotations_run_one_after_the_other(attempt: int, party: RelyingParty) -> None:
    secret = Client.objects.get().secrets.get()
    ended = together(lambda: rotate_secret(secret, tomorrow()), lambda: rotate_secret(secret, tomorrow()))
    assert sorted(ended) == ["TooManySecrets", "done"]
    assert secret.client.secrets.live().count() == MAX_LIVE_SECRETS


@often
def test_two_concurrent_revocations_end_a_secret_once(attempt: int, party: RelyingParty) -> None:
    secret = Client.objects.get().secrets.get()
    ended = together(lambda: rotate_secret(secret, clock.now()), lambda: rotate_secret(secret, clock.now()))
    assert sorted(ended) == ["CredentialEnded", "done"]
    assert secret.client.secrets.live().count() == 1


@often
def test_a_rotation_does_not_disturb_a_concurrent_sign_in(attempt: int, party: RelyingParty) -> None:
    secret, code = Client.objects.get().secrets.get(), party.code()
    answers: list[Any] = []
    ended = together(lambda: answers.append(party.exchange(code)), lambda: rotate_secret(secret, tomorrow()))
    assert ended == ["done", "done"]
    assert answers[0].status_code == 200
    secret.refresh_from_db()
    assert secret.expires_at is not None
    assert secret.last_used_at is not None


@often
def test_one_of_two_immediate_key_rotations_succeeds(attempt: int) -> None:
    owner = make_account("olga@example.com")
    key, _ = make_key(make_project(owner), owner)
    ended = together(lambda: rotate_key(key, clock.now()), lambda: rotate_key(key, clock.now()))
    assert sorted(ended) == ["CredentialEnded", "done"]
    assert ApiKey.objects.filter(revoked_at=None).count() == 1
