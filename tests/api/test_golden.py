"""The agreed answers of /v1, status, headers and body: one file each in tests/golden (tests/golden_files.py)."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from accounts.models import Account, PairwiseSubject
from accounts.sources import SourceFailed
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


def golden(name: str, response: Any) -> None:
    """Compare an answer with its file."""
    headers = {k: v for k, v in sorted(response.headers.items()) if k.startswith(MATTER) or k in MATTERING}
    body = json.loads(response.content) if response.content else None
    found = {"status": response.status_code, "headers": headers, "body": body}
    golden_files.compare(f"v1_{name}", found)


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
    golden("unauthenticated", call(ME))


def test_invalid_api_key(own: Key) -> None:
    golden("invalid_api_key_mistyped", call(ME, "op_key_nobody"))
    unknown = f"op_key_{'A' * 12}_{'A' * 43}"
    golden("invalid_api_key_unknown", call(ME, unknown + keys.checksum(unknown)))
    keys.revoke_key(own.row)
    golden("invalid_api_key_dead", call(ME, own.raw))


def test_invalid_token(app_of_it: Client, ada: Account) -> None:
    golden("invalid_token_unknown", call(ME, "nobodys"))
    token = make_access_token(app_of_it, ada)
    Client.objects.update(enabled=False)
    golden("invalid_token_dead", call(ME, token))


def test_project_suspended(own: Key) -> None:
    Project.objects.update(suspended_at=MOMENT)
    golden("project_suspended", call(ME, own.raw))


def test_insufficient_scope(app_of_it: Client, ada: Account) -> None:
    token = make_access_token(app_of_it, ada, ["openid"])
    golden("insufficient_scope_me", call(ME, token))
    golden("insufficient_scope_plan", call(PLAN, token))


def test_a_key_without_permissions(ada: Account) -> None:
    golden("insufficient_scope_key", call(ME, make_key(make_project(ada), permissions=())[1]))


def test_not_found() -> None:
    golden("not_found", call("/v1/calendar"))


def test_method_not_allowed(own: Key) -> None:
    golden("method_not_allowed", call(ME, own.raw, "POST"))


def test_rate_limited(own: Key, settings: Any) -> None:
    settings.API_CALLS_PER_MINUTE = 1
    call(ME, own.raw)
    golden("rate_limited", call(ME, own.raw))


def test_internal_error(own: Key, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(me, "profile_for", lambda caller: 1 / 0)
    golden("internal_error", call(ME, own.raw))


def test_upstream_unavailable(own: Key, monkeypatch: pytest.MonkeyPatch) -> None:
    def down(caller: Any) -> Any:
        raise SourceFailed("down")

    monkeypatch.setattr(me, "profile_for", down)
    golden("upstream_unavailable", call(ME, own.raw))


@pytest.mark.parametrize("path", [ME, PLAN])
def test_preflight(path: str) -> None:
    golden("preflight", call(path, method="OPTIONS", **{"Access-Control-Request-Method": "GET"}))


def test_schema() -> None:
    golden("openapi", call("/v1/openapi.json"))
