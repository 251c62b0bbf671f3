"""The types of events that apps can receive (docs/events.md#event-types)."""

from django.db import models

_RISC = "https://schemas.openid.net/secevent/risc/event-type/"
_CAEP = "https://schemas.openid.net/secevent/caep/event-type/"
_OAUTH = "https://schemas.openid.net/secevent/oauth/event-type/"
_SSF = "https://schemas.openid.net/secevent/ssf/event-type/"
LOGOUT_URI = "http://schemas.openid.net/event/backchannel-logout"  # OpenID Connect Back-Channel Logout 1.0, 2.4
EMAIL_SCOPE = "email"  # the scope without which an app learns nothing about changes of the email address


class EventType(models.TextChoices):
    """An event type. The value is the last part of its URI, the label what it means to the app's developers."""

    LOGOUT = "logout", "The person signed out of a browser"
    SESSION_REVOKED = "session-revoked", "One of the person’s browser sessions ended"
    SESSIONS_REVOKED = "sessions-revoked", "All browser sessions of the person ended"
    CREDENTIAL_CHANGE = "credential-change", "The person changed how they sign in"
    IDENTIFIER_CHANGED = "identifier-changed", "The person’s email address changed"
    ACCOUNT_DISABLED = "account-disabled", "The account was closed or deactivated"
    ACCOUNT_ENABLED = "account-enabled", "The account is open again"
    ACCOUNT_PURGED = "account-purged", "The account was deleted for good"
    TOKENS_REVOKED = "tokens-revoked", "The person removed the app’s access"
    VERIFICATION = "verification", "Test"

    @classmethod
    def choosable(cls) -> "list[EventType]":
        """Return the security events that an app can choose from."""
        return [each for each in cls if each not in (cls.LOGOUT, cls.VERIFICATION)]

    @property
    def needs_review(self) -> bool:
        """Whether an app that is not reviewed gets it only about members of its project, who test it."""
        return self is EventType.CREDENTIAL_CHANGE

    @property
    def uri(self) -> str:
        """The URI of the type, the name of its member in `events` (RFC 8417 §2.2)."""
        return _URIS[self]


_URIS = {
    EventType.LOGOUT: LOGOUT_URI,
    EventType.SESSION_REVOKED: f"{_CAEP}session-revoked",
    EventType.SESSIONS_REVOKED: f"{_RISC}sessions-revoked",
    EventType.CREDENTIAL_CHANGE: f"{_CAEP}credential-change",
    EventType.IDENTIFIER_CHANGED: f"{_RISC}identifier-changed",
    EventType.ACCOUNT_DISABLED: f"{_RISC}account-disabled",
    EventType.ACCOUNT_ENABLED: f"{_RISC}account-enabled",
    EventType.ACCOUNT_PURGED: f"{_RISC}account-purged",
    EventType.TOKENS_REVOKED: f"{_OAUTH}tokens-revoked",
    EventType.VERIFICATION: f"{_SSF}verification",
}
