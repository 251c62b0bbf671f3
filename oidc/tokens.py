"""Codes and tokens: issuing, finding, superseding and ending them.

Reading and signing happen before the transaction; inside it are only the conditional update that consumes the
code or refresh token, and the inserts. Whoever loses the update gets invalid_grant.
"""

import logging
from datetime import UTC, datetime
from typing import Any

from django.conf import settings

from accounts.authentication import Authentication
from devportal.lib import clock
from devportal.lib.audit import Event, report
from devportal.lib.credentials import digest, random_text
from oidc import scopes as scope_rules
from oidc import signatures
from oidc.errors import BadToken
from oidc.models import AccessToken, AuthorizationCode, Connection, Family, RefreshToken
from oidc.presented import look_up_access_token
from oidc.reporting import because
from oidc.storing import NewToken, store

log = logging.getLogger(__name__)

REFRESH_TOKEN_LENGTH = 43  # 256 random bits


# --- Codes ---


def create_code(
    raw: str,
    connection: Connection,
    *,
    scopes: list[str],
    redirect_uri: str,
    code_challenge: str,
    nonce: str,
    authentication: Authentication,
    request_key: str,
) -> AuthorizationCode:
    """Store a fresh code and the family that begins with it. Call it with the connection's row locked.

    A code that the same pending request got before and that nobody has used ends: a consent form that is sent
    twice leaves one live code.
    """
    unused = AuthorizationCode.objects.filter(
        request_key=request_key, consumed_at=None, family__connection=connection, family__revoked_at=None
    )
    for twin in unused.select_related("family"):
        end_family(twin.family, "answered again")
    family = Family.objects.create(
        connection=connection,
        scope=scope_rules.join(scopes),
        nonce=nonce,
        auth_time=datetime.fromtimestamp(authentication.at, UTC),
        amr=list(authentication.methods),
        created_at=clock.now(),
    )
    return AuthorizationCode.objects.create(
        family=family,
        request_key=request_key,
        code=digest(raw),
        application_id=connection.client_id,
        user_id=connection.account_id or 0,  # checked by the caller: a connection without a person issues nothing
        redirect_uri=redirect_uri,
        scope=family.scope,
        code_challenge=code_challenge,
        code_challenge_method=AuthorizationCode.CODE_CHALLENGE_S256,
        expires=clock.from_now(settings.AUTHORIZATION_CODE_SECONDS),
    )


def usable_code(row: Any) -> AuthorizationCode | None:
    """Return the client's own code if it may be exchanged now, else None, with the reason noted.

    A code that comes back after it was used was seen by somebody else: what it gave ends (RFC 6749 §4.1.2).
    """
    if not isinstance(row, AuthorizationCode):
        because("The code is unknown, or was given to another client.")
        return None
    if row.consumed_at is not None:
        end_family(row.family, "code replayed")
        because("The code was used before. Everything that it gave has ended.")
        return None
    if row.expires <= clock.now():
        because(f"The code is older than {settings.AUTHORIZATION_CODE_SECONDS} seconds.")
        return None
    if not is_live(row.family):
        because(why_not_live(row.family))
        return None
    return row


def why_not_live(family: Family) -> str:
    """Return, for the client's developer, why nothing of this family may be used."""
    client = family.connection.client
    if not client.is_on:
        return "The client is turned off, or its project is suspended."
    if family.revoked_at is not None:
        return f"The authorization has ended: {family.revoked_why}."
    return "The person removed the app's access, or their account is closed."


# --- Refresh tokens ---


def usable_refresh_token(row: Any) -> RefreshToken | None:
    """Return the client's own refresh token if it may be used now, else None, with the reason noted."""
    fault = _fault_of(row)
    if fault:
        because(fault)
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
    if not is_given(row.family):
        return why_not_live(row.family)
    if row.revoked is not None:
        age = (clock.now() - row.revoked).total_seconds()
        # An age below 0 is another worker's clock, and no grace.
        forgiven = 0 <= age < settings.REFRESH_GRACE_SECONDS
        if not forgiven and age > settings.REFRESH_REUSE_SECONDS:
            # Counted where it lasts: by the families whose `revoked_why` says so.
            log.warning("A superseded refresh token of family %s came back; the family ends.", row.family_id)
            end_family(row.family, "refresh token reused")
        if not forgiven:
            return "The refresh token was superseded. Store the newest one of each answer."
    return "" if row.family.connection.client.is_on else why_not_live(row.family)


# --- Families ---


def is_given(family: Family) -> bool:
    """Tell whether the person still gives what this family stands for: it, its consent and the person themselves."""
    connection = family.connection
    return bool(
        family.revoked_at is None
        and connection.removed_at is None
        and connection.account is not None
        and connection.account.is_active
        and connection.subject is not None
    )


def is_live(family: Family) -> bool:
    """Tell whether anything of this family may be used now: given by its person, to a client that is on."""
    return is_given(family) and family.connection.client.is_on


def end_family(family: Family, why: str) -> None:
    """End everything that came from one authorization; the consent stays."""
    ended = Family.objects.filter(pk=family.pk, revoked_at=None).update(revoked_at=clock.now(), revoked_why=why)
    if ended:
        client = family.connection.client
        report(Event("family.ended", None, client.project.public_id, client.client_id, {"why": why}))


def live_scopes(family: Family) -> list[str]:
    """Return what a family may have now: what was granted, less what consent or approval has since withdrawn."""
    connection = family.connection
    still = set(connection.scopes.split()) & scope_rules.allowed_for(connection.client)
    return [scope for scope in scope_rules.split(family.scope) if scope in still]


# --- Issuing ---


def access_token_for(request: Any, refresh_token: bool = False) -> str:
    """Return a signed access token for an oauthlib token request (the library's ACCESS_TOKEN_GENERATOR)."""
    family: Family = request.family
    return access_token(family, request.scopes)


def refresh_token_for(request: Any, refresh_token: bool = False) -> str:
    """Return a fresh refresh token (the library's REFRESH_TOKEN_GENERATOR)."""
    return random_text(REFRESH_TOKEN_LENGTH)


def access_token(family: Family, scopes: list[str]) -> str:
    """Return an access token as RFC 9068 §2.2 has it: nothing personal in it."""
    moment = clock.timestamp()
    subject = family.connection.subject
    assert subject is not None
    claims = {
        "iss": settings.ISSUER,
        "sub": subject.sub,
        "aud": settings.BASE_URL,
        "client_id": family.connection.client.client_id,
        "scope": " ".join(scopes),
        "iat": moment,
        "exp": moment + settings.ACCESS_TOKEN_SECONDS,
        "jti": random_text(22),
    }
    return signatures.sign(claims, signatures.ACCESS_TOKEN)


def keep(consumed: AuthorizationCode | RefreshToken, access: str, refresh: str | None, scope: str) -> bool:
    """Store what was made from a code or refresh token, consuming it; False if another request was first."""
    access_token = NewToken(digest(access), clock.from_now(settings.ACCESS_TOKEN_SECONDS), scope)
    refresh_token = None
    if refresh is not None:
        refresh_token = NewToken(digest(refresh), clock.from_now(settings.REFRESH_TOKEN_SECONDS))
    return store(consumed, clock.now(), access_token, refresh_token)


# --- Checking ---


def find_access_token(raw: str) -> AccessToken:
    """Return the row of an access token that is worth something now. Raises BadToken.

    A valid signature alone is worth nothing: the row, its family, consent, person and client are all asked.
    """
    signatures.read_access_token(raw)
    row = look_up_access_token(raw)
    if row is None:
        raise BadToken("unknown")
    if row.expires <= clock.now():
        raise BadToken("expired")
    if not is_live(row.family):
        raise BadToken("ended")
    return row


def find_family_of(raw: str, client_pk: int, *, access_tokens_too: bool) -> Family | None:
    """Return the family of a refresh (or access) token of this client, live or not (RFC 7009 §2.1)."""
    lookup = {"token_checksum": digest(raw), "application_id": client_pk}
    refresh = RefreshToken.objects.select_related("family__connection__client__project").filter(**lookup).first()
    if refresh is not None:
        family: Family = refresh.family
        return family
    if not access_tokens_too:
        return None
    access = AccessToken.objects.select_related("family__connection__client__project").filter(**lookup).first()
    return None if access is None else access.family
