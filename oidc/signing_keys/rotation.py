"""Rotation of the signing keys: next, active, retired.

A key that can't be decrypted never signs. Rotation replaces it, but only in a process that can decrypt at least one
other key. A process that can decrypt none has the wrong KEY_ENCRYPTION_KEY, and would replace keys that other processes
can read (docs/secrets.md#a-signing-key-cant-be-read).
"""

import logging
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from jwcrypto.jwk import JWK

from core import clock
from core.audit import Event, report
from core.database import encryption
from oidc.models import SigningKey
from oidc.signing_keys.keyring import UNREADABLE, clear_keyring, reload_keyring

log = logging.getLogger(__name__)

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
