"""A refresh that names no client: the token does, and a public one needs no more (RFC 6749 §6, §3.2.1)."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from oidc.models import Client, SigningKey
from tests.oidc.tokens.test_code_exchange import error_of
from tests.relying_party import RelyingParty, basic, claims_of

REFUSED = (401, "invalid_client")


def alone(app: RelyingParty, token: str, **more: str) -> Any:
    """Send a refresh token without a client id, as Spring Security does."""
    return app.post("/connect/token", {"grant_type": "refresh_token", "refresh_token": token} | more)


def statements(answer: Callable[[], Any]) -> list[str]:
    with CaptureQueriesContext(connection) as queries:
        answer()
    return [query["sql"] for query in queries if not query["sql"].startswith(("SAVEPOINT", "RELEASE", "BEGIN"))]


@pytest.mark.parametrize("kind", [Client.Type.SPA, Client.Type.NATIVE])
def test_a_public_clients_token_is_enough(app: RelyingParty, kind: str) -> None:
    Client.objects.filter(pk=app.client.pk).update(type=kind)
    first = app.tokens()
    refreshed = alone(app, first["refresh_token"])
    assert refreshed.status_code == 200
    assert claims_of(refreshed.json()["id_token"])["aud"] == app.client.client_id
    assert refreshed.json()["scope"] == first["scope"]
    # The chain goes on, with the id and without it.
    second = app.refresh(refreshed.json()["refresh_token"]).json()
    assert alone(app, second["refresh_token"]).status_code == 200


def test_an_empty_client_id_counts_as_left_out(app: RelyingParty) -> None:
    assert alone(app, app.tokens()["refresh_token"], client_id="", client_secret="").status_code == 200


def test_a_confidential_clients_token_is_not_enough(web_app: RelyingParty) -> None:
    token = web_app.tokens()["refresh_token"]
    response = alone(web_app, token)
    assert error_of(response) == REFUSED
    assert response["WWW-Authenticate"].startswith("Basic")
    # It was not used up, nor its family ended.
    assert web_app.refresh(token).status_code == 200


def test_a_secret_without_an_id_is_not_enough_either(web_app: RelyingParty, app: RelyingParty) -> None:
    assert error_of(alone(web_app, web_app.tokens()["refresh_token"], client_secret=web_app.secret or "")) == REFUSED
    assert error_of(alone(app, app.tokens()["refresh_token"], client_secret="x")) == REFUSED


def test_another_client_id_or_header_is_not_overlooked(app: RelyingParty, web_app: RelyingParty) -> None:
    token = app.tokens()["refresh_token"]
    assert error_of(alone(app, token, client_id=web_app.client.client_id)) == REFUSED
    assert error_of(alone(app, token, client_id="op_client_x")) == REFUSED
    form = {"grant_type": "refresh_token", "refresh_token": token}
    for header in ("", "Basic !!!", "Bearer x", basic("", ""), basic(app.client.client_id, "x")):
        assert error_of(app.post("/connect/token", form, Authorization=header)) == REFUSED, header
    assert alone(app, token).status_code == 200


@pytest.mark.parametrize("token", ["nonsense", "x" * 5000, "é"])
def test_an_unknown_token_identifies_no_client(app: RelyingParty, token: str) -> None:
    assert error_of(alone(app, token)) == REFUSED


def test_an_unknown_token_and_a_confidential_clients_are_told_and_cost_the_same(web_app: RelyingParty) -> None:
    token = web_app.tokens()["refresh_token"]
    alone(web_app, "warm up")
    unknown, known = alone(web_app, "nonsense"), alone(web_app, token)
    assert unknown.content == known.content
    assert unknown.status_code == known.status_code
    for shown in ("nonsense", token):
        assert len(statements(lambda shown=shown: alone(web_app, shown))) == 1  # type: ignore[misc]


def test_it_costs_no_statement_more(app: RelyingParty) -> None:
    token = alone(app, app.tokens()["refresh_token"]).json()["refresh_token"]
    made = statements(lambda: alone(app, token))
    assert len(made) <= 4, "\n".join(made)
    assert not any(SigningKey._meta.db_table in sql for sql in made)


def test_a_superseded_token_is_invalid_grant_and_later_ends_the_family(
    app: RelyingParty, later: Callable[[float], None]
) -> None:
    first = app.tokens()
    second = alone(app, first["refresh_token"]).json()
    assert error_of(alone(app, first["refresh_token"])) == (400, "invalid_grant")
    later(11)
    assert error_of(alone(app, first["refresh_token"])) == (400, "invalid_grant")
    assert app.call("/connect/userinfo", second["access_token"]).status_code == 401


def test_it_counts_against_the_limit_of_the_client_that_the_token_names(app: RelyingParty, settings: Any) -> None:
    token = app.tokens()["refresh_token"]
    settings.CLIENT_REQUESTS_PER_MINUTE = 0
    assert error_of(alone(app, token)) == (429, "temporarily_unavailable")
    settings.CLIENT_REQUESTS_PER_MINUTE = 600
    assert alone(app, token).status_code == 200


def test_a_code_does_not_identify_a_client(app: RelyingParty) -> None:
    form = {
        "grant_type": "authorization_code",
        "code": app.code(),
        "redirect_uri": app.redirect_uri,
        "code_verifier": app.verifier,
    }
    assert error_of(app.post("/connect/token", form)) == REFUSED
    assert error_of(app.post("/connect/token", form | {"refresh_token": app.tokens()["refresh_token"]})) == REFUSED


def test_a_client_that_became_confidential_has_to_authenticate(app: RelyingParty) -> None:
    token = app.tokens()["refresh_token"]
    Client.objects.filter(pk=app.client.pk).update(type=Client.Type.WEB)
    assert error_of(alone(app, token)) == REFUSED
