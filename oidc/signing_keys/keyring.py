"""Signing keys in use: a ring of parsed keys, kept in the process and renewed behind the requests.

Parsing a private key costs about 49 ms, so no request parses one, and discovery and JWKS ask no database. A
new key is published at least SIGNING_KEY_PUBLISH_AHEAD_SECONDS before it signs, so a ring that is a minute old
is never wrong.
"""

import logging
import threading
import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPublicKey
from django.conf import settings
from django.db import DatabaseError, connection
from jwcrypto.jwk import JWK

from devportal.lib import clock, encryption
from oidc.models import SigningKey

log = logging.getLogger(__name__)


class NoSigningKey(Exception):
    """There is no active signing key: the service is not ready, and never signs with a substitute."""


@dataclass(frozen=True)
class ParsedKey:
    """A parsed key. `private` signs, `public` checks; `public_jwk` is what JWKS publishes."""

    kid: str
    private: RSAPrivateKey
    public: RSAPublicKey
    public_jwk: dict[str, Any]


@dataclass(frozen=True)
class KeyRing:
    """All published keys, and the one that signs."""

    active: ParsedKey | None
    published: dict[str, ParsedKey]
    loaded_at: float  # of time.monotonic()


_lock = threading.Lock()
_ring: KeyRing | None = None


def signing_key() -> ParsedKey:
    """Return the key that signs. Raises NoSigningKey."""
    active = current_keyring().active
    if active is None:
        raise NoSigningKey
    return active


def published_key(kid: str) -> ParsedKey | None:
    """Return the published key with this id: next, active, or retired but still needed."""
    return current_keyring().published.get(kid)


def current_keyring() -> KeyRing:
    """Return the ring; a stale one is still returned while a thread of its own renews it."""
    ring = _ring
    if ring is None:
        return reload_keyring()
    if time.monotonic() - ring.loaded_at > settings.SIGNING_KEY_REFRESH_SECONDS and _lock.acquire(blocking=False):
        threading.Thread(target=_reload_and_release, daemon=True, name="signing-keys").start()
    return ring


def _reload_and_release() -> None:
    try:
        _load()
    except Exception:  # the ring in use stays good; the next request tries again
        log.exception("Signing keys could not be read again; the ones in use stay.")
    finally:
        connection.close()
        _lock.release()


def reload_keyring() -> KeyRing:
    """Read the keys now and return the new ring."""
    with _lock:
        return _load()


def preload_keyring() -> None:
    """Read the keys before the first request; without a database the first request tries again."""
    try:
        reload_keyring()
    except DatabaseError:
        log.warning("Signing keys can't be read yet: the database does not answer.")


def _load() -> KeyRing:
    global _ring
    parsed = _ring.published if _ring else {}
    published: dict[str, ParsedKey] = {}
    active: ParsedKey | None = None
    for row in SigningKey.objects.exclude(retired_at__lt=_unneeded_before()).order_by("created_at"):
        key = parsed.get(row.kid) or _parse(row)
        published[row.kid] = key
        if row.state == SigningKey.State.ACTIVE:
            active = key
    _ring = KeyRing(active=active, published=published, loaded_at=time.monotonic())
    return _ring


def _parse(row: SigningKey) -> ParsedKey:
    jwk = JWK.from_json(encryption.decrypt(row.private_encrypted))
    return ParsedKey(row.kid, jwk.get_op_key("sign"), jwk.get_op_key("verify"), row.public_jwk)


def _unneeded_before() -> datetime:
    """Return when a key must have been retired so that nothing it signed can still be valid."""
    longest = max(settings.ACCESS_TOKEN_SECONDS, settings.ID_TOKEN_SECONDS)
    # Twice: clocks apart, and rings that are a refresh behind.
    return clock.now() - timedelta(seconds=2 * longest + settings.SIGNING_KEY_PUBLISH_AHEAD_SECONDS)


def clear_keyring() -> None:
    """Drop the ring, so that the next use reads the keys anew."""
    global _ring
    _ring = None
