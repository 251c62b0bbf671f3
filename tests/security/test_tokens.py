"""Security rule 6: algorithm and key come from us, never from a token's header (RFC 8725).

Each forged token is given a row of its own, so that what refuses it is the check of the token itself.
"""

import base64
import hashlib
import hmac
import json
from collections.abc import Callable
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from django.conf import settings
from django.test import Client as Browser
from jwcrypto.jwk import JWK
from jwcrypto.jws import JWS

from devportal.lib import clock, encryption
from devportal.lib.credentials import digest
from oidc.models import AccessToken, SigningKey
from oidc.signing_keys import keyring, rotation
from tests.relying_party import FORM, RelyingParty, answer_of, claims_of, header_of

Changes = dict[str, Any]


def encoded(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def our_key() -> JWK:
    """Return the active key with its private part, read as the service reads it."""
    row = SigningKey.objects.get(state=SigningKey.State.ACTIVE)
    return JWK.from_json(encryption.decrypt(row.private_encrypted))


def sign(header: Changes, claims: Changes, key: JWK | None = None) -> str:
    """Return a token with our active key, unless another is given."""
    token = JWS(json.dumps(claims).encode())
    token.allowed_algs = ["RS256", "RS512", "PS256", "HS256", "ES256"]
    token.add_signature(key or our_key(), protected=json.dumps(header))
    serialized: str = token.serialize(compact=True)
    return serialized


@pytest.fixture
def genuine(app: RelyingParty) -> str:
    token: str = app.tokens()["access_token"]
    return token


def is_refused(app: RelyingParty, token: str) -> bool:
    """Present a token for which there is a row, everywhere; tell whether everybody refuses it."""
    AccessToken.objects.update(token_checksum=digest(token), expires=clock.from_now(900))
    statuses = [app.call(path, token).status_code for path in ("/connect/userinfo", "/v1/me")]
    assert len(set(statuses)) == 1
    return bool(statuses[0] == 401)


def without(claims: Changes, *names: str) -> Changes:
    return {name: value for name, value in claims.items() if name not in names}


def test_the_forger_here_makes_good_tokens_too(app: RelyingParty, genuine: str) -> None:
    assert not is_refused(app, sign(header_of(genuine), claims_of(genuine) | {"jti": "another"}))


# --- alg ---


@pytest.mark.parametrize("alg", ["none", "None", "NONE", "nOnE", "", None])
def test_unsigned_tokens(app: RelyingParty, genuine: str, alg: str | None) -> None:
    unsigned = f"{encoded(header_of(genuine) | {'alg': alg})}.{genuine.split('.')[1]}."
    assert is_refused(app, unsigned)
    assert is_refused(app, unsigned + genuine.split(".")[2])


def test_hmac_with_the_public_key(app: RelyingParty, genuine: str) -> None:
    ring_key = keyring.signing_key()
    public = ring_key.public
    secrets = [
        public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo),
        public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).strip(),
        public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo),
        json.dumps(ring_key.public_jwk).encode(),
        ring_key.public_jwk["n"].encode(),
        b"",
    ]
    for secret in secrets:
        for alg in ("HS256", "RS256"):
            signed = f"{encoded(header_of(genuine) | {'alg': alg})}.{genuine.split('.')[1]}"
            mac = hmac.new(secret, signed.encode(), hashlib.sha256).digest()
            assert is_refused(app, f"{signed}.{base64.urlsafe_b64encode(mac).rstrip(b'=').decode()}")


@pytest.mark.parametrize("alg", ["RS512", "PS256"])
def test_other_algorithms_with_our_own_key(app: RelyingParty, genuine: str, alg: str) -> None:
    ours = our_key().export(as_dict=True)
    key = JWK(**without(ours, "alg", "use"))
    assert is_refused(app, sign(header_of(genuine) | {"alg": alg}, claims_of(genuine), key))


# --- Keys named by the token ---


def test_a_key_that_the_token_brings_along(app: RelyingParty, genuine: str) -> None:
    theirs = JWK.generate(kty="RSA", size=2048, kid="theirs")
    public = theirs.export_public(as_dict=True)
    ours = header_of(genuine)
    for header in (
        ours,
        ours | {"kid": "theirs"},
        ours | {"jwk": public},
        ours | {"jku": "https://evil.example.com/jwks"},
        ours | {"x5u": "https://evil.example.com/cert"},
        ours | {"x5c": ["MIIB"]},
        ours | {"kid": "theirs", "jwk": public},
        without(ours, "kid") | {"jwk": public},
    ):
        assert is_refused(app, sign(header, claims_of(genuine), theirs)), header


@pytest.mark.parametrize(
    "more",
    [
        {"jwk": {}},
        {"jku": "https://evil.example.com/jwks"},
        {"x5u": "https://evil.example.com/"},
        {"x5t": "x"},
        {"cty": "JWT"},
        {"zip": "DEF"},
    ],
)
def test_headers_that_nobody_of_us_writes(app: RelyingParty, genuine: str, more: Changes) -> None:
    assert is_refused(app, sign(header_of(genuine) | more, claims_of(genuine)))


def signed_by_hand(header: Changes, genuine: str) -> str:
    """Return a token with our key's RS256 signature, whatever its header says."""
    signed = f"{encoded(header)}.{genuine.split('.')[1]}"
    signature = our_key().get_op_key("sign").sign(signed.encode(), PKCS1v15(), SHA256())
    return f"{signed}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"


def test_critical_headers(app: RelyingParty, genuine: str) -> None:
    for crit in (["exp"], [], ["x"], "exp"):
        assert is_refused(app, signed_by_hand(header_of(genuine) | {"crit": crit, "exp": 1}, genuine)), crit


def test_a_good_signature_under_the_name_of_another_algorithm(app: RelyingParty, genuine: str) -> None:
    assert not is_refused(app, signed_by_hand(header_of(genuine), genuine))
    for alg in ("RS512", "PS256", "HS256", "none", "rs256", "", None, ["RS256"]):
        assert is_refused(app, signed_by_hand(header_of(genuine) | {"alg": alg}, genuine)), alg


@pytest.mark.parametrize(
    "kid", ["unknown", "", None, 1, [], {}, "../../etc/passwd", "' OR 1=1 --", "x" * 5000, "\u0000"]
)
def test_unknown_and_odd_key_ids(app: RelyingParty, genuine: str, kid: Any) -> None:
    header = encoded(header_of(genuine) | {"kid": kid})
    assert is_refused(app, f"{header}.{genuine.split('.')[1]}.{genuine.split('.')[2]}")


def test_a_missing_key_id(app: RelyingParty, genuine: str) -> None:
    assert is_refused(app, sign(without(header_of(genuine), "kid"), claims_of(genuine)))


def test_a_published_key_signs_only_with_its_own_id(app: RelyingParty, genuine: str) -> None:
    rotation.rotate(now=True)
    keyring.reload_keyring()
    following = next(kid for kid in keyring.current_keyring().published if kid != keyring.signing_key().kid)
    assert is_refused(app, sign(header_of(genuine) | {"kid": following}, claims_of(genuine)))


# --- typ and claims ---


@pytest.mark.parametrize("typ", ["JWT", "jwt", "AT+JWT", "application/at+jwt", "at+jwt ", "", None])
def test_another_type_of_token(app: RelyingParty, genuine: str, typ: str | None) -> None:
    assert is_refused(app, sign(header_of(genuine) | {"typ": typ}, claims_of(genuine)))
    assert is_refused(app, sign(without(header_of(genuine), "typ"), claims_of(genuine)))


def test_an_id_token_is_no_access_token(app: RelyingParty) -> None:
    assert is_refused(app, app.tokens()["id_token"])


def test_an_access_token_is_no_hint(app: RelyingParty) -> None:
    token = app.tokens()["access_token"]
    assert answer_of(app.authorize(id_token_hint=token))["error"] == "invalid_request"


@pytest.mark.parametrize(
    "changes",
    [
        {"iss": "https://evil.example.com/"},
        {"iss": "http://localhost:8000"},
        {"iss": None},
        {"iss": ["http://localhost:8000/"]},
        {"aud": "https://other.example.com"},
        {"aud": "http://localhost:8000/"},
        {"aud": None},
        {"aud": []},
        {"exp": 0},
        {"exp": 1},
        {"exp": -1},
        {"exp": None},
        {"exp": "9999999999"},
        {"exp": True},
        {"exp": 9999999999.5},
        {"exp": [9999999999]},
    ],
)
def test_other_issuers_audiences_and_times(app: RelyingParty, genuine: str, changes: Changes) -> None:
    assert is_refused(app, sign(header_of(genuine), claims_of(genuine) | changes))


@pytest.mark.parametrize("name", ["iss", "aud", "exp"])
def test_a_missing_claim(app: RelyingParty, genuine: str, name: str) -> None:
    assert is_refused(app, sign(header_of(genuine), without(claims_of(genuine), name)))


def test_an_expired_token_with_a_row_that_says_otherwise(
    app: RelyingParty, genuine: str, later: Callable[[float], None]
) -> None:
    later(settings.ACCESS_TOKEN_SECONDS)
    AccessToken.objects.update(expires=clock.from_now(900))
    assert app.call("/v1/me", genuine).status_code == 401


def test_more_scope_in_the_token_than_in_its_row_is_worth_nothing(app: RelyingParty) -> None:
    token = app.tokens(scope="openid email")["access_token"]
    claims = claims_of(token) | {"scope": "openid email profile account.read"}
    forged = sign(header_of(token), claims)
    AccessToken.objects.update(token_checksum=digest(forged))
    for path in ("/connect/userinfo", "/v1/me"):
        assert "name" not in app.call(path, forged).json()


# --- Form ---


def test_tampered_and_cut_tokens(app: RelyingParty, genuine: str) -> None:
    head, body, signature = genuine.split(".")
    other_body = encoded(claims_of(genuine) | {"sub": "somebody else"})
    for token in (
        f"{head}.{other_body}.{signature}",
        f"{head}.{body}.{signature[:-4]}",
        f"{head}.{body}.",
        f"{head}.{body}",
        f"{head}..{signature}",
        f".{body}.{signature}",
        f"{genuine}.",
        f"{genuine}.{signature}",
        f"{head}.{body}.{signature}{signature}",
        f"{head}=.{body}.{signature}x",
    ):
        assert is_refused(app, token), token


def test_json_serialisation_and_encryption_are_not_read(app: RelyingParty, genuine: str) -> None:
    head, body, signature = genuine.split(".")
    assert is_refused(app, json.dumps({"protected": head, "payload": body, "signature": signature}).replace(" ", ""))
    assert is_refused(app, f"{head}.x.y.z.{signature}")


# --- Where it is sent, and what ends it ---


def test_a_token_in_the_query_or_body_is_not_read(app: RelyingParty, genuine: str) -> None:
    for path in ("/connect/userinfo", "/v1/me"):
        assert Browser().get(f"{path}?access_token={genuine}").status_code == 401
    assert Browser().post("/connect/userinfo", f"access_token={genuine}", content_type=FORM).status_code == 401
    generic = Browser().generic("GET", "/connect/userinfo", f"access_token={genuine}", content_type=FORM)
    assert generic.status_code == 401


@pytest.mark.parametrize("scheme", ["Token", "JWT", "Basic", "MAC", "DPoP", ""])
def test_only_bearer_is_read(app: RelyingParty, genuine: str, scheme: str) -> None:
    response = Browser().get("/v1/me", headers={"Authorization": f"{scheme} {genuine}".strip()})
    assert response.status_code == 401


def test_a_revoked_token_is_worth_nothing_however_well_signed(app: RelyingParty) -> None:
    tokens = app.tokens()
    app.post("/connect/revoke", {"token": tokens["refresh_token"]} | app.credentials())
    for path in ("/connect/userinfo", "/v1/me"):
        assert app.call(path, tokens["access_token"]).status_code == 401


def test_a_token_of_the_services_own_app_is_not_for_the_api(app: RelyingParty) -> None:
    app.client.first_party = True
    app.client.save()
    token = app.tokens()["access_token"]
    answer = app.call("/v1/me", token)
    assert (answer.status_code, answer.json()["error"]["code"]) == (401, "invalid_token")
