"""Token families and refresh tokens: what was issued for one authorization, and whether it may be used now."""

import logging
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db.models import Exists

from core import clock
from core.credentials import digest, random_text
from core.telemetry import metrics
from oidc.apis.registry import current_registry
from oidc.clients.lookup import report_client_event
from oidc.errors import TokenRefusal
from oidc.models import AccessToken, Client, RefreshToken, TokenFamily
from oidc.projects.holds import held_until_end
from oidc.values.reasons import Facts, Reason


def inactive_refusal(family: TokenFamily) -> TokenRefusal:
    """Return why the family is not valid. Only the log's text reveals what happened to the person or their consent."""
    client = family.connection.client
    if not client.is_on:
        return TokenRefusal(client.unavailable_reason)
    if family.revoked_at is None:
        return TokenRefusal(Reason.ACCESS_REMOVED)
    note: Facts = {"note": family.revocation_note} if family.revocation_note else {}
    return TokenRefusal(Reason(family.revocation_reason), note)


def is_granted(family: TokenFamily) -> bool:
    """Return whether the family and its consent are not revoked, and the person is active."""
    connection = family.connection
    return bool(
        family.revoked_at is None
        and connection.removed_at is None
        and connection.account is not None
        and connection.account.is_active
        and connection.subject is not None
    )


def is_active(family: TokenFamily) -> bool:
    """Return whether the tokens of this family are valid: it is granted, and the client is on."""
    return is_granted(family) and family.connection.client.is_on


def revoke_family(family: TokenFamily, reason: Reason) -> bool:
    """Revoke a family: its code and all its tokens. The consent stays. Return whether it was live.

    `reason` is one of REVOCATION_REASONS.
    """
    live = TokenFamily.objects.filter(pk=family.pk, revoked_at=None)
    ended = live.update(revoked_at=clock.now(), revocation_reason=reason)
    if ended:
        metrics.FAMILY_REVOCATIONS.count(reason)
        report_client_event("family.ended", family.connection.client, None, details={"reason": reason})
    return bool(ended)


def effective_scopes(family: TokenFamily) -> list[str]:
    """Return the granted scopes of a family, without those whose consent or approval was withdrawn since."""
    connection = family.connection
    registry = current_registry()
    return list(registry.still_granted(family.scope, connection.scopes, connection.client.approved_scopes))


def find_family_by_token(raw: str, client_pk: int, *, access_tokens_too: bool) -> TokenFamily | None:
    """Return the family of a refresh token of this client, whether or not it is live (RFC 7009 §2.1).

    With `access_tokens_too` it also finds access tokens.
    """
    lookup = {"token_checksum": digest(raw), "application_id": client_pk}
    related = ("family__connection__client__project", "family__connection__subject")
    refresh = RefreshToken.objects.select_related(*related).filter(**lookup).first()
    if refresh is not None:
        family: TokenFamily = refresh.family
        return family
    if not access_tokens_too:
        return None
    access = AccessToken.objects.select_related(*related).filter(**lookup).first()
    return None if access is None else access.family


def grace_seconds(client: Client) -> int:
    """Return for how many seconds after its rotation a refresh token of this client may be used again; 0 for never."""
    own: int = settings.LOST_RESPONSE_SECONDS if client.forgive_lost_responses else 0
    return max(own, settings.REFRESH_GRACE_SECONDS)


def may_be_repeated(row: RefreshToken) -> bool:
    """Return whether the response that superseded `row` is recent, and none of its tokens was used."""
    if row.revoked is None or row.next_checksum is None:
        return False
    age = (clock.now() - row.revoked).total_seconds()
    # An age below 0 comes from another worker's clock and is rejected. A repeated response does not extend the time.
    return 0 <= age < grace_seconds(row.family.connection.client) and _is_unused(row)


def _is_unused(row: RefreshToken) -> bool:
    access = AccessToken.objects.filter(token_checksum=row.next_access_checksum, used=False)
    following = RefreshToken.objects.filter(token_checksum=row.next_checksum, revoked=None)
    return following.filter(Exists(access)).exists()


def end_response(row: RefreshToken, next_checksum: str | None, next_access_checksum: str) -> bool:
    """End both tokens of the response that superseded `row`, and store the checksums of the new response.

    Return False if the first response has been used, or another request has replaced it; roll back the transaction in
    that case. The row of the superseded token acts as a lock, so that only one of several concurrent requests succeeds.
    """
    now = clock.now()
    held = held_until_end(row.user_id, row.application_id)
    replaced = RefreshToken.objects.filter(held, pk=row.pk, next_checksum=row.next_checksum).update(
        next_checksum=next_checksum, next_access_checksum=next_access_checksum
    )
    # The replaced refresh token stays as a superseded one, so that its reuse is noticed.
    following = RefreshToken.objects.filter(token_checksum=row.next_checksum, revoked=None)
    access = AccessToken.objects.filter(token_checksum=row.next_access_checksum, used=False)
    return bool(replaced and following.update(revoked=now) and access.update(expires=now))


def note_use(row: AccessToken) -> None:
    """Store the first use of a valid access token, which shows that its response arrived."""
    if row.used is False:
        AccessToken.objects.filter(pk=row.pk, used=False).update(used=True)


log = logging.getLogger(__name__)

REFRESH_TOKEN_LENGTH = 43  # 256 random bits


def generate_refresh_token(request: Any, refresh_token: bool = False) -> str:
    """Return a random refresh token (the library's REFRESH_TOKEN_GENERATOR)."""
    return random_text(REFRESH_TOKEN_LENGTH)


def check_refresh_token(row: Any) -> RefreshToken:
    """Return the refresh token if it belongs to the client and may be used now. Raises TokenRefusal.

    A rotated token is rejected (RFC 9700 §4.14.2). Reuse within REFRESH_REUSE_SECONDS, by parallel tabs or a repeated
    request, has no other effect. Later reuse revokes the family. If lost responses are forgiven for the client, it may
    use the token again for a while, as long as no token of the lost response was used (docs/sign-in.md#lost-responses).
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
        log.warning("A superseded refresh token of family %s was used again. The family is revoked.", row.family_id)
        revoke_family(row.family, Reason.ENDED_REFRESH_TOKEN_REUSED)
        raise TokenRefusal(Reason.REFRESH_TOKEN_SUPERSEDED)
    raise TokenRefusal(Reason.REFRESH_TOKEN_REPEATED)
