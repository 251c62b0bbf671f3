"""Rotations at the same moment, and beside token requests, on PostgreSQL with separate connections."""

from datetime import timedelta
from typing import Any

import pytest

from core import clock
from oidc.clients.secrets import CLIENT_SECRETS, MAX_LIVE_SECRETS
from oidc.models import Client
from tests.at_once import together
from tests.credentials import Kind, each_kind, make_credential
from tests.oidc.tokens.test_concurrency import party
from tests.relying_party import RelyingParty

__all__ = ["party"]

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]
often = pytest.mark.parametrize("attempt", range(3))


@often
@pytest.mark.parametrize(
    ("overlap", "refusal", "live"),
    [(timedelta(hours=24), "QuotaExceeded", MAX_LIVE_SECRETS), (timedelta(), "CredentialEnded", 1)],
)
@each_kind
def test_one_of_two_concurrent_rotations_succeeds(
    attempt: int,
    overlap: timedelta,
    refusal: str,
    live: int,
    kind: Kind,
    settings: Any,
    monkeypatch: Any,
) -> None:
    settings.KEYS_PER_PROJECT = MAX_LIVE_SECRETS
    monkeypatch.setattr("oidc.apis.credentials.MAX_LIVE_CREDENTIALS", MAX_LIVE_SECRETS)
    (row, _), end = make_credential(kind), clock.now() + overlap
    ended = together(lambda: kind.rotate(row, end), lambda: kind.rotate(row, end))
    assert sorted(ended) == [refusal, "done"]
    assert kind.model._default_manager.all().live().count() == live


@often
def test_a_rotation_does_not_disturb_a_concurrent_sign_in(attempt: int, party: RelyingParty) -> None:
    secret, code = Client.objects.get().secrets.get(), party.code()
    answers: list[Any] = []
    ended = together(
        lambda: answers.append(party.exchange(code)),
        lambda: CLIENT_SECRETS.rotate(secret, clock.now() + timedelta(hours=24)),
    )
    assert ended == ["done", "done"]
    assert answers[0].status_code == 200
    secret.refresh_from_db()
    assert secret.expires_at is not None
    assert secret.last_used_at is not None
