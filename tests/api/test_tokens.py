"""Access tokens at /v1: only ours, only for here, only while everything behind them lives."""

import base64
import hashlib
import hmac
import json
from collections.abc import Callable
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA256
from jwcrypto.jwk import JWK

from accounts.models import Account
from core import clock
from core.credentials import digest
from oidc import signing_keys
from oidc.models import AccessToken, Client, Project, TokenFamily
from tests.api.calls import ME, PLAN, call, refusal
from tests.factories import make_access_token, make_client, make_project
from tests.relying_party import RelyingParty, claims_of, header_of

INVALID = (401, "invalid_token")


def encode(part: dict[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode()


def remember(raw: str) -> None:
    """Give a forged token the row of the real one, so that nothing but its check can refuse it."""
    AccessToken.objects.update(token_checksum=digest(raw))


def signed(token: str, header: dict[str, Any] | None = None, **claims: Any) -> str:
    """Return `token` with other header fields or claims, rightly signed by our own active key."""
    parts = {**header_of(token), **(header or {})}, claims_of(token) | claims
    text = ".".join(encode({name: value for name, value in part.items() if value is not None}) for part in parts)
    signature = signing_keys.signing_key().private.sign(text.encode(), PKCS1v15(), SHA256())
    return f"{text}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"


def test_the_way_of_signing_here_is_accepted(token: str) -> None:
    again = signed(token)
    remember(again)
    assert call(ME, again).status_code == 200


@pytest.mark.parametrize(
    "claims",
    [
        {"iss": "http://localhost:8000"},
        {"iss": "https://evil.example.com/"},
        {"iss": None},
        {"iss": ["http://localhost:8000/"]},
        {"aud": "https://other.example.com"},
        {"aud": None},
        {"aud": ["http://localhost:8000", "https://other.example.com"]},
        {"exp": None},
        {"exp": "9999999999"},
        {"exp": True},
        {"exp": 9999999999.5},
        {"exp": 0},
        {"exp": -1},
    ],
)
def test_a_claim_that_is_not_ours(token: str, claims: dict[str, Any]) -> None:
    forged = signed(token, **claims)
    remember(forged)
    assert refusal(call(ME, forged)) == INVALID


@pytest.mark.parametrize(
    "header",
    [
        {"typ": "JWT"},
        {"typ": None},
        {"typ": "at+JWT"},
        {"alg": "none"},
        {"alg": "RS512"},
        {"alg": "HS256"},
        {"alg": None},
        {"kid": None},
        {"kid": "unknown"},
        {"kid": 1},
        {"kid": ["x"]},
        {"jku": "https://evil.example.com/jwks"},
        {"x5u": "https://evil.example.com/cert"},
        {"jwk": {"kty": "RSA"}},
        {"crit": ["exp"]},
        {"b64": False},
    ],
)
def test_a_header_that_is_not_ours(token: str, header: dict[str, Any]) -> None:
    forged = signed(token, header)
    remember(forged)
    assert refusal(call(ME, forged)) == INVALID


def test_without_a_signature(token: str) -> None:
    head, body, _ = token.split(".")
    none = encode({"alg": "none", "typ": "at+jwt", "kid": header_of(token)["kid"]})
    for forged in (f"{head}.{body}.", f"{none}.{body}.", f"{head}.{body}", f"{head}.{body}.AA.AA"):
        remember(forged)
        assert refusal(call(ME, forged)) == INVALID


def test_signed_with_the_public_key_as_a_secret(token: str) -> None:
    kid = header_of(token)["kid"]
    pem = JWK(**signing_keys.signing_key().public_jwk).export_to_pem()
    for header in ({"alg": "HS256", "typ": "at+jwt", "kid": kid}, header_of(token)):
        text = f"{encode(header)}.{token.split('.')[1]}"
        mac = hmac.new(pem, text.encode(), hashlib.sha256).digest()
        forged = f"{text}.{base64.urlsafe_b64encode(mac).rstrip(b'=').decode()}"
        remember(forged)
        assert refusal(call(ME, forged)) == INVALID


def test_signed_with_a_key_of_the_senders_own(token: str) -> None:
    own = JWK.generate(kty="RSA", size=2048)
    text = token.rpartition(".")[0]
    signature = own.get_op_key("sign").sign(text.encode(), PKCS1v15(), SHA256())
    forged = f"{text}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"
    remember(forged)
    assert refusal(call(ME, forged)) == INVALID


def test_a_changed_token(token: str) -> None:
    head, body, signature = token.split(".")
    wider = encode(claims_of(token) | {"scope": "openid email profile account.read"})
    for forged in (f"{head}.{wider}.{signature}", f"{head}.{body}.{signature[::-1]}", token + "A", token + "="):
        assert refusal(call(PLAN, forged)) == INVALID


def test_a_wider_scope_in_a_valid_signature_is_not_believed(token: str) -> None:
    # The row says what was granted; the claim is for the app to read.
    wider = signed(token, scope="openid account.read")
    remember(wider)
    assert refusal(call(PLAN, wider)) == (403, "insufficient_scope")


def test_a_signature_without_a_row(token: str) -> None:
    assert refusal(call(ME, signed(token, jti="another"))) == INVALID


def test_an_id_token_and_a_refresh_token(app: RelyingParty) -> None:
    tokens = app.tokens()
    assert call(ME, tokens["access_token"]).status_code == 200
    for name in ("id_token", "refresh_token"):
        assert refusal(call(ME, tokens[name])) == INVALID, name
    assert refusal(call(ME, app.code())) == INVALID


def test_a_first_party_token(person: Account) -> None:
    own = make_client(first_party=True)
    assert refusal(call(ME, make_access_token(own, person))) == INVALID


def test_a_token_of_an_app_that_is_gone(token: str, spa: Client) -> None:
    spa.delete()
    assert refusal(call(ME, token)) == INVALID


def test_a_token_of_a_project_that_is_gone(token: str, spa: Client) -> None:
    Project.objects.get(pk=spa.project_id).delete()
    assert refusal(call(ME, token)) == INVALID


def test_a_token_of_an_ended_family(token: str) -> None:
    TokenFamily.objects.update(revoked_at=clock.now())
    assert refusal(call(ME, token)) == INVALID


def test_a_token_of_somebody_deactivated_or_deleted(token: str, person: Account) -> None:
    person.is_active = False
    person.save()
    assert refusal(call(ME, token)) == INVALID
    person.delete()
    assert refusal(call(ME, token)) == INVALID


def test_a_token_revoked_by_its_app(app: RelyingParty) -> None:
    tokens = app.tokens()
    app.post("/connect/revoke", {"token": tokens["refresh_token"], **app.credentials()})
    assert refusal(call(ME, tokens["access_token"])) == INVALID


def test_a_token_of_a_superseded_refresh_lives_to_its_end(app: RelyingParty, later: Callable[[float], None]) -> None:
    tokens = app.tokens()
    later(60)
    newer = app.refresh(tokens["refresh_token"]).json()
    assert call(ME, tokens["access_token"]).status_code == 200
    later(840)
    assert refusal(call(ME, tokens["access_token"])) == INVALID
    assert call(ME, newer["access_token"]).status_code == 200


def test_a_token_still_holds_after_its_key_was_retired(token: str) -> None:
    signing_keys.rotate(now=True)
    signing_keys.rotate(now=True)
    signing_keys.reload_keyring()
    assert signing_keys.signing_key().kid != header_of(token)["kid"]
    assert call(ME, token).status_code == 200


def test_scopes_that_were_withdrawn_are_gone(approved: Client, person: Account) -> None:
    token = make_access_token(approved, person, ["openid", "email", "account.read"])
    assert call(PLAN, token).status_code == 200
    Client.objects.filter(pk=approved.pk).update(approved_scopes="")
    assert refusal(call(PLAN, token)) == (403, "insufficient_scope")
    assert call(ME, token).status_code == 200


def test_each_project_has_its_own_id_of_a_person(person: Account) -> None:
    project = make_project()
    clients = [make_client(project), make_client(project, name="Second"), make_client()]
    tokens = [make_access_token(client, person) for client in clients]
    ids = [call(ME, token).json()["id"] for token in tokens]
    assert ids[0] == ids[1] != ids[2]
    assert ids == [claims_of(token)["sub"] for token in tokens]
