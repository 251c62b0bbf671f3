"""The key ring: the published signing keys, parsed and cached in the process.

Parsing a private key takes about 49 ms, so no request parses one, and discovery and JWKS need no database. A new key is
published at least SIGNING_KEY_PUBLISH_AHEAD_SECONDS before it signs, so a ring that is a minute old is still correct.

A key whose private part can't be decrypted (another KEY_ENCRYPTION_KEY, or a damaged row) signs nothing. It stays
published, because its public part is not encrypted: tokens that it signed can still be verified.
"""

import contextlib
import logging
import threading
import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from django.conf import settings
from django.db import DatabaseError, connection
from jwcrypto.jwk import JWK

from core import clock
from core.database import encryption
from core.serving.worker_start import at_worker_start
from oidc.models import SigningKey

log = logging.getLogger(__name__)


UNREADABLE = "Signing key %s (%s) can't be read: it was not encrypted with KEY_ENCRYPTION_KEY or one of its fallbacks."


class NoSigningKey(Exception):
    """There is no active signing key, or it can't be read. The service is not ready, and never signs with another."""


@dataclass(frozen=True)
class PublishedKey:
    """A published key. `public` verifies signatures, `public_jwk` is its entry in the JWKS."""

    kid: str
    public: JWK
    public_jwk: dict[str, Any]


@dataclass(frozen=True)
class ParsedKey(PublishedKey):
    """A published key whose private part can be read. `private` signs."""

    private: RSAPrivateKey


@dataclass(frozen=True)
class KeyRing:
    """All published keys, and the one that signs."""

    active: ParsedKey | None
    published: dict[str, PublishedKey]
    loaded_at: float  # of time.monotonic()
    unreadable: tuple[tuple[str, str], ...] = ()  # kid and state


# How long a request waits if another thread is loading the first ring. Then it fails, so that requests never pile up.
FIRST_LOAD_SECONDS = 0.1
RETRY_SECONDS = 1.0

_lock = threading.Lock()
_ring: KeyRing | None = None
_renewal_failed_at = float("-inf")  # of time.monotonic()


def signing_key() -> ParsedKey:
    """Return the key that signs. Raises NoSigningKey."""
    ring = current_keyring()
    if ring.active is None:
        unreadable = [UNREADABLE % key for key in ring.unreadable if key[1] == SigningKey.State.ACTIVE]
        raise NoSigningKey(unreadable[0] if unreadable else "No signing key is active.")
    return ring.active


def published_key(kid: str) -> PublishedKey | None:
    """Return the published key with this id: next, active, or retired but still needed."""
    return current_keyring().published.get(kid)


def current_keyring() -> KeyRing:
    """Return the ring. A stale one is returned while a background thread reloads it.

    Raises NoSigningKey if another thread is loading the first one, DatabaseError if it can't be loaded.
    """
    ring = _ring
    if ring is None:
        return _first_keyring()
    now = time.monotonic()
    is_stale = now - ring.loaded_at > settings.SIGNING_KEY_REFRESH_SECONDS
    if is_stale and now - _renewal_failed_at > RETRY_SECONDS and _lock.acquire(blocking=False):
        threading.Thread(target=_reload_and_release, daemon=True, name="signing-keys").start()
    return ring


def _first_keyring() -> KeyRing:
    if not _lock.acquire(timeout=FIRST_LOAD_SECONDS):
        raise NoSigningKey
    try:
        return _ring or _load()
    finally:
        _lock.release()


def _reload_and_release() -> None:
    global _renewal_failed_at
    try:
        _load()
    except Exception:  # the current ring stays valid; a request after RETRY_SECONDS tries again
        _renewal_failed_at = time.monotonic()
        log.exception("Signing keys could not be reloaded. The current ones stay in use.")
    finally:
        connection.close()
        _lock.release()


def reload_keyring() -> KeyRing:
    """Load the keys from the database now and return the new ring."""
    with _lock:
        return _load()


@at_worker_start
def preload_keyring() -> None:
    """Load the keys before the first request; if the database is down, a thread tries again each second.

    Parsing a private key takes longer than answering a request.
    """
    try:
        reload_keyring()
    except DatabaseError:
        log.warning("Signing keys can't be read yet: the database does not respond.")
        threading.Thread(target=_load_until_there, daemon=True, name="signing-keys").start()


def _load_until_there() -> None:
    while _ring is None:
        time.sleep(RETRY_SECONDS)
        with contextlib.suppress(DatabaseError, NoSigningKey):
            current_keyring()
    connection.close()


def _load() -> KeyRing:
    global _ring
    parsed = {kid: key for kid, key in _ring.published.items() if isinstance(key, ParsedKey)} if _ring else {}
    published: dict[str, PublishedKey] = {}
    active: ParsedKey | None = None
    unreadable: list[tuple[str, str]] = []
    rows = SigningKey.objects.filter(withdrawn_at=None).exclude(retired_at__lt=_unneeded_before())
    for row in rows.order_by("created_at"):
        published[row.kid] = key = parsed.get(row.kid) or _parse(row)
        if not isinstance(key, ParsedKey):
            unreadable.append((row.kid, row.state))
        elif row.state == SigningKey.State.ACTIVE:
            active = key
    for kid, state in unreadable:
        log.error(UNREADABLE, kid, state)
    _ring = KeyRing(active, published, time.monotonic(), tuple(unreadable))
    return _ring


def _parse(row: SigningKey) -> PublishedKey:
    try:
        private = JWK.from_json(encryption.decrypt(row.private_encrypted)).get_op_key("sign")
    except encryption.Unreadable:
        return PublishedKey(row.kid, JWK(**row.public_jwk), row.public_jwk)
    return ParsedKey(row.kid, JWK(**row.public_jwk), row.public_jwk, private)


def _unneeded_before() -> datetime:
    """Return the time before which a key must have been retired so that all its tokens have expired."""
    longest = max(settings.ACCESS_TOKEN_SECONDS, settings.ID_TOKEN_SECONDS)
    # Twice the token lifetime and the publishing lead time leave room for clock skew and for outdated rings.
    return clock.now() - timedelta(seconds=2 * longest + settings.SIGNING_KEY_PUBLISH_AHEAD_SECONDS)


def clear_keyring() -> None:
    """Drop the cached ring, so that the next use loads it again."""
    global _ring
    _ring = None
