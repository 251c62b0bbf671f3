"""The access token: an RS256 JWT as RFC 9068 has it, and nothing personal in it."""

import json
from collections.abc import Callable

import pytest
from jwcrypto.jwk import JWK
from jwcrypto.jws import JWS

from accounts.models import Account
from oidc.models import AccessToken
from oidc.tokens import jwt, signing_keys
from tests.relying_party import RelyingParty, claims_of, header_of


def test_an_access_token_has_exactly_these_claims(app: RelyingParty) -> None:
    tokens = app.tokens()
    claims = claims_of(tokens["access_token"])
    assert set(claims) == {"iss", "sub", "aud", "client_id", "scope", "iat", "exp", "jti"}
    assert claims["iss"] == "http://localhost:8000/"
    assert claims["aud"] == "http://localhost:8000"
    assert claims["client_id"] == app.client.client_id
    assert claims["scope"] == tokens["scope"]
    assert claims["exp"] - claims["iat"] == 900 == tokens["expires_in"]
    assert claims["sub"] == claims_of(tokens["id_token"])["sub"]


def test_the_header_has_the_type_at_jwt(app: RelyingParty) -> None:
    header = header_of(app.tokens()["access_token"])
    assert header == {"typ": "at+jwt", "alg": "RS256", "kid": signing_keys.signing_key().kid}


@pytest.mark.django_db
def test_it_is_written_as_the_library_writes_it() -> None:
    claims = {"sub": "é€", "iat": 1, "list": [True, None, "a/b"]}
    key = signing_keys.signing_key()
    payload = json.dumps(claims, separators=(",", ":"), ensure_ascii=False)
    for typ in (jwt.ACCESS_TOKEN_TYP, jwt.ID_TOKEN_TYP):
        header = {"typ": typ, "alg": "RS256", "kid": key.kid}
        token = JWS(payload)
        token.add_signature(JWK.from_pyca(key.private), protected=json.dumps(header, separators=(",", ":")))
        assert jwt.sign(claims, typ) == token.serialize(compact=True)  # RS256 is deterministic


def test_nothing_in_it_is_personal(app: RelyingParty, person: Account) -> None:
    person.given_name, person.family_name = "Ada Maria", "de Lovelace"  # no random id contains a space
    person.save()
    text = str(claims_of(app.tokens()["access_token"]))
    for word in (person.email, person.given_name, person.family_name):
        assert word not in text


def test_each_access_token_has_a_unique_id(app: RelyingParty) -> None:
    ids = {claims_of(app.tokens()["access_token"])["jti"] for _ in range(4)}
    assert len(ids) == 4


def test_it_is_refused_once_it_has_expired(app: RelyingParty, later: Callable[[float], None]) -> None:
    token = app.tokens()["access_token"]
    later(880)
    assert app.call("/connect/userinfo", token).status_code == 200
    assert app.call("/v1/me", token).status_code == 200
    later(20)
    assert app.call("/connect/userinfo", token).status_code == 401
    assert app.call("/v1/me", token).status_code == 401


def test_a_valid_signature_without_a_row_is_worth_nothing(app: RelyingParty) -> None:
    token = app.tokens()["access_token"]
    AccessToken.objects.all().delete()
    assert app.call("/connect/userinfo", token).status_code == 401
    assert app.call("/v1/me", token).status_code == 401


def test_refresh_tokens_are_opaque(app: RelyingParty) -> None:
    assert "." not in app.tokens()["refresh_token"]
