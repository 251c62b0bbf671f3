"""What has ended stays ended: where clocks disagree, and when a person is let in again."""

from collections.abc import Callable

import pytest
from django.test import Client as Browser

from accounts.models import Account
from core import clock
from oidc.models import RefreshToken
from tests.relying_party import RelyingParty


@pytest.mark.parametrize("seconds", [0.5, 30, 300])
def test_a_superseded_token_is_refused_where_the_clock_is_behind(
    app: RelyingParty, later: Callable[[float], None], seconds: float
) -> None:
    first = app.tokens()["refresh_token"]
    later(600)
    assert app.refresh(first).status_code == 200
    later(-seconds)
    answer = app.refresh(first)
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_grant")
    assert RefreshToken.objects.filter(revoked=None).count() == 1


def test_a_superseded_token_is_refused_in_the_same_instant(app: RelyingParty, monkeypatch: pytest.MonkeyPatch) -> None:
    moment = clock.now()
    monkeypatch.setattr(clock, "now", lambda: moment)
    first = app.tokens()["refresh_token"]
    assert app.refresh(first).status_code == 200
    assert app.refresh(first).status_code == 400


def test_a_reactivated_account_is_signed_out_everywhere(signed_in: Browser, person: Account) -> None:
    assert signed_in.get("/account/apps/").status_code == 200
    for is_active in (False, True):
        person.is_active = is_active
        person.save()
    assert signed_in.get("/account/apps/").status_code == 302


def test_reuse_while_the_app_is_off_ends_the_family(app: RelyingParty, later: Callable[[float], None]) -> None:
    first = app.tokens()["refresh_token"]
    second = app.refresh(first).json()["refresh_token"]
    later(60)
    for enabled in (False, True):
        app.client.enabled = enabled
        app.client.save()
        if not enabled:
            assert app.refresh(first).status_code == 400
    assert app.refresh(second).status_code == 400
