"""The events that apps can receive, as the docs and the console explain them, and examples of their tokens."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from django.conf import settings

from oidc.events import tokens
from oidc.models import Client, Delivery
from oidc.values.event_types import EMAIL_SCOPE, EventType


@dataclass(frozen=True)
class EventDocs:
    """When an event is sent, what the app should do, and the members of the event in its token.

    `scope` is the one without which an app does not get it.
    """

    event: EventType
    when: str
    action: str
    members: tuple[str, ...] = ()
    scope: str = ""
    needs_review: bool = False

    @property
    def example(self) -> str:
        """The claims of a token of this type, as JSON."""
        return example_claims(self.event)


_ABOUT: Mapping[EventType, EventDocs] = {
    each.event: each
    for each in (
        EventDocs(
            EventType.LOGOUT,
            "The person signed out in that browser, or the session was ended: from another device, by a new password, "
            "by an operator, because the account was closed, or because the person removed your app.",
            "End the session that your app has for this sid.",
        ),
        EventDocs(
            EventType.SESSION_REVOKED,
            "One browser session ended in which the person signed in to your app. Your app can get a logout token for "
            "it as well.",
            "End the session that your app has for this sid.",
            ("sid", "event_timestamp"),
        ),
        EventDocs(
            EventType.SESSIONS_REVOKED,
            "All of the person’s sessions ended at once, because the password was reset, the account was closed, or an "
            "operator ended them.",
            "End all sessions of the person.",
        ),
        EventDocs(
            EventType.CREDENTIAL_CHANGE,
            "The person set, changed or reset the password, or added or removed a passkey, a security key or an "
            "authenticator app.",
            "Ask the person to sign in again before something sensitive.",
            ("credential_type", "change_type", "event_timestamp"),
            needs_review=True,
        ),
        EventDocs(
            EventType.IDENTIFIER_CHANGED,
            "The person confirmed a new email address, or took back the earlier one.",
            "Update the email address. The person’s sub stays the same.",
            ("new-value",),
            EMAIL_SCOPE,
        ),
        EventDocs(
            EventType.ACCOUNT_DISABLED,
            "The person closed the account, or an operator deactivated it.",
            "End all sessions of the person. Keep their data, because the account can be opened again.",
        ),
        EventDocs(
            EventType.ACCOUNT_ENABLED,
            "A closed or deactivated account was opened again.",
            "Let the person sign in again.",
        ),
        EventDocs(
            EventType.ACCOUNT_PURGED,
            "A closed account was deleted after its waiting time, or an operator deleted it.",
            "Delete the person’s data that you no longer need. Their sub is never used again.",
        ),
        EventDocs(
            EventType.TOKENS_REVOKED,
            "The person removed your app under Connected apps.",
            "End all sessions of the person, and delete your tokens.",
        ),
        EventDocs(
            EventType.VERIFICATION,
            "A developer sent a test. It is about nobody.",
            "Answer with 202, and do nothing.",
            ("state",),
        ),
    )
}


def about(event: str) -> EventDocs:
    """Return what the docs say about an event."""
    return _ABOUT[EventType(event)]


def security_events() -> list[EventDocs]:
    """Return what the docs say about each event type that apps can choose."""
    return [_ABOUT[event] for event in EventType.choosable()]


# The claims of logout tokens and security event tokens.
CLAIMS = {
    "iss": "this service, as its issuer with the slash",
    "aud": "your client id, because the token is only for your app",
    "iat": "when this token was signed, in seconds since 1970. It is signed again for each try",
    "exp": "when the token expires, only in logout tokens",
    "jti": "the id of the event, the same at each try. Ignore an event that you have handled",
    "toe": "when the event happened, in seconds since 1970, not in logout tokens",
    "sub": "the person’s id in your project, only in logout tokens",
    "sid": "the session: the sid of the ID token, only in logout tokens",
    "sub_id": "whom the event is about: the issuer, and the person’s id in your project",
    "events": "what happened: the event type as a URI, with its members",
}

_EXAMPLE = {
    "jti": "u1D4cZ8yqR7mKx0WbN3sVt",
    "sub": "r5Yb1uQk8ZsJt0cW2mXe4H",
    "sid": "7Jm0pXq2vN8sLk4Rz1WyTc6bHd9uFe3gAo5iQxPvBnE",
}
_HAPPENED = datetime(2031, 1, 15, 9, 30, tzinfo=UTC)
_DETAILS: Mapping[EventType, Mapping[str, object]] = {
    EventType.CREDENTIAL_CHANGE: {
        "credential_type": "password",
        "change_type": "update",
        "event_timestamp": int(_HAPPENED.timestamp()),
    },
    EventType.IDENTIFIER_CHANGED: {"new-value": "ada@example.com"},
    EventType.VERIFICATION: {"state": "m2Vx9QbT6rKs0dYwL8nZaE"},
}


def example_claims(event: EventType, client_id: str = "") -> str:
    """Return the claims of a token about an example person, as JSON; without `client_id` for an example client."""
    client = Client(client_id=client_id or f"{settings.CLIENT_ID_PREFIX}Qm8wT3xKvL5n")
    delivery = Delivery(
        event=event,
        jti=_EXAMPLE["jti"],
        sub=_EXAMPLE["sub"],
        sid=_EXAMPLE["sid"],
        details=dict(_DETAILS.get(event, {})),
        happened_at=_HAPPENED,
    )
    make = tokens.logout_claims if event == EventType.LOGOUT else tokens.event_claims
    claims = make(delivery, client) | {"iat": int(_HAPPENED.timestamp()) + 1}
    if "exp" in claims:
        claims["exp"] = claims["iat"] + tokens.LOGOUT_TOKEN_SECONDS
    return json.dumps(claims, indent=2)


def example_header(event: EventType) -> str:
    """Return the header of a token, as JSON."""
    typ = tokens.LOGOUT_TOKEN_TYP if event == EventType.LOGOUT else tokens.EVENT_TOKEN_TYP
    return json.dumps({"typ": typ, "alg": "RS256", "kid": "…"}, indent=2, ensure_ascii=False)
