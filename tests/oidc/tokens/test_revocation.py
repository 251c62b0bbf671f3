"""POST /connect/revoke (RFC 7009)."""

from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client as Browser

from oidc.models import Connection
from tests.factories import make_client
from tests.relying_party import FORM, RelyingParty, answer_of, basic

PATH = "/connect/revoke"


def revoke(app: RelyingParty, token: str, **changes: str) -> Any:
    return app.post(PATH, {"token": token, "client_id": app.client.client_id} | changes)


def is_done(response: Any) -> bool:
    return bool((response.status_code, response.content, response["Content-Type"]) == (200, b"{}", "application/json"))


def is_dead(app: RelyingParty, tokens: dict[str, Any]) -> bool:
    return bool(
        app.refresh(tokens["refresh_token"]).status_code == 400
        and app.call("/connect/userinfo", tokens["access_token"]).status_code == 401
        and app.call("/v1/me", tokens["access_token"]).status_code == 401
    )


def is_alive(app: RelyingParty, tokens: dict[str, Any]) -> bool:
    return bool(app.call("/connect/userinfo", tokens["access_token"]).status_code == 200)


def test_revocation_keeps_other_families_and_the_consent(app: RelyingParty) -> None:
    tokens, others = app.tokens(), app.tokens()
    for _ in range(2):
        assert is_done(revoke(app, tokens["refresh_token"]))
    assert is_alive(app, others)
    assert Connection.objects.get().removed_at is None
    assert "code" in answer_of(app.authorize(prompt="none"))


def test_a_web_client_needs_no_secret_for_a_refresh_token(web_app: RelyingParty) -> None:
    tokens = web_app.tokens()
    assert is_done(revoke(web_app, tokens["refresh_token"]))
    assert is_dead(web_app, tokens)


def test_a_secret_that_is_sent_has_to_be_right(web_app: RelyingParty) -> None:
    tokens = web_app.tokens()
    assert revoke(web_app, tokens["refresh_token"], client_secret="wrong").status_code == 401
    assert is_alive(web_app, tokens)
    header = basic(web_app.client.client_id, "wrong")
    assert web_app.post(PATH, {"token": tokens["refresh_token"]}, Authorization=header).status_code == 401
    assert is_alive(web_app, tokens)
    header = basic(web_app.client.client_id, web_app.secret or "")
    assert is_done(web_app.post(PATH, {"token": tokens["refresh_token"]}, Authorization=header))
    assert is_dead(web_app, tokens)


def test_an_access_token_ends_its_family_when_the_client_has_proven_itself(
    app: RelyingParty, web_app: RelyingParty
) -> None:
    tokens = app.tokens()
    assert is_done(revoke(app, tokens["access_token"], token_type_hint="access_token"))
    assert is_dead(app, tokens)
    tokens = web_app.tokens()
    assert is_done(revoke(web_app, tokens["access_token"]))
    assert is_alive(web_app, tokens)
    assert is_done(revoke(web_app, tokens["access_token"], client_secret=web_app.secret or ""))
    assert is_dead(web_app, tokens)


def test_an_empty_secret_proves_nothing(web_app: RelyingParty) -> None:
    tokens = web_app.tokens()
    header = basic(web_app.client.client_id, "")
    form = urlencode({"token": tokens["access_token"]})
    answer = Browser().post(PATH, form, content_type=FORM, headers={"Authorization": header})
    assert is_done(answer)
    assert web_app.call("/connect/userinfo", tokens["access_token"]).status_code == 200


def test_a_superseded_refresh_token_ends_its_family_too(app: RelyingParty) -> None:
    first = app.tokens()
    second = app.refresh(first["refresh_token"]).json()
    assert is_done(revoke(app, first["refresh_token"]))
    assert is_dead(app, second)


@pytest.mark.parametrize("hint", ["access_token", "refresh_token", "nonsense"])
def test_a_refresh_token_ends_its_family_whatever_the_hint(app: RelyingParty, hint: str) -> None:
    tokens = app.tokens()
    assert is_done(revoke(app, tokens["refresh_token"], token_type_hint=hint))
    assert is_dead(app, tokens)


@pytest.mark.parametrize("token", ["nonsense", "a.b.c", "x" * 5000, "é"])
def test_revoking_an_unknown_token_succeeds(app: RelyingParty, token: str) -> None:
    assert is_done(revoke(app, token))


def test_another_clients_token_is_left_alone(app: RelyingParty, web_app: RelyingParty) -> None:
    tokens = app.tokens()
    assert is_done(revoke(web_app, tokens["refresh_token"]))
    sibling = RelyingParty(make_client(app.client.project, name="Orbit Mobile"), app.browser)
    assert is_done(revoke(sibling, tokens["refresh_token"]))
    assert is_done(revoke(sibling, tokens["access_token"]))
    assert is_alive(app, tokens)


def test_known_and_unknown_tokens_look_alike(app: RelyingParty) -> None:
    known, unknown = revoke(app, app.tokens()["refresh_token"]), revoke(app, "x" * 43)
    assert known.content == unknown.content
    assert set(known.headers) == set(unknown.headers)


@pytest.mark.parametrize("client_id", [None, "", "op_client_unknown"])
def test_the_client_is_required_and_known(app: RelyingParty, client_id: str | None) -> None:
    tokens = app.tokens()
    form = {"token": tokens["refresh_token"]} | ({} if client_id is None else {"client_id": client_id})
    response = app.post(PATH, form)
    assert (response.status_code, response.json()["error"]) == (401, "invalid_client")
    assert response["WWW-Authenticate"].startswith("Basic")
    assert is_alive(app, tokens)


def test_a_public_client_that_sends_a_secret_is_refused(app: RelyingParty) -> None:
    tokens = app.tokens()
    assert revoke(app, tokens["refresh_token"], client_secret="x").status_code == 401
    assert is_alive(app, tokens)


def test_a_token_in_the_query_is_refused(app: RelyingParty) -> None:
    tokens = app.tokens()
    query = urlencode({"token": tokens["refresh_token"], "client_id": app.client.client_id})
    for body in ("", "token=x"):
        assert Browser().post(f"{PATH}?{query}", body, content_type=FORM).status_code == 400
    assert is_alive(app, tokens)


def test_no_csrf_token_is_needed(app: RelyingParty) -> None:
    tokens = app.tokens()
    body = urlencode({"token": tokens["refresh_token"], "client_id": app.client.client_id})
    assert is_done(Browser(enforce_csrf_checks=True).post(PATH, body, content_type=FORM))
