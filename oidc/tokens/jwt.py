"""Signed tokens: RS256 only (RFC 7515), with a cache of recently verified signatures.

The library parses tokens and keys and verifies signatures. This module decides which header, key and claims are
accepted.
"""

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
from oidc.tokens import signing_keys
from oidc.values.reasons import Reason

MOST_TOKENS = 10_000  # in the cache, each below 1 KB


class SignedBy(NamedTuple):
    """The key that signed a token."""

    kid: str
    key: JWK


class SignedClaims(NamedTuple):
    """The signed claims of an access token. They may have any type."""

    by: SignedBy
    issuer: Any
    audience: Any
    expires: Any
    issued: Any = None
    acr: Any = None  # None if the token has none, like `auth_time`
    auth_time: Any = None


class SignatureCache:
    """A cache of the tokens that were verified last. It is thread-safe and holds at most MOST_TOKENS."""

    def __init__(self) -> None:
        self._tokens: OrderedDict[str, SignedClaims] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._tokens)

    def find(self, checksum: str) -> SignedClaims | None:
        """Return the claims of the token with this SHA-256, None if it is not in the cache."""
        return self._tokens.get(checksum)

    def add(self, checksum: str, claims: SignedClaims) -> None:
        """Add a token. If there are more than MOST_TOKENS, the oldest one is dropped."""
        with self._lock:
            self._tokens[checksum] = claims
            if len(self._tokens) > MOST_TOKENS:
                self._tokens.popitem(last=False)

    def clear(self) -> None:
        """Drop all tokens."""
        with self._lock:
            self._tokens.clear()


ACCESS_TOKEN_TYP = "at+jwt"  # RFC 9068 §2.1
ID_TOKEN_TYP = "JWT"
MAX_TOKEN_LENGTH = 16_384


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")  # RFC 8259 §6; Python's parser accepts it


_JSON = json.JSONDecoder(parse_constant=_refuse_constant)
_COMPACT_JSON = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False)
verified_lately = SignatureCache()


def sign(claims: dict[str, Any], typ: str) -> str:
    """Return `claims` as an RS256 JWT signed with the active key. Raises signing_keys.NoSigningKey.

    The library's `JWS` is not used, because it parses and checks our own header again for each token, which makes a
    refresh more than 5 % slower (docs/library.md#signed-tokens). A test compares the results.
    """
    key = signing_keys.signing_key()
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

    The service chooses algorithm and key (RFC 8725 §3.1): the header may only name a published key. `typ` has to be
    the expected one (§3.11). The claims are read only after the signature was verified.
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
    # The same bytes have several base64 encodings, and a JWS can also be serialized as JSON.
    if parsed.serialize(compact=True) != token:
        raise InvalidToken("not in its canonical form")
    claims = _claims(parsed.payload)
    if claims.get("iss") != settings.ISSUER:
        raise InvalidToken("wrong issuer")
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
    # For a header that is not a JSON object, the library lets Python's own exceptions through.
    except (JWException, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise InvalidToken("not a JWT") from error


def _key_for(header: Any, typ: str, find_key: Callable[[str], JWK | None]) -> SignedBy:
    """Return the key that a header names. Raises InvalidToken unless it is a header of this type that we sign."""
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
        raise InvalidToken("unreadable claims") from error
    if not isinstance(claims, dict):
        raise InvalidToken("claims are not an object")
    return claims


def verify_access_token(token: str) -> tuple[str, SignedClaims]:
    """Verify an access token's signature, `typ`, `iss` and `exp`; return its SHA-256 and its claims.

    The SHA-256 identifies the token in the cache, and its row in the database. Raises InvalidToken. The caller checks
    which API the token is for (oidc/tokens/access_tokens.py).
    """
    checksum = digest(token)
    known = verified_lately.find(checksum)
    if known is None or known.by.key is not _published(known.by.kid):
        by, claims = _verify(token, ACCESS_TOKEN_TYP, _published)
        known = SignedClaims(by, *map(claims.get, ("iss", "aud", "exp", "iat", "acr", "auth_time")))
        verified_lately.add(checksum, known)
    if known.issuer != settings.ISSUER:
        raise InvalidToken("wrong issuer")
    if not isinstance(known.expires, int) or isinstance(known.expires, bool) or known.expires <= clock.timestamp():
        raise InvalidToken("expired", Reason.ACCESS_TOKEN_EXPIRED)
    return checksum, known


def verify_id_token_hint(token: str) -> dict[str, Any]:
    """Verify an id_token_hint and return its claims. It may be expired, or signed by a key that is retired.

    Raises InvalidToken, also if the key was withdrawn: then anyone may have signed the hint.
    """
    return verify(token, ID_TOKEN_TYP, _unwithdrawn)


def is_signed(token: str, typ: str) -> bool:
    """Return whether a token has this `typ` and is signed with a published key, as apps check it."""
    try:
        verify(token, typ, _published)
    except InvalidToken:
        return False
    return True


def audience_of_id_token(token: str) -> str:
    """Return the client id of an ID token that is signed with a published key, expired or not. Raises InvalidToken."""
    return str(verify(token, ID_TOKEN_TYP, _published).get("aud"))


def _published(kid: str) -> JWK | None:
    key = signing_keys.published_key(kid)
    return key.public if key else None


def _unwithdrawn(kid: str) -> JWK | None:
    if published := _published(kid):
        return published
    rows = SigningKey.objects.filter(kid=kid, withdrawn_at=None)
    row = rows.first() if kid.isascii() and "\x00" not in kid else None
    return JWK(**row.public_jwk) if row else None
