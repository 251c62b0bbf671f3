"""Refresh tokens: generating them, whether one may be used (RFC 9700 §4.14.2), and lost responses."""

import logging
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db.models import Exists

from core import clock
from core.credentials import random_text
from oidc.errors import TokenRefusal
from oidc.models import AccessToken, Client, RefreshToken
from oidc.reasons import Reason
from oidc.tokens.families import inactive_refusal, is_granted, revoke_family


def grace_seconds(client: Client) -> int:
    """Return for how many seconds after its rotation a refresh token of this client may be repeated; 0 for never."""
    own: int = settings.LOST_RESPONSE_SECONDS if client.forgive_lost_responses else 0
    return max(own, settings.REFRESH_GRACE_SECONDS)


def may_be_repeated(row: RefreshToken) -> bool:
    """Return whether the response that superseded `row` is recent enough, and nobody has used its tokens."""
    if row.revoked is None or row.next_checksum is None:
        return False
    age = (clock.now() - row.revoked).total_seconds()
    # An age below 0 comes from another worker's clock and is not accepted. Another response does not restart the time.
    return 0 <= age < grace_seconds(row.family.connection.client) and _is_unused(row)


def _is_unused(row: RefreshToken) -> bool:
    access = AccessToken.objects.filter(token_checksum=row.next_access_checksum, used=False)
    following = RefreshToken.objects.filter(token_checksum=row.next_checksum, revoked=None)
    return following.filter(Exists(access)).exists()


def end_response(row: RefreshToken, next_checksum: str | None, next_access_checksum: str) -> bool:
    """End both tokens of the response that superseded `row`, and store the checksums of the one that replaces it.

    Return False if the response has been used meanwhile, or another request has replaced it. Call it in a transaction
    that is then rolled back. The row of the superseded token is the lock: of many requests at once, one wins.
    """
    now = clock.now()
    replaced = RefreshToken.objects.filter(pk=row.pk, next_checksum=row.next_checksum).update(
        next_checksum=next_checksum, next_access_checksum=next_access_checksum
    )
    # The replaced refresh token stays as a superseded one, so that its reuse is noticed.
    following = RefreshToken.objects.filter(token_checksum=row.next_checksum, revoked=None)
    access = AccessToken.objects.filter(token_checksum=row.next_access_checksum, used=False)
    return bool(replaced and following.update(revoked=now) and access.update(expires=now))


def note_use(row: AccessToken) -> None:
    """Store the first use of a valid access token: it shows that the response with it arrived."""
    if row.used is False:
        AccessToken.objects.filter(pk=row.pk, used=False).update(used=True)


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
    if may_be_repeated(row):
        return
    age = (clock.now() - superseded_at).total_seconds()
    if age > settings.REFRESH_REUSE_SECONDS:
        log.warning("A superseded refresh token of family %s came back; the family ends.", row.family_id)
        revoke_family(row.family, Reason.ENDED_REFRESH_TOKEN_REUSED)
        raise TokenRefusal(Reason.REFRESH_TOKEN_SUPERSEDED)
    raise TokenRefusal(Reason.REFRESH_TOKEN_REPEATED)
