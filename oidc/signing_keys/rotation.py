"""Rotating the signing keys: next, active, retired."""

import json
import logging
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from joserfc.jwk import RSAKey

from devportal.lib import clock, encryption
from devportal.lib.audit import Event, report
from oidc.models import SigningKey
from oidc.signing_keys.keyring import clear_keyring, reload_keyring

log = logging.getLogger(__name__)


def _create(state: SigningKey.State) -> SigningKey:
    private = RSAKey.generate_key(2048)
    kid = private.thumbprint()
    public_jwk = {"use": "sig", "alg": "RS256", "kid": kid} | private.as_dict(private=False)
    now = clock.now()
    return SigningKey.objects.create(
        kid=kid,
        private_encrypted=encryption.encrypt(json.dumps(private.as_dict(private=True))),
        public_jwk=public_jwk,
        state=state,
        created_at=now,
        activated_at=now if state == SigningKey.State.ACTIVE else None,
    )


def create_first_key(**kwargs: Any) -> None:
    """Make the key that signs from the first migration on (receiver of post_migrate)."""
    if not SigningKey.objects.exists():
        try:
            with transaction.atomic():
                _create(SigningKey.State.ACTIVE)
        except IntegrityError:
            log.info("Another process made the first signing key.")
        clear_keyring()


@transaction.atomic
def rotate(*, now: bool = False) -> str:
    """Perform the step of key rotation that is due; return what was done, as one word.

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
def publish_next_key(actor: int) -> bool:
    """Publish a next key, on an operator's request; return False if there is one. It does not activate it."""
    _, following = _locked()
    if following is None:
        _publish(actor)
    return following is None


@transaction.atomic
def activate_next_key(actor: int) -> bool:
    """Activate the next key, however young, on an operator's request; return False if there is none."""
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
    transaction.on_commit(reload_keyring)  # parsed here, where the key was made, and not in the next request
    report(Event("signing_key.published", actor, target=row.kid))


def _activate(following: SigningKey, active: SigningKey | None, actor: int | None = None) -> None:
    moment = clock.now()
    if active is not None:
        active.state, active.retired_at = SigningKey.State.RETIRED, moment
        active.save(update_fields=["state", "retired_at"])
    following.state, following.activated_at = SigningKey.State.ACTIVE, moment
    following.save(update_fields=["state", "activated_at"])
    report(Event("signing_key.activated", actor, target=following.kid))
    transaction.on_commit(reload_keyring)
