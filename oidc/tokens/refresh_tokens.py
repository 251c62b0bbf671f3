"""Refresh tokens: generating them, and whether one may be used (RFC 9700 §4.14.2)."""

import logging
from datetime import datetime
from typing import Any

from django.conf import settings

from devportal.lib import clock
from devportal.lib.credentials import random_text
from oidc.errors import TokenRefusal
from oidc.models import RefreshToken
from oidc.reasons import Reason
from oidc.tokens import lost_responses
from oidc.tokens.families import inactive_refusal, is_granted, revoke_family

log = logging.getLogger(__name__)

REFRESH_TOKEN_LENGTH = 43  # 256 random bits


def generate_refresh_token(request: Any, refresh_token: bool = False) -> str:
    """Return a random refresh token (the library's REFRESH_TOKEN_GENERATOR)."""
    return random_text(REFRESH_TOKEN_LENGTH)


def check_refresh_token(row: Any) -> RefreshToken:
    """Return the client's own refresh token if it may be used now. Raises TokenRefusal (RFC 9700 §4.14.2).

    A rotated token is refused. Reuse within REFRESH_REUSE_SECONDS (parallel tabs, a repeated request) has no other
    effect; later reuse revokes the family. A client that forgives lost responses may repeat it for a while if nobody
    has used the response that rotated it (docs/sign-in.md#lost-responses).
    """
    if not isinstance(row, RefreshToken):
        raise TokenRefusal(Reason.REFRESH_TOKEN_UNKNOWN)
    if row.expires <= clock.now():
        raise TokenRefusal(Reason.REFRESH_TOKEN_EXPIRED)
    family = row.family
    if not is_granted(family):
        raise inactive_refusal(family)
    if row.revoked is not None:
        _check_reuse(row, row.revoked)
    if not family.connection.client.is_on:
        raise inactive_refusal(family)
    return row


def _check_reuse(row: RefreshToken, superseded_at: datetime) -> None:
    if lost_responses.may_be_repeated(row):
        return
    age = (clock.now() - superseded_at).total_seconds()
    if age > settings.REFRESH_REUSE_SECONDS:
        log.warning("A superseded refresh token of family %s came back; the family ends.", row.family_id)
        revoke_family(row.family, Reason.ENDED_REFRESH_TOKEN_REUSED)
        raise TokenRefusal(Reason.REFRESH_TOKEN_SUPERSEDED)
    raise TokenRefusal(Reason.REFRESH_TOKEN_REPEATED)
