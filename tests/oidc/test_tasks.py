"""Periodic work: what is deleted, and what never is."""

from collections.abc import Callable

import pytest

from oidc.models import AccessToken, AuthorizationCode, Connection, RefreshToken, TokenFamily
from oidc.tasks import clear_expired, rotate_keys
from tests.relying_party import RelyingParty

DAY = 24 * 3600


def test_nothing_alive_is_deleted(app: RelyingParty) -> None:
    tokens = app.tokens()
    assert clear_expired() == 0
    assert app.call("/connect/userinfo", tokens["access_token"]).status_code == 200
    assert app.refresh(tokens["refresh_token"]).status_code == 200


def test_an_expired_code_takes_no_live_token_with_it(app: RelyingParty, later: Callable[[float], None]) -> None:
    tokens = app.tokens()
    later(2 * DAY)
    access = app.refresh(tokens["refresh_token"]).json()["access_token"]
    clear_expired()
    assert not AuthorizationCode.objects.exists()
    assert app.call("/connect/userinfo", access).status_code == 200


def test_an_expired_access_token_takes_no_refresh_token_with_it(
    app: RelyingParty, later: Callable[[float], None]
) -> None:
    tokens = app.tokens()
    later(3600)
    clear_expired()
    assert not AccessToken.objects.exists()
    assert app.refresh(tokens["refresh_token"]).status_code == 200


def test_a_superseded_refresh_token_is_kept_so_that_its_reuse_is_noticed(
    app: RelyingParty, later: Callable[[float], None]
) -> None:
    first = app.tokens()
    second = app.refresh(first["refresh_token"]).json()
    later(20 * DAY)
    clear_expired()
    assert TokenFamily.objects.count() == 1
    app.refresh(first["refresh_token"])
    assert app.refresh(second["refresh_token"]).json()["error"] == "invalid_grant"


def test_expired_rows_are_deleted_and_the_consent_stays(app: RelyingParty, later: Callable[[float], None]) -> None:
    app.tokens()
    later(31 * DAY)
    assert clear_expired() == 4
    for model in (AuthorizationCode, AccessToken, RefreshToken, TokenFamily):
        assert not model.objects.exists()
    assert Connection.objects.get().removed_at is None


def test_it_works_in_batches(
    app: RelyingParty, later: Callable[[float], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("oidc.tokens.expiry.BATCH", 2)
    for _ in range(5):
        app.tokens()
    later(31 * DAY)
    assert clear_expired() == 20
    assert not TokenFamily.objects.exists()


def test_both_tasks_are_on_the_schedule() -> None:
    from django.conf import settings

    scheduled = {entry["task"] for entry in settings.CELERY_BEAT_SCHEDULE.values()}
    assert {clear_expired.name, rotate_keys.name} <= scheduled
