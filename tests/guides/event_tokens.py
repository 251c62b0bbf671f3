"""Security event tokens, genuine and forged, and which of them the receiver of a guide accepts."""

import base64
import json
import time
from typing import Any

import httpx
from jwcrypto.jwk import JWK
from jwcrypto.jws import JWS

from core.credentials import random_text
from tests.relying_party import header_of
from tests.services.service import Service

EVENT, LOGOUT = "secevent+jwt", "logout+jwt"
TOKENS_REVOKED = "https://schemas.openid.net/secevent/oauth/event-type/tokens-revoked"
LOGOUT_EVENT = "http://schemas.openid.net/event/backchannel-logout"
MINUTES = 60


def event_claims(service: Service, client_id: str, sub: str, **changes: Any) -> dict[str, Any]:
    """Return the claims of an event that tells a client that a person removed it."""
    return {
        "iss": service.issuer,
        "aud": client_id,
        "iat": int(time.time()),
        "jti": random_text(22),
        "toe": int(time.time()),
        "sub_id": {"format": "iss_sub", "iss": service.issuer, "sub": sub},
        "events": {TOKENS_REVOKED: {}},
    } | changes


def forged(service: Service, client_id: str, sub: str, id_token: str = "") -> dict[str, str]:
    """Return tokens that a receiver has to reject, by what is wrong with them."""
    claims = event_claims(service, client_id, sub)
    ended = {"events": {LOGOUT_EVENT: {}}, "sub": sub, "exp": claims["iat"] + 120}
    signed = {
        "another app's": (EVENT, claims | {"aud": f"{client_id}2"}),
        "another issuer's": (EVENT, claims | {"iss": service.issuer.rstrip("/")}),
        "old": (EVENT, claims | {"iat": claims["iat"] - 10 * MINUTES}),
        "early": (EVENT, claims | {"iat": claims["iat"] + 10 * MINUTES}),
        "a logout token": (LOGOUT, claims | ended),
        "of another type": ("JWT", claims),
        "an access token": ("at+jwt", claims),
    }
    genuine, *rest = service.sign((EVENT, claims), *signed.values())
    tokens = dict(zip(signed, rest, strict=True))
    header, payload, signature = genuine.split(".")
    kid = header_of(genuine)["kid"]
    tokens |= {
        "unsigned": f"{_part({'typ': EVENT, 'alg': 'none'})}.{payload}.",
        "altered": f"{header}.{_part(claims | {'sub_id': {'format': 'iss_sub', 'sub': 'x'}})}.{signature}",
        "signed with another key": _sign(claims, JWK.generate(kty="RSA", size=2048), "RS256", kid),
        "signed with the public key": _sign(claims, _public_key_as_secret(service, kid), "HS256", kid),
        "empty": "",
        "not a token": "x",
        "huge": genuine + "A" * 1_000_000,
    }
    return tokens | ({"an ID token": id_token} if id_token else {})


def send(url: str, token: str, content_type: str = "application/secevent+jwt") -> httpx.Response:
    """Send a token as the service does (RFC 8935 §2)."""
    return httpx.post(url, content=token, headers={"Content-Type": content_type}, timeout=20)


def check_forged(url: str, tokens: dict[str, str]) -> None:
    """Send tokens that the receiver has to reject as RFC 8935 §2.4 says."""
    for name, token in tokens.items():
        answer = send(url, token)
        assert answer.status_code == 400, (name, answer.status_code, answer.text[:2000])
        assert set(answer.json()) == {"err", "description"}, name


def _sign(claims: dict[str, Any], key: JWK, alg: str, kid: str) -> str:
    jws = JWS(json.dumps(claims))
    jws.add_signature(key, alg, json.dumps({"typ": EVENT, "alg": alg, "kid": kid}))
    token: str = jws.serialize(compact=True)
    return token


def _public_key_as_secret(service: Service, kid: str) -> JWK:
    found = httpx.get(service.discovery()["jwks_uri"]).json()["keys"]
    public = JWK(**next(key for key in found if key["kid"] == kid)).export_to_pem()
    return JWK(kty="oct", k=_base64url(public))


def _part(content: dict[str, Any]) -> str:
    return _base64url(json.dumps(content).encode())


def _base64url(octets: bytes) -> str:
    return base64.urlsafe_b64encode(octets).rstrip(b"=").decode()
