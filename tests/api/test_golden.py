"""The agreed answers of /v1, status, headers and body: files in tests/golden (tests/golden_files.py), and errors."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from accounts.models import Account, PairwiseSubject
from accounts.profile.sources import SourceFailed
from api import keys, me
from core import clock
from oidc.models import Client, Project
from tests import golden_files
from tests.api.calls import ME, PLAN, call
from tests.api.conftest import Key
from tests.factories import make_access_token, make_account, make_client, make_key, make_project

# What else an answer carries belongs to every answer of the service.
MATTER = ("Access-Control-", "RateLimit-")
MATTERING = {"Allow", "Cache-Control", "Content-Type", "ETag", "Link", "Retry-After", "Vary", "WWW-Authenticate"}
MOMENT = datetime(2026, 3, 14, 15, 9, 26, tzinfo=UTC)


# The headers of every error.
OF_ERRORS = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Expose-Headers": "WWW-Authenticate, Retry-After, RateLimit-Limit, RateLimit-Remaining, "
    "RateLimit-Reset, ETag, Link, Deprecation, Sunset, X-Request-ID",
    "Cache-Control": "no-store",
    "Content-Type": "application/json",
}
METADATA = 'resource_metadata="http://localhost:8000/.well-known/oauth-protected-resource"'
UNKNOWN = {"WWW-Authenticate": f'Bearer realm="api", error="invalid_token", scope="openid profile email", {METADATA}'}


def found_in(response: Any) -> dict[str, Any]:
    headers = {k: v for k, v in sorted(response.headers.items()) if k.startswith(MATTER) or k in MATTERING}
    body = json.loads(response.content) if response.content else None
    return {"status": response.status_code, "headers": headers, "body": body}


def golden(name: str, response: Any) -> None:
    """Compare an answer with its file."""
    golden_files.compare(f"v1_{name}", found_in(response))


def refused(response: Any, status: int, code: str, message: str, headers: dict[str, str]) -> None:
    """Compare an error with what is agreed; `headers` are the ones that not every error has."""
    link = {"Link": f'<http://localhost:8000/docs/errors#api-{code}>; rel="help"'}
    error = {"code": code, "message": message}
    assert found_in(response) == {"status": status, "headers": OF_ERRORS | link | headers, "body": {"error": error}}


def limits(limit: int, remaining: int) -> dict[str, str]:
    return {"RateLimit-Limit": str(limit), "RateLimit-Remaining": str(remaining), "RateLimit-Reset": "34"}


@pytest.fixture(autouse=True)
def fixed(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A moment that does not pass, and a person whose id is known."""
    monkeypatch.setattr(clock, "now", lambda: MOMENT)
    made = PairwiseSubject.objects.create

    def known(**given: Any) -> Any:
        given |= {"sub": "gJ8VxZ0mWq3nT5rY7uB1cD2eF4hK6sLp", "picture_key": "p" * 32}
        return made(**given)

    monkeypatch.setattr(PairwiseSubject.objects, "create", known)


@pytest.fixture
def ada() -> Account:
    return make_account("ada@example.com")


@pytest.fixture
def own(ada: Account) -> Key:
    project = make_project(ada)
    row, raw = make_key(project, ada)
    return Key(row, raw, project, ada)


@pytest.fixture
def app_of_it() -> Client:
    return make_client(approved_scopes="account.read")


@pytest.mark.parametrize("scope", ["email", "profile", "email profile"])
def test_profile(scope: str, app_of_it: Client, ada: Account) -> None:
    token = make_access_token(app_of_it, ada, ["openid", *scope.split()])
    golden(f"me_{scope.replace(' ', '_')}", call(ME, token))


def test_profile_of_a_keys_owner(own: Key) -> None:
    Account.objects.filter(pk=own.owner.pk).update(picture="pictures/x.webp", family_name=None)
    golden("me_key", call(ME, own.raw))


def test_plan(own: Key) -> None:
    golden("plan", call(PLAN, own.raw))


def test_plan_unchanged(own: Key) -> None:
    etag = call(PLAN, own.raw)["ETag"]
    golden("plan_unchanged", call(PLAN, own.raw, **{"If-None-Match": etag}))


def test_unauthenticated() -> None:
    message = "Send a credential as: Authorization: Bearer <credential>."
    challenge = f'Bearer realm="api", scope="openid profile email", {METADATA}'
    refused(call(ME), 401, "unauthenticated", message, {"WWW-Authenticate": challenge})


def test_invalid_api_key(own: Key) -> None:
    mistyped = "This API key was mistyped or cut off: its checksum does not match. Copy it again."
    refused(call(ME, "op_key_nobody"), 401, "invalid_api_key", mistyped, UNKNOWN)
    unknown = f"op_key_{'A' * 12}_{'A' * 43}"
    unknown += keys.checksum(unknown)
    refused(call(ME, unknown), 401, "invalid_api_key", "This API key is unknown.", UNKNOWN)
    keys.API_KEYS.revoke(own.row)
    refused(call(ME, own.raw), 401, "invalid_api_key", "This API key is revoked or expired.", UNKNOWN)


def test_invalid_token(app_of_it: Client, ada: Account) -> None:
    refused(call(ME, "nobodys"), 401, "invalid_token", "The access token is invalid or expired.", UNKNOWN)
    token = make_access_token(app_of_it, ada)
    Client.objects.update(enabled=False)
    ended = "The access token is expired, its access was removed, or its app is turned off."
    refused(call(ME, token), 401, "invalid_token", ended, UNKNOWN)


def test_project_suspended(own: Key) -> None:
    Project.objects.update(suspended_at=MOMENT)
    message = "The project is suspended. Its owner can ask the service why."
    refused(call(ME, own.raw), 401, "project_suspended", message, UNKNOWN)


def needing(scopes: str) -> dict[str, str]:
    return {"WWW-Authenticate": f'Bearer realm="api", error="insufficient_scope", scope="openid {scopes}"'}


def test_insufficient_scope(app_of_it: Client, ada: Account) -> None:
    token = make_access_token(app_of_it, ada, ["openid"])
    message = "This needs one of the scopes: profile, email."
    refused(call(ME, token), 403, "insufficient_scope", message, limits(120, 119) | needing("profile email"))
    message = "This needs one of the scopes: account.read."
    refused(call(PLAN, token), 403, "insufficient_scope", message, limits(120, 118) | needing("account.read"))


def test_a_key_without_permissions(ada: Account) -> None:
    message = "This needs one of the scopes: account.read."
    powerless = make_key(make_project(ada), permissions=())[1]
    refused(call(ME, powerless), 403, "insufficient_scope", message, limits(600, 599) | needing("account.read"))


def test_not_found() -> None:
    refused(call("/v1/calendar"), 404, "not_found", "There is no such endpoint.", {})


def test_method_not_allowed(own: Key) -> None:
    headers = limits(600, 599) | {"Allow": "GET, HEAD"}
    refused(call(ME, own.raw, "POST"), 405, "method_not_allowed", "Use GET.", headers)


def test_rate_limited(own: Key, settings: Any) -> None:
    settings.API_CALLS_PER_MINUTE = 1
    call(ME, own.raw)
    message = "Too many requests. Wait for the seconds in Retry-After."
    refused(call(ME, own.raw), 429, "rate_limited", message, limits(1, 0) | {"Retry-After": "34"})


def test_internal_error(own: Key, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(me, "profile_for", lambda caller: 1 / 0)
    refused(call(ME, own.raw), 500, "internal_error", "The service failed. Try again.", limits(600, 599))


def test_upstream_unavailable(own: Key, monkeypatch: pytest.MonkeyPatch) -> None:
    def down(caller: Any) -> Any:
        raise SourceFailed("down")

    monkeypatch.setattr(me, "profile_for", down)
    message = "The service behind this endpoint is down. Retry shortly."
    refused(call(ME, own.raw), 502, "upstream_unavailable", message, limits(600, 599))


@pytest.mark.parametrize("path", [ME, PLAN])
def test_preflight(path: str) -> None:
    golden("preflight", call(path, method="OPTIONS", **{"Access-Control-Request-Method": "GET"}))


def test_schema() -> None:
    golden("openapi", call("/v1/openapi.json"))
