"""Create authorization codes, and check whether one may be redeemed (RFC 6749 §4.1.2)."""

import json
from datetime import UTC, datetime
from typing import Any

from django.conf import settings

from accounts.sessions.authentication import Authentication
from accounts.sessions.browser_sessions import AppSession
from core import clock
from core.credentials import digest, random_text
from oidc.apis import scopes as scope_rules
from oidc.errors import TokenRefusal
from oidc.models import AuthorizationCode, Connection, TokenFamily
from oidc.tokens.refresh_tokens import inactive_refusal, is_active, revoke_family
from oidc.values.reasons import Reason

CODE_LENGTH = 43  # 256 random bits


def create_code(
    connection: Connection,
    *,
    scopes: list[str],
    redirect_uri: str,
    code_challenge: str,
    nonce: str,
    authentication: Authentication,
    request_key: str,
    session: AppSession | None = None,
    returned: dict[str, Any] | None = None,
    sent_resource: bool = False,
) -> tuple[AuthorizationCode, str]:
    """Create an authorization code and its family; return the row and the code.

    The caller has locked the connection's row. `returned` are the claims about the authentication that tokens contain.
    An unused code of the same pending request is revoked, so a consent form that is sent twice leaves only one.
    """
    if not connection.is_first_consent:
        _end_unused(connection, request_key)
    family = TokenFamily.objects.create(
        connection=connection,
        scope=scope_rules.format_scope(scopes),
        nonce=nonce,
        auth_time=datetime.fromtimestamp(authentication.at, UTC),
        amr=list(authentication.methods),
        authentication_claims=None if returned is None else json.dumps(returned),
        sid=session.sid if session else "",
        session_tag=session.tag if session else "",
        created_at=clock.now(),
    )
    raw = random_text(CODE_LENGTH)
    return AuthorizationCode.objects.create(
        family=family,
        request_key=request_key,
        code=digest(raw),
        application_id=connection.client_id,
        user_id=connection.account_id or 0,  # the caller has checked that the connection has a person
        redirect_uri=redirect_uri,
        scope=family.scope,
        code_challenge=code_challenge,
        code_challenge_method=AuthorizationCode.CODE_CHALLENGE_S256,
        expires=clock.from_now(settings.AUTHORIZATION_CODE_SECONDS),
        sent_resource=sent_resource,
    ), raw


def _end_unused(connection: Connection, request_key: str) -> None:
    unused = AuthorizationCode.objects.filter(
        request_key=request_key, consumed_at=None, family__connection=connection, family__revoked_at=None
    )
    for twin in unused.select_related("family"):
        revoke_family(twin.family, Reason.ENDED_CONSENT_SENT_TWICE)


def check_code(row: Any) -> AuthorizationCode:
    """Return the code if it belongs to the client and may be redeemed now. Raises TokenRefusal.

    Replaying a used code revokes its family (RFC 6749 §4.1.2).
    """
    if not isinstance(row, AuthorizationCode):
        raise TokenRefusal(Reason.CODE_UNKNOWN)
    if row.consumed_at is not None:
        revoke_family(row.family, Reason.ENDED_CODE_REPLAYED)
        raise TokenRefusal(Reason.CODE_USED)
    if row.expires <= clock.now():
        raise TokenRefusal(Reason.CODE_EXPIRED, {"seconds": settings.AUTHORIZATION_CODE_SECONDS})
    if not is_active(row.family):
        raise inactive_refusal(row.family)
    return row
