"""`manage.py end_authorizations`: everything that was issued within a time is void."""

from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client as Browser
from django.test.utils import CaptureQueriesContext

from core import clock
from devportal.console.models import AuditEvent
from oidc.models import Connection, TokenFamily
from oidc.tokens import expiry
from tests.factories import make_key
from tests.relying_party import RelyingParty

pytestmark = pytest.mark.django_db


def run(*arguments: str) -> str:
    out = StringIO()
    call_command("end_authorizations", *arguments, stdout=out)
    return out.getvalue()


def alive(app: RelyingParty, tokens: dict[str, Any]) -> bool:
    return bool(app.call("/v1/me", tokens["access_token"]).status_code == 200)


def test_everything_ends_except_sessions_consents_and_keys(app: RelyingParty) -> None:
    tokens, code = app.tokens(), app.code()
    raw = make_key(app.client.project)[1]
    assert "Ended: 2 authorizations, 0 API keys, 0 browser sessions." in run("--all", "--yes")
    assert not alive(app, tokens)
    assert app.refresh(tokens["refresh_token"]).json()["error"] == "invalid_grant"
    assert app.exchange(code).json()["error"] == "invalid_grant"
    assert app.call("/v1/me", raw).status_code == 200
    assert Connection.objects.get().removed_at is None
    assert app.authorize().status_code == 302  # signed in, and nothing is asked
    assert alive(app, app.tokens())


def test_a_time_can_be_given(app: RelyingParty) -> None:
    old, new = app.tokens(), app.tokens()
    first = TokenFamily.objects.earliest("pk")
    restored = clock.now() - timedelta(hours=1)
    TokenFamily.objects.filter(pk=first.pk).update(created_at=restored - timedelta(hours=1))
    assert "1 authorizations" in run("--before", restored.isoformat(), "--yes")
    assert (alive(app, old), alive(app, new)) == (False, True)
    assert "1 authorizations" in run("--since", restored.isoformat().replace("+00:00", "Z"), "--yes")
    assert not alive(app, new)


@pytest.mark.parametrize(
    "moment", ["yesterday", "2026-13-01", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"]
)
def test_a_time_that_does_not_exist_is_named(moment: str) -> None:
    with pytest.raises(CommandError, match="is not a time like"):
        run("--since", moment, "--dry-run")


def test_api_keys_and_sessions_end_when_asked(app: RelyingParty) -> None:
    raw = make_key(app.client.project)[1]
    browser = Browser()
    said = run("--all", "--api-keys", "--sessions", "--yes")
    assert "1 API keys" in said
    assert app.call("/v1/me", raw).status_code == 401
    assert app.browser.get("/account/").status_code == 302
    assert browser.get("/account/login/").status_code == 200
    assert AuditEvent.objects.filter(action="api_key.revoked").exists()


def test_a_dry_run_counts(app: RelyingParty) -> None:
    tokens = app.tokens()
    assert "1 authorizations end, and 0 API keys" in run("--all", "--dry-run")
    assert alive(app, tokens)
    assert not AuditEvent.objects.filter(action="authorizations.ended").exists()


def test_without_confirmation_it_ends_nothing(app: RelyingParty) -> None:
    tokens = app.tokens()
    with pytest.raises(CommandError, match="--yes"):
        run("--all")
    assert alive(app, tokens)


@pytest.mark.parametrize(
    "arguments", [[], ["--all", "--since", "2026-01-01"], ["--since", "yesterday"], ["--before", "99"]]
)
def test_an_ambiguous_time_is_rejected(arguments: list[str]) -> None:
    with pytest.raises(CommandError):
        run(*arguments, "--yes")


def test_a_run_is_in_the_audit_trail_and_developers_see_the_reason(app: RelyingParty) -> None:
    tokens = app.tokens()
    run("--since", "2020-01-01", "--why", "restored from a backup", "--yes")
    event = AuditEvent.objects.get(action="authorizations.ended")
    assert event.details["families"] == 1
    assert event.details["since"] == datetime(2020, 1, 1, tzinfo=UTC).isoformat()
    assert TokenFamily.objects.get().revocation_note == "restored from a backup"
    assert app.refresh(tokens["refresh_token"]).json()["error"] == "invalid_grant"


def test_it_works_in_batches(app: RelyingParty, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expiry, "REVOCATION_BATCH", 7)
    app.tokens()
    one = TokenFamily.objects.get()
    fields = {"connection_id": one.connection_id, "scope": one.scope, "auth_time": one.auth_time}
    TokenFamily.objects.bulk_create(TokenFamily(**fields, created_at=clock.now()) for _ in range(20))
    with CaptureQueriesContext(connection) as queries:
        assert expiry.end_families(expiry.live_families(), "test") == 21
    assert 3 < len(queries) < 20, "a statement for each would take minutes"
    assert not TokenFamily.objects.filter(revoked_at=None).exists()
    assert expiry.end_families(expiry.live_families(), "test") == 0
