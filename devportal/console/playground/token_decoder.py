"""Decoded tokens: each claim with its value and meaning, and the checks of an ID token."""

import base64
import hashlib
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.conf import settings

from core import clock
from devportal.docs import context as meanings
from devportal.docs.events import CLAIMS as EVENT_CLAIMS
from oidc.errors import InvalidToken
from oidc.tokens import jwt

TIMES = frozenset({"exp", "iat", "auth_time", "toe"})


@dataclass(frozen=True)
class DecodedClaim:
    """One claim: its value as JSON, its meaning, and its date if it is a time."""

    name: str
    value: str
    meaning: str
    at: datetime | None


@dataclass(frozen=True)
class TokenCheck:
    """One check of a token, and whether it passes."""

    what: str
    holds: bool


@dataclass(frozen=True)
class DecodedToken:
    """A token, its header and its claims."""

    name: str
    token: str
    header: str
    claims: list[DecodedClaim]
    checks: list[TokenCheck]


def part_of(token: str, number: int) -> dict[str, Any]:
    """Decode a part of a JWT, without verifying it."""
    text = token.split(".")[number]
    part: dict[str, Any] = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    return part


def audience_of(access_token: str) -> str:
    """Return `aud`, the identifier of the API that an access token is for."""
    return str(part_of(access_token, 1)["aud"])


def _claims(token: str, known: dict[str, str]) -> list[DecodedClaim]:
    return [
        DecodedClaim(
            name,
            json.dumps(value, ensure_ascii=False),
            known.get(name, ""),
            _time_of(value) if name in TIMES else None,
        )
        for name, value in part_of(token, 1).items()
    ]


def _time_of(value: Any) -> datetime | None:
    """Return the time of a claim, None if it is not one."""
    try:
        return datetime.fromtimestamp(value, UTC)
    except (TypeError, ValueError, OverflowError, OSError):
        return None


def _is_signed_by_us(token: str) -> bool:
    try:
        jwt.verify_id_token_hint(token)
    except InvalidToken:
        return False
    return True


def decode_id_token(
    token: str, client_id: str, nonce: str, access_token: str, *, max_age: int | None = None
) -> DecodedToken:
    """Decode an ID token and validate it as an app does (OpenID Connect Core 3.1.3.7).

    `nonce` is "" and `max_age` None (else in seconds) if the request had none.
    """
    said = part_of(token, 1)
    half = hashlib.sha256(access_token.encode()).digest()[:16]
    kid = part_of(token, 0).get("kid")
    checks = [
        TokenCheck(f"It is signed with RS256, by the key {kid} of the signing keys.", _is_signed_by_us(token)),
        TokenCheck(f"iss is the issuer, {settings.ISSUER}", said.get("iss") == settings.ISSUER),
        TokenCheck("aud is the client id.", said.get("aud") == client_id),
        TokenCheck("exp is in the future.", said.get("exp", 0) > clock.timestamp()),
        *([TokenCheck("nonce is that of the request.", said.get("nonce") == nonce)] if nonce else []),
        *([TokenCheck("auth_time is within max_age.", _is_recent(said, max_age))] if max_age is not None else []),
        TokenCheck(
            "at_hash matches the access token.",
            said.get("at_hash") == base64.urlsafe_b64encode(half).rstrip(b"=").decode(),
        ),
    ]
    return _explained("ID token", token, meanings.ID_TOKEN, checks)


def _is_recent(said: dict[str, Any], max_age: int) -> bool:
    # A code lives that long, and the sign-in may have been just before it was issued.
    return bool(said.get("iat", 0) - said.get("auth_time", 0) <= max_age + settings.AUTHORIZATION_CODE_SECONDS)


def decode_access_token(token: str) -> DecodedToken:
    """Decode an access token. Apps do not validate it; the API does."""
    return _explained("Access token", token, meanings.ACCESS_TOKEN, [])


def decode_event_token(name: str, token: str, checks: list[TokenCheck]) -> DecodedToken:
    """Decode a logout token or security event token, whose checks were made when it arrived."""
    return _explained(name, token, EVENT_CLAIMS, checks)


def _explained(name: str, token: str, known: dict[str, str], checks: list[TokenCheck]) -> DecodedToken:
    header = json.dumps(part_of(token, 0), indent=2)
    return DecodedToken(name, token, header, _claims(token, known), checks)
