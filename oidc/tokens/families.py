"""Token families: everything issued for one authorization, and whether it is valid now."""

import functools

from core import clock
from core.credentials import digest
from oidc import scopes as scope_rules
from oidc.clients.lookup import report_client_event
from oidc.errors import TokenRefusal
from oidc.models import AccessToken, RefreshToken, TokenFamily
from oidc.reasons import Facts, Reason


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
        report_client_event("family.ended", family.connection.client, None, details={"reason": reason})
    return bool(ended)


def effective_scopes(family: TokenFamily) -> list[str]:
    """Return the granted scopes of a family, without those whose consent or approval was withdrawn since."""
    connection = family.connection
    return list(_effective(family.scope, connection.scopes, connection.client.approved_scopes))


@functools.lru_cache(maxsize=1024)
def _effective(granted: str, consented: str, approved: str) -> tuple[str, ...]:
    still = set(consented.split()) & scope_rules.scopes_with(approved)
    return tuple(scope for scope in scope_rules.parse_scope(granted) if scope in still)


def find_family_by_token(raw: str, client_pk: int, *, access_tokens_too: bool) -> TokenFamily | None:
    """Return the family of a refresh token of this client, whether or not it is live (RFC 7009 §2.1).

    With `access_tokens_too` it also finds access tokens.
    """
    lookup = {"token_checksum": digest(raw), "application_id": client_pk}
    refresh = RefreshToken.objects.select_related("family__connection__client__project").filter(**lookup).first()
    if refresh is not None:
        family: TokenFamily = refresh.family
        return family
    if not access_tokens_too:
        return None
    access = AccessToken.objects.select_related("family__connection__client__project").filter(**lookup).first()
    return None if access is None else access.family
