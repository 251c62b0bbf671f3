"""Signed tokens: RS256 only (RFC 7515), with a cache of signatures that were verified recently."""

import base64
import functools
import json
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA256
from django.conf import settings
from jwcrypto.common import JWException
from jwcrypto.jwk import JWK
from jwcrypto.jws import JWS

from core import clock
from core.credentials import digest
from oidc.errors import InvalidToken
from oidc.models import SigningKey
from oidc.reasons import Reason
from oidc.signing_keys import keyring

# Under 1 KB each.
MOST_TOKENS = 10_000


class SignedBy(NamedTuple):
    """The key that signed a token."""

    kid: str
    key: JWK


class SignedClaims(NamedTuple):
    """Claims of a token as they were signed; of any type, as a published key signs what this service makes."""

    by: SignedBy
    issuer: Any
    audience: Any
    expires: Any


class SignatureCache:
    """The tokens that were verified last. Thread-safe, and bounded by MOST_TOKENS."""

    def __init__(self) -> None:
        self._tokens: OrderedDict[str, SignedClaims] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._tokens)

    def find(self, checksum: str) -> SignedClaims | None:
        """Return what the token with this SHA-256 says, None for one that was not verified lately."""
        return self._tokens.get(checksum)

    def add(self, checksum: str, claims: SignedClaims) -> None:
        """Remember a token; beyond MOST_TOKENS the one that was added first goes."""
        with self._lock:
            self._tokens[checksum] = claims
            if len(self._tokens) > MOST_TOKENS:
                self._tokens.popitem(last=False)

    def clear(self) -> None:
        """Forget all tokens."""
        with self._lock:
            self._tokens.clear()


# The library parses tokens and keys and checks signatures. This module decides which header, key and claims are
# accepted.

ACCESS_TOKEN_TYP = "at+jwt"  # RFC 9068 §2.1
ID_TOKEN_TYP = "JWT"
MAX_TOKEN_LENGTH = 16_384


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")  # RFC 8259 §6; Python's reader would take it


_JSON = json.JSONDecoder(parse_constant=_refuse_constant)
_COMPACT_JSON = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False)
verified_lately = SignatureCache()


def sign(claims: dict[str, Any], typ: str) -> str:
    """Return `claims` as an RS256 JWT of the active key. Raises keyring.NoSigningKey.

    The library's `JWS` would parse and check the service's own header again for each token, which costs a refresh more
    than 5 % (docs/library.md#signed-tokens). A test compares the two.
    """
    key = keyring.signing_key()
    signed = _header_segment(key.kid, typ) + _base64url(_COMPACT_JSON.encode(claims).encode())
    signature = key.private.sign(signed, PKCS1v15(), SHA256())
    return f"{signed.decode()}.{_base64url(signature).decode()}"


@functools.lru_cache(maxsize=32)
def _header_segment(kid: str, typ: str) -> bytes:
    return _base64url(_COMPACT_JSON.encode({"typ": typ, "alg": "RS256", "kid": kid}).encode()) + b"."


def _base64url(octets: bytes) -> bytes:
    return base64.urlsafe_b64encode(octets).rstrip(b"=")  # RFC 7515 §2: without padding


def verify(token: str, typ: str, find_key: Callable[[str], JWK | None]) -> dict[str, Any]:
    """Return the claims of a token that this service signed. Raises InvalidToken.

    Algorithm and key come from us (RFC 8725 §3.1): the header may name a published key and nothing else. Its type has
    to be the expected one (§3.11). The claims are looked at only once the signature is known to be ours.
    """
    _, claims = _verify(token, typ, find_key)
    return claims


def _verify(token: str, typ: str, find_key: Callable[[str], JWK | None]) -> tuple[SignedBy, dict[str, Any]]:
    parsed, header = _parse(token)
    by = _key_for(header, typ, find_key)
    try:
        parsed.verify(by.key, alg="RS256")
    except JWException as error:
        raise InvalidToken("wrong signature") from error
    # Base64 has other spellings of the same bytes, and JSON is another form of a JWS.
    if parsed.serialize(compact=True) != token:
        raise InvalidToken("not in its canonical form")
    claims = _claims(parsed.payload)
    if claims.get("iss") != settings.ISSUER:
        raise InvalidToken("another issuer's")
    return by, claims


def _parse(token: str) -> tuple[JWS, Any]:
    """Return a token and its header. Raises InvalidToken."""
    if len(token) > MAX_TOKEN_LENGTH:
        raise InvalidToken("too long")
    parsed = JWS()
    parsed.allowed_algs = ["RS256"]
    try:
        parsed.deserialize(token)
        return parsed, parsed.jose_header
    # For a header that is no JSON object, the library raises what Python does.
    except (JWException, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise InvalidToken("not a JWT") from error


def _key_for(header: Any, typ: str, find_key: Callable[[str], JWK | None]) -> SignedBy:
    """Return the key that a header names, if it is one of our headers of that type. Raises InvalidToken."""
    if not isinstance(header, dict) or set(header) != {"alg", "kid", "typ"}:
        raise InvalidToken("not one of our headers")
    if header["alg"] != "RS256" or header["typ"] != typ:
        raise InvalidToken(f"not one of our {typ} headers")
    kid = header["kid"]
    key = find_key(kid) if isinstance(kid, str) else None
    if key is None:
        raise InvalidToken("unknown kid")
    return SignedBy(kid, key)


def _claims(payload: bytes) -> dict[str, Any]:
    try:
        claims = _JSON.decode(payload.decode())
    except (ValueError, RecursionError) as error:
        raise InvalidToken("claims that can't be read") from error
    if not isinstance(claims, dict):
        raise InvalidToken("claims that are no object")
    return claims


def verify_access_token(token: str) -> str:
    """Verify an access token's signature, `typ`, `iss`, `aud` and `exp`; return its SHA-256. Raises InvalidToken.

    By that a token which was verified lately is known again, as well as its row.
    """
    checksum = digest(token)
    known = verified_lately.find(checksum)
    if known is None or known.by.key is not _published(known.by.kid):
        by, claims = _verify(token, ACCESS_TOKEN_TYP, _published)
        known = SignedClaims(by, claims["iss"], claims.get("aud"), claims.get("exp"))
        verified_lately.add(checksum, known)
    if known.issuer != settings.ISSUER:
        raise InvalidToken("another issuer's")
    if known.audience != settings.BASE_URL:
        raise InvalidToken("for another audience")
    if not isinstance(known.expires, int) or isinstance(known.expires, bool) or known.expires <= clock.timestamp():
        raise InvalidToken("expired", Reason.ACCESS_TOKEN_EXPIRED)
    return checksum


def verify_id_token_hint(token: str) -> dict[str, Any]:
    """Verify an id_token_hint and return its claims; it may be expired, or signed by a retired key.

    Raises InvalidToken.
    """
    return verify(token, ID_TOKEN_TYP, _any_key)


def _published(kid: str) -> JWK | None:
    key = keyring.published_key(kid)
    return key.public if key else None


@functools.lru_cache(maxsize=32)
def _any_key(kid: str) -> JWK | None:
    if published := _published(kid):
        return published
    row = SigningKey.objects.filter(kid=kid).first() if kid.isascii() and "\x00" not in kid else None
    return JWK(**row.public_jwk) if row else None
