"""Create access tokens, and find the live one that was presented."""

import json
from typing import Any

from django.conf import settings

from core import clock
from core.credentials import random_text
from oidc.apis.registry import OPENID, current_registry
from oidc.errors import InvalidToken
from oidc.models import AccessToken, TokenFamily
from oidc.tokens import jwt, refresh_tokens
from oidc.tokens.lookup import PresentedCredentials, look_up_access_token
from oidc.tokens.refresh_tokens import is_granted
from oidc.values.reasons import Reason


def generate_access_token(request: Any, refresh_token: bool = False) -> str:
    """Return a signed access token for an oauthlib token request (the library's ACCESS_TOKEN_GENERATOR)."""
    presented: PresentedCredentials = request.presented
    return create_access_token(presented.family, request.token_scopes, request.target.identifier)


def create_access_token(family: TokenFamily, scopes: list[str], audience: str | None = None) -> str:
    """Return a signed JWT access token (RFC 9068 §2.2), without personal data.

    `audience` is the identifier of the API that it is for, None for the API at `/v1`.
    """
    moment = clock.timestamp()
    connection = family.connection
    subject = connection.subject
    assert subject is not None
    claims = {
        "iss": settings.ISSUER,
        "sub": subject.sub,
        "aud": settings.BASE_URL if audience is None else audience,
        "client_id": connection.client.client_id,
        "scope": " ".join(scopes),
        "iat": moment,
        "exp": moment + settings.ACCESS_TOKEN_SECONDS,
        "jti": random_text(22),
    }
    if family.authentication_claims:  # RFC 9068 §2.2.1, required by RFC 9470 §6.2
        claims |= json.loads(family.authentication_claims) | {"auth_time": int(family.auth_time.timestamp())}
    return jwt.sign(claims, jwt.ACCESS_TOKEN_TYP)


def find_access_token(raw: str, audience: str | None = None) -> AccessToken:
    """Return the row of a live access token for the API at `/v1`, or for `audience`. Raises InvalidToken.

    A valid signature is not enough: the row and its family, consent, person and client are checked as well. The reason
    is PROJECT_SUSPENDED or ACCESS_TOKEN_OF_OTHER_API only if the token would be valid otherwise.
    """
    checksum, claims = jwt.verify_access_token(raw)
    row = check_access_token(look_up_access_token(checksum))
    check_audience(row, claims, settings.BASE_URL if audience is None else audience)
    return row


def find_userinfo_token(raw: str) -> AccessToken:
    """Return the row of a live access token for userinfo. Raises InvalidToken as `find_access_token`.

    It may be for another API than the one at `/v1`, if it also has the scope openid: the app did not choose that API.
    """
    checksum, claims = jwt.verify_access_token(raw)
    row = check_access_token(look_up_access_token(checksum))
    if OPENID not in row.scope.split() or not _is_known_audience(claims.audience):
        check_audience(row, claims, settings.BASE_URL)
    return row


def _is_known_audience(audience: object) -> bool:
    return audience in [api.identifier for api in current_registry().apis.values()]


def check_audience(row: AccessToken, claims: jwt.SignedClaims, audience: str) -> None:
    """Check that a live token is for the API with this identifier. Raises InvalidToken."""
    if claims.audience != audience:
        raise InvalidToken("wrong audience", Reason.ACCESS_TOKEN_OF_OTHER_API, row, str(claims.audience))


def check_access_token(row: AccessToken | None) -> AccessToken:
    """Return the row of an access token with valid claims if it is live. Raises InvalidToken as `find_access_token`."""
    if row is None:
        raise InvalidToken("unknown")
    if row.expires <= clock.now():
        raise InvalidToken("expired", Reason.ACCESS_TOKEN_EXPIRED, row)
    client = row.family.connection.client
    if not is_granted(row.family) or not client.enabled or client.project.is_deleted:
        raise InvalidToken("ended", Reason.ACCESS_TOKEN_ENDED, row)
    if client.project.is_suspended:
        raise InvalidToken("suspended", Reason.PROJECT_SUSPENDED, row)
    refresh_tokens.note_use(row)
    return row
