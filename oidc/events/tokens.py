"""The tokens that deliveries send: logout tokens and security event tokens (docs/events.md)."""

from typing import Any
from urllib.parse import urlencode

from django.conf import settings

from core import clock
from oidc.models import Client, Delivery
from oidc.tokens import jwt
from oidc.values.event_types import EMAIL_SCOPE, LOGOUT_URI, EventType

LOGOUT_TOKEN_TYP = "logout+jwt"  # OpenID Connect Back-Channel Logout 1.0, 2.4
EVENT_TOKEN_TYP = "secevent+jwt"  # RFC 8417 §2.3
LOGOUT_TOKEN_SECONDS = 120


def message_of(delivery: Delivery, client: Client) -> tuple[bytes, str]:
    """Return body and content type of the request that delivers an event. Raises signing_keys.NoSigningKey."""
    if delivery.event == EventType.LOGOUT:
        token = jwt.sign(logout_claims(delivery, client), LOGOUT_TOKEN_TYP)
        return urlencode({"logout_token": token}).encode(), "application/x-www-form-urlencoded"
    return jwt.sign(event_claims(delivery, client), EVENT_TOKEN_TYP).encode(), "application/secevent+jwt"


def logout_claims(delivery: Delivery, client: Client) -> dict[str, Any]:
    """Return the claims of a logout token (OpenID Connect Back-Channel Logout 1.0, 2.4)."""
    moment = clock.timestamp()
    claims: dict[str, Any] = {
        "iss": settings.ISSUER,
        "aud": client.client_id,
        "iat": moment,
        "exp": moment + LOGOUT_TOKEN_SECONDS,
        "jti": delivery.jti,
        "events": {LOGOUT_URI: {}},
    }
    return claims | {name: value for name, value in (("sub", delivery.sub), ("sid", delivery.sid)) if value}


def event_claims(delivery: Delivery, client: Client) -> dict[str, Any]:
    """Return the claims of a security event token (RFC 8417 §2.2), with its subject in `sub_id` (RFC 9493)."""
    subject = {"format": "iss_sub", "iss": settings.ISSUER, "sub": delivery.sub}
    if delivery.event == EventType.VERIFICATION:
        subject = {"format": "opaque", "id": client.client_id}
    return {
        "iss": settings.ISSUER,
        "aud": client.client_id,
        "iat": clock.timestamp(),
        "jti": delivery.jti,
        "toe": int(delivery.happened_at.timestamp()),
        "sub_id": subject,
        "events": {EventType(delivery.event).uri: _members(delivery)},
    }


def _members(delivery: Delivery) -> dict[str, Any]:
    members: dict[str, Any] = dict(delivery.details)
    if delivery.event in (EventType.SESSION_REVOKED, EventType.CREDENTIAL_CHANGE):  # CAEP 1.0, 2
        members["event_timestamp"] = int(delivery.happened_at.timestamp())
    if delivery.event == EventType.SESSION_REVOKED:
        members["sid"] = delivery.sid
    elif delivery.event == EventType.IDENTIFIER_CHANGED:
        members |= _new_email(delivery)
    return members


def _new_email(delivery: Delivery) -> dict[str, str]:
    """Return the person's email address, read for each try; nothing if the app may no longer know it."""
    connection = delivery.connection
    if connection is None or connection.account is None or connection.removed_at is not None:
        return {}
    return {"new-value": connection.account.email} if EMAIL_SCOPE in connection.scopes.split() else {}
