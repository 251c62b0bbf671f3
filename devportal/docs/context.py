"""Values for the pages of the docs, from settings and code: URLs, prefixes, lifetimes, limits and claims."""

from typing import Any

from django.conf import settings

from accounts.models.plans import State
from accounts.plans.lifecycle import INITIAL_STATES, STATE_TEXTS, TRANSITIONS
from api.errors import METADATA
from api.keys import permissions
from api.models import LATENCY_EDGES_MS
from core import names
from core.http import responses
from core.outbound.limits import SECONDS
from devportal.console.notices.checks import UNUSED_DAYS
from devportal.console.notices.records import KEPT
from devportal.docs import events
from devportal.docs.changelog import CHANGES
from devportal.docs.pages import api_address, listed_apis
from oidc.apis.registry import IDENTITY_SCOPES, OFFLINE_ACCESS, OPENID, Scope
from oidc.apis.scopes import CLAIM_SCOPES, known_scopes
from oidc.authorization.checks import LONGEST
from oidc.clients.secrets import MAX_LIVE_SECRETS
from oidc.events.sending import TRIES
from oidc.models.clients import MULTI_FACTOR, PHISHING_RESISTANT
from oidc.models.events import PAUSE_AFTER
from oidc.values import redirect_uris
from oidc.values.event_types import EventType
from oidc.values.parameters import MAX_QUERY

ID_TOKEN = {
    "iss": "this service, as its issuer with the slash",
    "aud": "your client id, because the token is only for your app",
    "sub": "the person’s id in your project. Use it as the key for your records",
    "exp": "when the token expires, in seconds since 1970",
    "iat": "when the token was issued, in seconds since 1970",
    "auth_time": "when the person last signed in, in seconds since 1970",
    "acr": "the level of authentication, if your request or client asks for one",
    "amr": "how the person reached this level (pwd, otp, pop, user, mfa), only with acr",
    "nonce": "the nonce of your request, not in tokens from a refresh",
    "sid": "the id of the person’s session for your app, which logout tokens name when the session ends",
    "at_hash": "half of the SHA-256 of the access token, which ties the ID token to it",
    "email": "email address",
    "email_verified": "whether the person has confirmed the email address",
    "name": "full name",
    "given_name": "given name",
    "family_name": "family name, left out if the person has none",
    "picture": "URL of the photo, left out if the person has none",
}
ACCESS_TOKEN = {
    "iss": "this service, as its issuer with the slash",
    "sub": "the person’s id in your project",
    "aud": "the identifier of the API that the token is for",
    "client_id": "your app",
    "scope": "the granted scopes",
    "iat": "when the token was issued, in seconds since 1970",
    "exp": "when the token expires, in seconds since 1970",
    "jti": "a random id of this token",
    "acr": "the level of authentication, if your request or client asks for one",
    "amr": "how the person reached this level, only with acr",
    "auth_time": "when the person last signed in, only with acr",
}


# The time between the announcement of a change that can break apps and the change itself.
DEPRECATION_MONTHS = 12
# How much apps should allow for clocks that differ (RFC 7519 §4.1.4). The service allows nothing.
LEEWAY_SECONDS = 60
_OPENS = {
    OPENID: "sub",
    OFFLINE_ACCESS: "a refresh token",
    "account.read": "email address, name, photo and plan from the developer API",
}


def format_duration(seconds: int) -> str:
    """Return a duration in words, in the largest unit with a whole number. Up to two minutes are in seconds."""
    for name, size in (("day", 24 * 3600), ("hour", 3600), ("minute", 60)):
        count, rest = divmod(seconds, size)
        if seconds > 120 and count and not rest:
            return f"{count} {name}" if count == 1 else f"{count} {name}s"
    return f"{seconds} second" if seconds == 1 else f"{seconds} seconds"


def service_context() -> dict[str, Any]:
    """Return the values that every page may use."""
    return {
        "issuer": settings.ISSUER,
        "auth_url": settings.AUTH_URL,
        "base_url": settings.BASE_URL,
        "client_id_prefix": settings.CLIENT_ID_PREFIX,
        "client_secret_prefix": settings.CLIENT_SECRET_PREFIX,
        "api_key_prefix": settings.API_KEY_PREFIX,
        "permissions": [scope.name for scope in permissions()],
        "scopes": known_scopes().values(),
        "live_secrets": MAX_LIVE_SECRETS,
        "longest_address": redirect_uris.MAX_LENGTH,
        "longest_name": names.MAX_LENGTH,
        "longest_request": MAX_QUERY,
        "longest_state": LONGEST["state"],
        "longest_nonce": LONGEST["nonce"],
        "resource_metadata": responses.address(settings.BASE_URL, METADATA),
    } | _limits()


def _limits() -> dict[str, Any]:
    return {
        "code_life": format_duration(settings.AUTHORIZATION_CODE_SECONDS),
        "access_token_life": format_duration(settings.ACCESS_TOKEN_SECONDS),
        "id_token_life": format_duration(settings.ID_TOKEN_SECONDS),
        "refresh_token_life": format_duration(settings.REFRESH_TOKEN_SECONDS),
        "lost_response_seconds": settings.LOST_RESPONSE_SECONDS,
        "reuse_time": format_duration(settings.REFRESH_REUSE_SECONDS),
        "pending_life": format_duration(settings.PENDING_REQUEST_SECONDS),
        "people": settings.UNVERIFIED_APP_PEOPLE,
        "usage_days": settings.USAGE_DAYS,
        "hour_days": settings.SIGN_IN_HOUR_DAYS,
        "count_days": settings.SIGN_IN_COUNT_DAYS,
        "sign_in_log_days": settings.SIGN_IN_LOG_DAYS,
        "sign_in_log_per_minute": settings.SIGN_IN_LOG_PER_MINUTE,
        "latency_edges": ", ".join(f"{edge:,}" for edge in LATENCY_EDGES_MS),
        "notice_days": KEPT.days,
        "unused_days": UNUSED_DAYS,
        "api_calls": settings.API_CALLS_PER_MINUTE,
        "api_calls_per_person": settings.API_CALLS_PER_PERSON_PER_MINUTE,
        "api_guesses": settings.API_GUESSES_PER_MINUTE,
        "client_requests": settings.CLIENT_REQUESTS_PER_MINUTE,
        "failures": settings.FAILURES_PER_MINUTE,
    }


def scope_groups() -> list[dict[str, Any]]:
    """Return the scopes of each API that is turned on, with the API and the path of its page.

    The identity scopes come first, without an API.
    """
    listed = [(None, "", IDENTITY_SCOPES), *((api, api_address(api), api.scopes) for api in listed_apis())]
    return [
        {"api": api, "address": address, "rows": [{"scope": scope, "opens": _opens(scope)} for scope in scopes]}
        for api, address, scopes in listed
        if scopes
    ]


def _opens(scope: Scope) -> str:
    """Return what an app gets with a scope: claims, or what the API says about it."""
    return _OPENS.get(scope.name) or _claims_of(scope.name) or scope.description or scope.title


def _claims_of(scope: str) -> str:
    return ", ".join(claim for claim, opener in CLAIM_SCOPES.items() if opener == scope)


def plan_states() -> list[dict[str, Any]]:
    """Return each state of a subscription with its meaning and the possible next states."""
    return [
        {
            "state": state,
            "meaning": texts.meaning,
            "next": [other for other in State.values if other in (TRANSITIONS[state] or INITIAL_STATES)],
        }
        for state, texts in STATE_TEXTS.items()
    ]


def endpoints() -> dict[str, str]:
    """Return the endpoint URLs of the sign-in service by name."""
    base = settings.AUTH_URL
    return {
        "Discovery": f"{settings.ISSUER}.well-known/openid-configuration",
        "Authorization": f"{base}/connect/authorize",
        "Token": f"{base}/connect/token",
        "Userinfo": f"{base}/connect/userinfo",
        "Revocation": f"{base}/connect/revoke",
        "Introspection": f"{base}/connect/introspect",
        "Sign-out": f"{base}/connect/logout",
        "Signing keys": f"{base}/.well-known/jwks",
    }


def page_context(name: str) -> dict[str, Any]:
    """Return the template context of a page, in addition to `service_context`."""
    more: dict[str, dict[str, Any]] = {
        "authorization": {
            "scope_groups": scope_groups(),
            "multi_factor": MULTI_FACTOR,
            "phishing_resistant": PHISHING_RESISTANT,
        },
        "tokens": {"id_token_claims": ID_TOKEN, "leeway": format_duration(LEEWAY_SECONDS)},
        "events": {
            "event_types": events.security_events(),
            "logout_event": events.about(EventType.LOGOUT),
            "event_claims": events.CLAIMS,
            "logout_header": events.example_header(EventType.LOGOUT),
            "logout_claims": events.example_claims(EventType.LOGOUT),
            "event_header": events.example_header(EventType.CREDENTIAL_CHANGE),
            "event_example": events.example_claims(EventType.CREDENTIAL_CHANGE),
            "tries": TRIES,
            "pause_hours": int(PAUSE_AFTER.total_seconds() // 3600),
            "delivery_days": settings.DELIVERY_DAYS,
            "seconds": f"{SECONDS:g}",
        },
        "deprecation": {"deprecation_months": DEPRECATION_MONTHS},
        "apis": {"apis": [(api, api_address(api)) for api in listed_apis()]},
        "discovery": {"endpoints": endpoints()},
        "plans": {"states": plan_states()},
        "changelog": {"changes": CHANGES},
    }
    return more.get(name, {})
