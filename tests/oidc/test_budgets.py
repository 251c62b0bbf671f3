"""The budgets of the token endpoint, discovery and JWKS (docs/architecture.md#budgets)."""

from typing import Any

import pytest
from django.db import connection
from django.test import Client as Browser
from django.test.utils import CaptureQueriesContext

from oidc.models import ClientSecret
from oidc.tokens import signing_keys
from tests.relying_party import RelyingParty

CONTROL = ("SAVEPOINT", "RELEASE", "BEGIN", "COMMIT", "ROLLBACK")


class Counted(CaptureQueriesContext):
    """The statements of a block, without transaction control."""

    def __init__(self) -> None:
        super().__init__(connection)

    @property
    def statements(self) -> list[str]:
        return [query["sql"] for query in self.captured_queries if not query["sql"].startswith(CONTROL)]

    @property
    def transactions(self) -> int:
        """How many blocks of their own were opened inside of the test's transaction."""
        opened = [query["sql"] for query in self.captured_queries if query["sql"].startswith(("SAVEPOINT", "BEGIN"))]
        return len(opened)


def warm(app: RelyingParty) -> dict[str, Any]:
    """Let prepared statements, keys and the note of a secret's use be made, as in a process that has run a while."""
    tokens = app.tokens()
    refreshed: dict[str, Any] = app.refresh(tokens["refresh_token"]).json()
    app.call("/v1/me", refreshed["access_token"])
    return refreshed


@pytest.fixture(params=["spa", "web"])
def either(request: pytest.FixtureRequest, app: RelyingParty, web_app: RelyingParty) -> RelyingParty:
    return app if request.param == "spa" else web_app


def test_a_refresh_takes_at_most_four(either: RelyingParty) -> None:
    token = warm(either)["refresh_token"]
    with Counted() as counted:
        assert either.refresh(token).status_code == 200
    assert len(counted.statements) <= 4, "\n".join(counted.statements)


def test_a_code_exchange_takes_at_most_six(either: RelyingParty) -> None:
    warm(either)
    code = either.code()
    with Counted() as counted:
        assert either.exchange(code).status_code == 200
    assert len(counted.statements) <= 6, "\n".join(counted.statements)


def test_each_request_uses_one_transaction(either: RelyingParty) -> None:
    token = warm(either)["refresh_token"]
    code = either.code()
    for call, credential in ((either.exchange, code), (either.refresh, token)):
        with Counted() as counted:
            assert call(credential).status_code == 200
        writes = [sql for sql in counted.statements if not sql.startswith("SELECT")]
        assert writes
        # The library opens a block around its own step; ours is inside of it.
        assert counted.transactions <= 2


def test_discovery_needs_no_statement(client: Browser, db: None) -> None:
    with Counted() as counted:
        client.get("/.well-known/openid-configuration")
    assert counted.statements == []


def test_jwks_needs_no_statement(client: Browser, db: None) -> None:
    signing_keys.reload_keyring()
    with Counted() as counted:
        client.get("/.well-known/jwks")
    assert counted.statements == []


def test_malformed_requests_need_no_statement(client: Browser, db: None) -> None:
    signing_keys.reload_keyring()
    with Counted() as counted:
        for token in ("garbage", "a.b.c", "eyJhbGciOiJub25lIn0.e30."):
            client.get("/v1/me", headers={"Authorization": f"Bearer {token}"})
            client.get("/connect/userinfo", headers={"Authorization": f"Bearer {token}"})
        client.post("/connect/token", "grant_type=x", content_type="text/plain")
    assert counted.statements == []


def test_the_note_of_a_secrets_use_is_made_once_an_hour(web_app: RelyingParty) -> None:
    warm(web_app)
    code = web_app.code()
    with Counted() as counted:
        web_app.exchange(code)
    assert not any(sql.startswith("UPDATE") and ClientSecret._meta.db_table in sql for sql in counted.statements)
