"""Every error of the token, revocation and userinfo endpoints says what is wrong, and no secret of others.

The sign-in log has the same reason.
"""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client as Browser

from accounts.models import Account
from api import usage_counts
from core.serving.errors import _REASONS, HTTPError
from devportal.console.models import SignInEvent
from oidc.authorization import consent
from oidc.models import AccessToken, Client, Connection, Project
from oidc.values.reasons import Reason, public_text
from tests.factories import make_client
from tests.relying_party import RelyingParty

SAFE = re.compile(r"[\x20-\x21\x23-\x5b\x5d-\x7e]+")  # RFC 6749 §5.2
TOKEN, REVOKE, USERINFO = "/connect/token", "/connect/revoke", "/connect/userinfo"


def told(response: Any, kind: str, **facts: str) -> None:
    """Check that a response has the error, status and description of the reason `kind`."""
    reason = Reason(kind)
    assert response.status_code == reason.status, response.content
    assert response.json() == {"error": reason.error, "error_description": public_text(reason, {**facts})}


def refused(response: Any, kind: str) -> None:
    """Check a response of the token endpoint, and its entry in the sign-in log."""
    told(response, kind)
    usage_counts.flush_usage()
    entry = SignInEvent.objects.get(request_id=response["X-Request-ID"])
    assert (entry.endpoint, entry.outcome, entry.reason) == ("token", "refused", kind)
    assert entry.error == response.json()["error"]


# --- The table ---


def test_each_description_of_the_server_in_front_is_safe() -> None:
    assert all(SAFE.fullmatch(text) for text in _REASONS.values())


# --- Each of them, over HTTP ---


def test_codes(app: RelyingParty, web_app: RelyingParty, later: Callable[[float], None]) -> None:
    refused(app.exchange("nobodys"), "code_unknown")
    refused(app.exchange(web_app.code()), "code_unknown")
    refused(app.exchange(app.code(), code_verifier=""), "verifier_missing")
    refused(app.exchange(app.code(), code_verifier="x"), "verifier_malformed")
    refused(app.exchange(app.code(), code_verifier="x" * 43), "verifier_wrong")
    refused(app.exchange(app.code(), redirect_uri="https://app.example.com/other"), "redirect_uri_differs")
    refused(app.exchange(app.code(), redirect_uri=""), "redirect_uri_missing")
    used = app.code()
    refresh = app.exchange(used).json()["refresh_token"]
    refused(app.exchange(used), "code_used")
    refused(app.refresh(refresh), "ended_code_replayed")
    old = app.code()
    later(61)
    refused(app.exchange(old), "code_expired")


def test_refresh_tokens(app: RelyingParty, later: Callable[[float], None]) -> None:
    refused(app.refresh("nobodys"), "refresh_token_unknown")
    first = app.tokens()["refresh_token"]
    refused(app.refresh(first, scope="openid account.read"), "scope_not_granted")
    newest = app.refresh(first).json()["refresh_token"]
    refused(app.refresh(first), "refresh_token_repeated")
    other = app.tokens()["refresh_token"]
    app.refresh(other)
    later(11)
    refused(app.refresh(other), "refresh_token_superseded")
    later(31 * 24 * 3600)
    refused(app.refresh(newest), "refresh_token_expired")


@pytest.mark.parametrize(
    ("end", "kind"),
    [
        (lambda: Client.objects.update(enabled=False), "client_off"),
        (lambda: Project.objects.update(suspended_at="2026-01-01T00:00Z"), "project_suspended"),
        (lambda: consent.remove_consent(Connection.objects.get()), "ended_access_removed"),
        (lambda: Account.objects.update(is_active=False), "access_removed"),
    ],
)
def test_reasons_why_tokens_end(end: Callable[[], Any], kind: str, app: RelyingParty) -> None:
    tokens = app.tokens()
    end()
    refused(app.refresh(tokens["refresh_token"]), kind)
    told(app.call(USERINFO, tokens["access_token"]), "access_token_ended")


def test_the_request(app: RelyingParty) -> None:
    told(app.post(TOKEN, {"client_id": "x"}), "grant_type_missing")
    told(app.exchange("x", grant_type="password"), "grant_type_unsupported")
    told(app.post(TOKEN, {"grant_type": "authorization_code"}), "code_missing")
    told(app.post(TOKEN, {"grant_type": "refresh_token"}), "refresh_token_missing")
    told(app.post(REVOKE, {"client_id": app.client.client_id}), "token_missing")
    told(Browser().get(TOKEN), "post_only")
    told(Browser().put(USERINFO), "get_or_post_only")
    told(Browser().post(f"{TOKEN}?a=b"), "query_sent")
    told(Browser().post(TOKEN, {}, content_type="application/json"), "body_type")
    form = "application/x-www-form-urlencoded"
    told(Browser().post(TOKEN, "a=é", content_type=form), "body_not_encoded")
    told(Browser().post(TOKEN, "a=1&" * 101, content_type=form), "too_many_parameters")
    told(Browser().post(TOKEN, "a=1&a=2", content_type=form), "parameter_unclear", name="a")


def test_access_tokens(app: RelyingParty, later: Callable[[float], None]) -> None:
    tokens = app.tokens()
    for none in ("nonsense", tokens["id_token"], tokens["refresh_token"]):
        told(app.call(USERINFO, none), "access_token_invalid")
    AccessToken.objects.update(scope="email")
    told(app.call(USERINFO, tokens["access_token"]), "openid_missing")
    later(901)
    answer = app.call(USERINFO, tokens["access_token"])
    told(answer, "access_token_expired")
    assert 'error_description="The access token has expired."' in answer["WWW-Authenticate"]


@pytest.mark.parametrize("path", [TOKEN, REVOKE, USERINFO])
@pytest.mark.parametrize("status", [400, 413, 503])
def test_the_server_in_front(path: str, status: int) -> None:
    assert b'"error_description": "' in HTTPError(status).answer(path)[2]


# --- What descriptions do not tell ---


def test_an_unknown_client_reads_like_a_wrong_secret(app: RelyingParty) -> None:
    web = make_client(type=Client.Type.WEB)
    answers = [
        app.exchange("x", client_id=client_id, **secret)
        for client_id in (web.client_id, "op_client_" + "x" * 22)
        for secret in ({}, {"client_secret": "wrong"})
    ]
    for answer in answers:
        told(answer, "client_failed")


def test_an_unknown_refresh_token_reads_like_a_known_one(app: RelyingParty) -> None:
    raw = app.tokens()["refresh_token"]
    Client.objects.update(type=Client.Type.WEB)
    for token in (raw, "nobodys"):
        told(app.post(TOKEN, {"grant_type": "refresh_token", "refresh_token": token}), "client_unnamed")


def test_another_clients_code_reads_like_an_unknown_one(app: RelyingParty) -> None:
    code, other = app.code(), make_client(type=Client.Type.SPA)
    for sent in (code, "nobodys"):
        told(app.exchange(sent, client_id=other.client_id), "code_unknown")
    assert app.exchange(code).status_code == 200
