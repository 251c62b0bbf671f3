"""Signing keys: the published ones, and their rotation."""

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from django.conf import settings
from django.db import IntegrityError, transaction
from jwcrypto.jwk import JWK

from core import clock
from core.audit import Event, report
from core.database import encryption
from core.database.snapshots import Snapshot
from core.serving.worker_start import at_worker_start
from oidc.models import SigningKey

# Parsing a private key takes about 49 ms, so no request parses one, and discovery and JWKS need no database. A new
# key is published at least SIGNING_KEY_PUBLISH_AHEAD_SECONDS before it signs, so a ring that is a minute old is still
# correct.
#
# A key whose private part can't be decrypted (another KEY_ENCRYPTION_KEY, or a damaged row) signs nothing. It stays
# published, because its public part is not encrypted: tokens that it signed can still be verified.

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
    unreadable: tuple[tuple[str, str], ...] = ()  # kid and state


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
    """Return the ring. Raises DatabaseError if none can be loaded."""
    return _keyring.current()


def reload_keyring() -> KeyRing:
    """Load the keys from the database now and return the new ring."""
    return _keyring.reload()


@at_worker_start
def preload_keyring() -> None:
    """Load the keys before the first request: parsing a private key takes longer than answering one."""
    _keyring.preload()


def _load(previous: KeyRing | None) -> KeyRing:
    known = previous.published if previous else {}
    parsed = {kid: key for kid, key in known.items() if isinstance(key, ParsedKey)}
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
    return KeyRing(active, published, tuple(unreadable))


_keyring = Snapshot("signing keys", _load, lambda: float(settings.SIGNING_KEY_REFRESH_SECONDS))


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
    _keyring.clear()


# A key that can't be decrypted never signs. Rotation replaces it, but only in a process that can decrypt at least one
# other key. A process that can decrypt none has the wrong KEY_ENCRYPTION_KEY, and would replace keys that other
# processes can read (docs/secrets.md#a-signing-key-cant-be-read).


State = SigningKey.State


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
        activated_at=now if state == State.ACTIVE else None,
    )


def create_first_key(**kwargs: Any) -> None:
    """Create the first active key after the first migration."""
    if not SigningKey.objects.exists():
        try:
            with transaction.atomic():
                _create(State.ACTIVE)
        except IntegrityError:
            log.info("Another process created the first signing key.")
        clear_keyring()


@transaction.atomic
def rotate(*, now: bool = False) -> str:
    """Perform the step of key rotation that is due; return what was done, as one word.

    `published`: a next key was created. `activated`: the next key signs, and the old one is retired. `replaced`: the
    active key could not be read, and a new one signs. `unreadable`: no key can be read, and nothing was done.
    `waiting`: nothing is due.

    With `now`, for use after a leak, a published next key signs immediately, and a missing one is published. Concurrent
    runs are safe: row locks and unique constraints let only one of them change anything.
    """
    active, following = _locked()
    if any(row is not None and not is_readable(row) for row in (active, following)):
        if not _reads_any():
            return "unreadable"
        if replaced := _replace_unreadable(active, following):
            return replaced
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


def is_readable(row: SigningKey) -> bool:
    """Return whether this process can sign with a key."""
    return encryption.is_readable(row.private_encrypted)


def _reads_any() -> bool:
    """Return whether this process can decrypt any key, including retired ones. Log the current keys that it can't."""
    rows = list(SigningKey.objects.order_by("-created_at")[:100])
    readable = [row for row in rows if is_readable(row)]
    for row in rows:
        if row not in readable and row.state != State.RETIRED:
            log.error(UNREADABLE, row.kid, row.state)
    return bool(readable)


def _replace_unreadable(active: SigningKey | None, following: SigningKey | None) -> str | None:
    """Retire the keys that can't be read. Return how the active key was replaced, None if it is readable."""
    if following is not None and not is_readable(following):
        _retire(following, reason="unreadable")
        following = None
    if active is None or is_readable(active):
        return None
    # No key signs at the moment, so there is no point in waiting until every app has fetched the next key.
    if following is not None:
        _activate(following, active, reason="unreadable")
        return "activated"
    _retire(active, reason="unreadable")
    row = _create(State.ACTIVE)
    report(Event("signing_key.activated", None, target=row.kid))
    transaction.on_commit(reload_keyring)
    return "replaced"


@transaction.atomic
def replace_unreadable_keys() -> list[str]:
    """Retire the next and active keys if they can't be read, and replace the active one; return the retired kids.

    For operators who know that the encryption key is lost (docs/secrets.md#the-encryption-key-is-lost).
    """
    active, following = _locked()
    lost = [row.kid for row in (active, following) if row is not None and not is_readable(row)]
    _replace_unreadable(active, following)
    return lost


@transaction.atomic
def withdraw_retired_keys() -> list[str]:
    """Withdraw all retired keys early; return their kids. Tokens that they signed are then rejected."""
    rows = list(SigningKey.objects.select_for_update().filter(state=State.RETIRED, withdrawn_at=None).order_by("pk"))
    for row in rows:
        row.withdrawn_at = clock.now()
        row.save(update_fields=["withdrawn_at"])
        report(Event("signing_key.withdrawn", None, target=row.kid))
    transaction.on_commit(reload_keyring)
    return [row.kid for row in rows]


@transaction.atomic
def publish_next_key(actor: int) -> bool:
    """Publish a next key without activating it; return False if there is one. `actor` is the operator."""
    _, following = _locked()
    if following is None:
        _publish(actor)
    return following is None


@transaction.atomic
def activate_next_key(actor: int) -> bool:
    """Activate the next key, even if it is new; return False if there is no readable one. `actor` is the operator."""
    active, following = _locked()
    if following is None or not is_readable(following):
        return False
    _activate(following, active, actor)
    return True


def _locked() -> tuple[SigningKey | None, SigningKey | None]:
    """Return the active and the next key, with the active one locked so that only one rotation runs at a time."""
    # Lock first: only a statement that starts after the lock was granted sees what a concurrent rotation did.
    list(SigningKey.objects.select_for_update(no_key=True).filter(state=State.ACTIVE))
    active = SigningKey.objects.filter(state=State.ACTIVE).first()
    return active, SigningKey.objects.filter(state=State.NEXT).first()


def _expiry(active: SigningKey) -> datetime:
    assert active.activated_at is not None
    return active.activated_at + timedelta(seconds=settings.SIGNING_KEY_LIFETIME_SECONDS)


def _publish(actor: int | None = None) -> None:
    row = _create(State.NEXT)
    transaction.on_commit(reload_keyring)  # parse it here instead of in the next request
    report(Event("signing_key.published", actor, target=row.kid))


def _retire(row: SigningKey, reason: str = "", actor: int | None = None) -> None:
    row.state, row.retired_at = State.RETIRED, clock.now()
    row.save(update_fields=["state", "retired_at"])
    if reason:
        report(Event("signing_key.retired", actor, target=row.kid, details={"why": reason}))


def _activate(following: SigningKey, active: SigningKey | None, actor: int | None = None, reason: str = "") -> None:
    if active is not None:
        _retire(active, reason, actor)
    following.state, following.activated_at = State.ACTIVE, clock.now()
    following.save(update_fields=["state", "activated_at"])
    report(Event("signing_key.activated", actor, target=following.kid))
    transaction.on_commit(reload_keyring)
