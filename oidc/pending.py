"""The authorization requests that wait for their person, kept in the session until they are answered.

Each is kept under a key made from its own text, so that it survives sign-up, codes, second factors, a reset, the
back button and other tabs; and so that an authentication can be told to be newer than the request.
"""

import hashlib
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.sessions.backends.base import SessionBase
from django.core import signing
from django.http import HttpRequest
from django.urls import reverse

from devportal.lib import clock
from oidc.clients import find_client
from oidc.logos import public_address
from oidc.models import Client
from oidc.parameters import Parameters, parse

SESSION_KEY = "pending_authorizations"
MAX_PENDING = 8
_SALT = "oidc.pending"


@dataclass(frozen=True)
class Pending:
    """A pending request: its key, its query string as it came, when it came (seconds since 1970)."""

    key: str
    query: str
    at: float

    @property
    def parameters(self) -> Parameters:
        return parse(self.query)

    @property
    def url(self) -> str:
        return f"{reverse('authorize')}?{self.query}"


def key_of(query: str) -> str:
    """Return the key under which a request with this query string is kept."""
    return hashlib.sha256(query.encode()).hexdigest()[:32]


def _stored(session: SessionBase) -> dict[str, dict[str, Any]]:
    """Return what the session keeps, after it has forgotten what is too old."""
    oldest = clock.now().timestamp() - settings.PENDING_REQUEST_SECONDS
    stored: dict[str, dict[str, Any]] = session.get(SESSION_KEY, {})
    kept = {key: entry for key, entry in stored.items() if entry["at"] >= oldest}
    if len(kept) < len(stored):
        session[SESSION_KEY] = kept
    if stored and not kept:
        del session[SESSION_KEY]
    return kept


def remember(session: SessionBase, query: str) -> Pending:
    """Keep a request; one that is kept already keeps the moment at which it first came."""
    stored = _stored(session)
    key = key_of(query)
    if key not in stored or stored[key].get("answered"):
        stored.pop(key, None)  # so that it becomes the latest
        stored[key] = {"query": query, "at": clock.now().timestamp()}
        session[SESSION_KEY] = dict(list(stored.items())[-MAX_PENDING:])
    return Pending(key, stored[key]["query"], stored[key]["at"])


def find(session: SessionBase, key: str, *, answered_too: bool = False) -> Pending | None:
    """Return the request kept under `key` that waits for an answer (or got it a moment ago)."""
    entry = _stored(session).get(key)
    if entry is None or (entry.get("answered") and not answered_too):
        return None
    return Pending(key, entry["query"], entry["at"])


def waiting(session: SessionBase) -> list[Pending]:
    """Return the requests that wait for an answer, the newest last."""
    return [
        Pending(key, entry["query"], entry["at"])
        for key, entry in _stored(session).items()
        if not entry.get("answered")
    ]


def answered(session: SessionBase, key: str) -> None:
    """Note that the request has its answer; its form may still be sent once more by an impatient click."""
    stored = _stored(session)
    if key in stored:
        stored[key]["answered"] = True
        session[SESSION_KEY] = stored


# --- The reference in forms ---


def _signer(request: HttpRequest) -> signing.TimestampSigner:
    # Bound to the session and the person without naming either: the account id never leaves the service.
    bound_to = f"{request.session.session_key}:{request.user.pk}"
    return signing.TimestampSigner(salt=f"{_SALT}:{hashlib.sha256(bound_to.encode()).hexdigest()}")


def reference_to(request: HttpRequest, pending: Pending) -> str:
    """Return a signed, expiring reference to a pending request, good in this session for this person."""
    return _signer(request).sign(pending.key)


def dereference(request: HttpRequest, reference: str) -> Pending | None:
    """Return the pending request of a reference; None if it is forged, too old, or another session's or person's."""
    try:
        key = _signer(request).unsign(reference, max_age=settings.PENDING_REQUEST_SECONDS)
    except signing.BadSignature:
        return None
    return find(request.session, key, answered_too=True)


# --- What pages show ---


def card(client: Client) -> dict[str, Any]:
    """Return what pages show of an app: a logo only once it is verified (specification 5.4)."""
    return {
        "name": client.name,
        "letter": client.letter,
        "logo_url": public_address(client),
        "verified": client.is_verified or client.first_party,
        "domain": client.domain,
        "home_page_url": client.home_page_url,
        "privacy_policy_url": client.privacy_policy_url,
        "terms_url": client.terms_url,
        "support_address": client.support_address,
    }


def asking(request: HttpRequest) -> dict[str, Any]:
    """Context processor: the app whose request is pending in this session, as `asking`.

    Chromium checks the redirects that follow a form, and signing in may end in one to the app; so the page's
    policy names the origins of the apps that wait.
    """
    session = getattr(request, "session", None)
    if session is None or SESSION_KEY not in session:
        return {"asking": None}
    pending = waiting(session)
    if not hasattr(request, "form_action_origins"):  # a page of one app alone has named its origin itself
        origins = {origin_of(each.parameters.get("redirect_uri")) for each in pending}
        request.form_action_origins = sorted(origins)  # type: ignore[attr-defined]
    client = find_client(pending[-1].parameters.get("client_id")) if pending else None
    if client is None:
        return {"asking": None}
    return {"asking": card(client) | {"resume_url": f"{reverse('resume')}?request={pending[-1].key}"}}


def origin_of(uri: str | None) -> str:
    """Return scheme, host and port of a redirect URL that was checked before."""
    parts = urlsplit(uri or "")
    return f"{parts.scheme}://{parts.netloc}"
