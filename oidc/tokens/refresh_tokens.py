"""Refresh tokens: generating them, and whether one may be used (RFC 9700 §4.14.2)."""

import logging
from typing import Any

from django.conf import settings

from devportal.lib import clock
from devportal.lib.credentials import random_text
from oidc.models import RefreshToken
from oidc.sign_in_log import set_reason
from oidc.tokens.families import inactive_reason, is_granted, revoke_family

log = logging.getLogger(__name__)

REFRESH_TOKEN_LENGTH = 43  # 256 random bits


def usable_refresh_token(row: Any) -> RefreshToken | None:
    """Return the client's own refresh token if it may be used now, else None, with the reason noted."""
    fault = _fault_of(row)
    if fault:
        set_reason(fault)
    return None if fault else row


def _fault_of(row: Any) -> str:
    """Return why a refresh token may not be used, "" if it may (RFC 9700 §4.14.2).

    A superseded one is refused. Within REFRESH_REUSE_SECONDS that is all (parallel tabs, a repeated send);
    later, somebody else has it, and the family ends. REFRESH_GRACE_SECONDS may forgive lost replies.
    """
    if not isinstance(row, RefreshToken):
        return "The refresh token is unknown, or was given to another client."
    if row.expires <= clock.now():
        return "The refresh token has expired."
    if not is_granted(row.family):
        return inactive_reason(row.family)
    if row.revoked is not None:
        age = (clock.now() - row.revoked).total_seconds()
        # An age below 0 is another worker's clock, and no grace.
        forgiven = 0 <= age < settings.REFRESH_GRACE_SECONDS
        if not forgiven and age > settings.REFRESH_REUSE_SECONDS:
            # Counted where it lasts: by the families whose `revoked_why` says so.
            log.warning("A superseded refresh token of family %s came back; the family ends.", row.family_id)
            revoke_family(row.family, "refresh token reused")
        if not forgiven:
            return "The refresh token was superseded. Store the newest one of each answer."
    return "" if row.family.connection.client.is_on else inactive_reason(row.family)


def generate_refresh_token(request: Any, refresh_token: bool = False) -> str:
    """Return a fresh refresh token (the library's REFRESH_TOKEN_GENERATOR)."""
    return random_text(REFRESH_TOKEN_LENGTH)
