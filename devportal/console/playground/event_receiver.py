"""The playground's receiver: it checks the tokens of events as an app should, and keeps the latest for developers.

Deliveries reach it within the process (`oidc.signals.playground_delivery`). The messages are in the cache only: the
MOST newest of each receiver, for SECONDS.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import parse_qs

from django.conf import settings
from django.core.cache import cache
from django.dispatch import receiver

from core import clock
from core.outbound.fetching import Reply
from devportal.console.playground.token_decoder import DecodedToken, TokenCheck, decode_event_token, part_of
from oidc.events.tokens import EVENT_TOKEN_TYP, LOGOUT_TOKEN_TYP
from oidc.models import Client, EventReceiver
from oidc.signals import playground_delivery
from oidc.tokens import jwt
from oidc.values.event_types import LOGOUT_URI, EventType

MOST = 20
SECONDS = 3600
CLOCKS_APART = 300  # seconds that `iat` may be from now

Channel = EventReceiver.Channel
_TYPS: Mapping[str, str] = {Channel.LOGOUT: LOGOUT_TOKEN_TYP, Channel.EVENTS: EVENT_TOKEN_TYP}
_NAMES: Mapping[str, str] = {Channel.LOGOUT: "Logout token", Channel.EVENTS: "Security event token"}
_URIS = frozenset(each.uri for each in (*EventType.choosable(), EventType.VERIFICATION))


@dataclass(frozen=True)
class _Given:
    """A token to check: the client that it should be for, the channel, its header and its claims, not yet trusted."""

    client: Client
    channel: str
    token: str
    header: Mapping[str, Any]
    claims: Mapping[str, Any]


# The checks in the order in which an app makes them.
_CHECKS: Mapping[str, Callable[[_Given], bool]] = {
    "signature": lambda it: jwt.is_signed(it.token, str(it.header.get("typ"))),
    "typ": lambda it: it.header.get("typ") == _TYPS[it.channel],
    "iss": lambda it: it.claims.get("iss") == settings.ISSUER,
    "aud": lambda it: it.claims.get("aud") == it.client.client_id,
    "iat": lambda it: _is_near(it.claims.get("iat")),
    "exp": lambda it: it.channel == Channel.EVENTS or _is_ahead(it.claims.get("exp")),
    "events": lambda it: _has_known_event(it),
    "subject": lambda it: _has_subject(it),
    "jti": lambda it: isinstance(it.claims.get("jti"), str) and bool(it.claims["jti"]),
}
_TEXTS: Mapping[str, str] = {
    "signature": "It is signed with RS256, by the key {kid} of the signing keys.",
    "typ": "typ is {typ}, so no other kind of token passes for it.",
    "iss": "iss is the issuer, {issuer}",
    "aud": "aud is the client id.",
    "iat": "iat is at most {minutes} minutes from now.",
    "exp": "exp is in the future.",
    "events": "events has one event type that the app knows.",
    "subject": "It says whom or which session it is about, and has no nonce.",
    "jti": "It has a jti, by which the app recognizes a repeated event.",
}
_ONLY_LOGOUT = "exp"


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_near(value: Any) -> bool:
    return _is_number(value) and abs(value - clock.timestamp()) <= CLOCKS_APART


def _is_ahead(value: Any) -> bool:
    return _is_number(value) and bool(value > clock.timestamp())


def _has_known_event(given: _Given) -> bool:
    events = given.claims.get("events")
    if not isinstance(events, dict) or len(events) != 1:
        return False
    return set(events) <= ({LOGOUT_URI} if given.channel == Channel.LOGOUT else _URIS)


def _has_subject(given: _Given) -> bool:
    claims = given.claims
    if given.channel == Channel.LOGOUT:
        return ("sub" in claims or "sid" in claims) and "nonce" not in claims
    return isinstance(claims.get("sub_id"), dict)


@receiver(playground_delivery)
def receive(sender: Any, client: Client, body: bytes, content_type: str, **kwargs: Any) -> Reply:
    """Check a message, keep it, and answer as an app does."""
    channel = Channel.LOGOUT if content_type == "application/x-www-form-urlencoded" else Channel.EVENTS
    given = _read(client, channel, body)
    if given is None:
        return _refusal(channel, "The body has no token.")
    checks = {name: check(given) for name, check in _CHECKS.items()}
    failed = [name for name, holds in checks.items() if not holds]
    _keep(given, checks)
    if failed:
        return _refusal(channel, f"These checks failed: {', '.join(failed)}.")
    return Reply(200 if channel == Channel.LOGOUT else 202, "")


def _refusal(channel: str, text: str) -> Reply:
    """Return 400 in the form of Back-Channel Logout 1.0, 2.8, or of RFC 8935 §2.4."""
    named = ("error", "error_description") if channel == Channel.LOGOUT else ("err", "description")
    return Reply(400, json.dumps(dict(zip(named, ("invalid_request", text), strict=True))))


def _read(client: Client, channel: str, body: bytes) -> _Given | None:
    """Return the token of a message, None if there is none that can be read."""
    try:
        text = body.decode("ascii")
        token = parse_qs(text, max_num_fields=10)["logout_token"][0] if channel == Channel.LOGOUT else text
        header: Any = part_of(token, 0)  # any JSON, and so are the claims
        claims: Any = part_of(token, 1)
    except (ValueError, KeyError, IndexError, RecursionError):
        return None
    if not isinstance(header, dict) or not isinstance(claims, dict):
        return None
    return _Given(client, channel, token, header, claims)


# --- The messages ---


@dataclass(frozen=True)
class Message:
    """A message that was received. `is_repeated` tells that its `jti` had been received before."""

    at: datetime
    event: str
    is_repeated: bool
    decoded: DecodedToken

    @property
    def is_accepted(self) -> bool:
        return all(check.holds for check in self.decoded.checks)


def _key(client: Client, channel: str) -> str:
    return f"playground_events:{client.pk}:{channel}"


def _keep(given: _Given, checks: Mapping[str, bool]) -> None:
    """Keep a message. One worker at a time delivers to a receiver, so no other one changes the list meanwhile."""
    key, jti = _key(given.client, given.channel), str(given.claims.get("jti"))
    earlier: list[dict[str, Any]] = cache.get(key) or []
    entry = {
        "at": clock.now().isoformat(),
        "jti": jti,
        "is_repeated": any(each["jti"] == jti for each in earlier),
        "token": given.token,
        "checks": dict(checks),
    }
    cache.set(key, [entry, *earlier][:MOST], SECONDS)


def messages_of(client: Client) -> list[Message]:
    """Return the latest messages of the client's receivers, newest first."""
    found = [_message(channel, entry) for channel in Channel.values for entry in cache.get(_key(client, channel)) or []]
    return sorted(found, key=lambda message: message.at, reverse=True)[:MOST]


def _message(channel: str, entry: Mapping[str, Any]) -> Message:
    token = entry["token"]
    checks = [
        TokenCheck(_text(name, channel, token), holds)
        for name, holds in entry["checks"].items()
        if channel == Channel.LOGOUT or name != _ONLY_LOGOUT
    ]
    decoded = decode_event_token(_NAMES[channel], token, checks)
    events = part_of(token, 1).get("events")
    event = next(iter(events), "") if isinstance(events, dict) else ""
    return Message(datetime.fromisoformat(entry["at"]), event, entry["is_repeated"], decoded)


def _text(name: str, channel: str, token: str) -> str:
    return _TEXTS[name].format(
        kid=part_of(token, 0).get("kid"), typ=_TYPS[channel], issuer=settings.ISSUER, minutes=CLOCKS_APART // 60
    )
