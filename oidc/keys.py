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
from django.db import DatabaseError, IntegrityError, connection, transaction
from jwcrypto.jwk import JWK

from devportal.lib import clock, encryption
from devportal.lib.audit import Event, report
from oidc.models import SigningKey

log = logging.getLogger(__name__)


class NoSigningKey(Exception):
    """There is no active signing key: the service is not ready, and never signs with a substitute."""


@dataclass(frozen=True)
class Key:
    """A parsed key. `private` signs, `public` checks; `public_jwk` is what JWKS publishes."""

    kid: str
    private: RSAPrivateKey
    public: RSAPublicKey
    public_jwk: dict[str, Any]


@dataclass(frozen=True)
class Ring:
    """All published keys, and the one that signs."""

    active: Key | None
    published: dict[str, Key]
    loaded_at: float  # of time.monotonic()


_lock = threading.Lock()
_ring: Ring | None = None


def signing_key() -> Key:
    """Return the key that signs. Raises NoSigningKey."""
    active = current_ring().active
    if active is None:
        raise NoSigningKey
    return active


def published_key(kid: str) -> Key | None:
    """Return the published key with this id: next, active, or retired but still needed."""
    return current_ring().published.get(kid)


def current_ring() -> Ring:
    """Return the ring; a stale one is still returned while a thread of its own renews it."""
    ring = _ring
    if ring is None:
        return reload()
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


def reload() -> Ring:
    """Read the keys now and return the new ring."""
    with _lock:
        return _load()


def load_at_start() -> None:
    """Read the keys before the first request; without a database the first request tries again."""
    try:
        reload()
    except DatabaseError:
        log.warning("Signing keys can't be read yet: the database does not answer.")


def _load() -> Ring:
    global _ring
    parsed = _ring.published if _ring else {}
    published: dict[str, Key] = {}
    active: Key | None = None
    for row in SigningKey.objects.exclude(retired_at__lt=_unneeded_before()).order_by("created_at"):
        key = parsed.get(row.kid) or _parse(row)
        published[row.kid] = key
        if row.state == SigningKey.State.ACTIVE:
            active = key
    _ring = Ring(active=active, published=published, loaded_at=time.monotonic())
    return _ring


def _parse(row: SigningKey) -> Key:
    jwk = JWK.from_json(encryption.decrypt(row.private_encrypted))
    return Key(row.kid, jwk.get_op_key("sign"), jwk.get_op_key("verify"), row.public_jwk)


def _unneeded_before() -> datetime:
    """Return when a key must have been retired so that nothing it signed can still be valid."""
    longest = max(settings.ACCESS_TOKEN_SECONDS, settings.ID_TOKEN_SECONDS)
    # Twice: clocks apart, and rings that are a refresh behind.
    return clock.now() - timedelta(seconds=2 * longest + settings.SIGNING_KEY_PUBLISH_AHEAD_SECONDS)


def _create(state: SigningKey.State) -> SigningKey:
    private = JWK.generate(kty="RSA", size=2048)
    kid = private.thumbprint()
    public_jwk = {"use": "sig", "alg": "RS256", "kid": kid} | private.export_public(as_dict=True)
    now = clock.now()
    return SigningKey.objects.create(
        kid=kid,
        private_encrypted=encryption.encrypt(private.export_private()),
        public_jwk=public_jwk,
        state=state,
        created_at=now,
        activated_at=now if state == SigningKey.State.ACTIVE else None,
    )


def make_first_key(**kwargs: Any) -> None:
    """Make the key that signs from the first migration on (receiver of post_migrate)."""
    if not SigningKey.objects.exists():
        try:
            with transaction.atomic():
                _create(SigningKey.State.ACTIVE)
        except IntegrityError:
            log.info("Another process made the first signing key.")
        forget()


def forget() -> None:
    """Drop the ring, so that the next use reads the keys anew."""
    global _ring
    _ring = None


@transaction.atomic
def rotate(*, now: bool = False) -> str:
    """Take the next step of rotation that is due, and return what was done, as one word.

    `published`: a next key was made. `activated`: the next key signs, the old one is retired. `waiting`: nothing
    is due. With `now`, a published next key signs at once, however young (after a leak), and a missing one is
    published. Safe to run twice at once: the row locks and the unique constraints let one through.
    """
    active, following = _locked()
    ahead = timedelta(seconds=settings.SIGNING_KEY_PUBLISH_AHEAD_SECONDS)
    moment = clock.now()
    if following is not None:
        due = active is None or active.activated_at is None or moment >= _expiry(active)
        if now or (due and following.created_at + ahead <= moment):
            _activate(following, active)
            return "activated"
        return "waiting"
    if now or active is None or active.activated_at is None or moment >= _expiry(active) - 2 * ahead:
        _publish()
        return "published"
    return "waiting"


@transaction.atomic
def publish_next(actor: int) -> bool:
    """Publish a next key, because somebody says so; False if there is one. It never goes on to let it sign."""
    _, following = _locked()
    if following is None:
        _publish(actor)
    return following is None


@transaction.atomic
def activate_next(actor: int) -> bool:
    """Let the next key sign, however young it is, because somebody says so; False if there is none."""
    active, following = _locked()
    if following is not None:
        _activate(following, active, actor)
    return following is not None


def _locked() -> tuple[SigningKey | None, SigningKey | None]:
    """Return the active and the next key; keys rotate one at a time."""
    # The lock first: what another rotation did meanwhile is seen only by a statement that begins after it.
    list(SigningKey.objects.select_for_update(no_key=True).filter(state=SigningKey.State.ACTIVE))
    active = SigningKey.objects.filter(state=SigningKey.State.ACTIVE).first()
    return active, SigningKey.objects.filter(state=SigningKey.State.NEXT).first()


def _expiry(active: SigningKey) -> datetime:
    assert active.activated_at is not None
    return active.activated_at + timedelta(seconds=settings.SIGNING_KEY_LIFETIME_SECONDS)


def _publish(actor: int | None = None) -> None:
    row = _create(SigningKey.State.NEXT)
    transaction.on_commit(reload)  # parsed here, where the key was made, and not in the next request
    report(Event("signing_key.published", actor, target=row.kid))


def _activate(following: SigningKey, active: SigningKey | None, actor: int | None = None) -> None:
    moment = clock.now()
    if active is not None:
        active.state, active.retired_at = SigningKey.State.RETIRED, moment
        active.save(update_fields=["state", "retired_at"])
    following.state, following.activated_at = SigningKey.State.ACTIVE, moment
    following.save(update_fields=["state", "activated_at"])
    report(Event("signing_key.activated", actor, target=following.kid))
    transaction.on_commit(reload)
