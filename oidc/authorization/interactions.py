"""Pending authorization requests, stored in the session until they are answered.

Each is stored under a hash of its query string, so that it survives sign-up, verification codes, two-step verification,
password reset, the back button and other tabs. Its time of arrival decides whether an authentication is new enough
(`prompt`, `max_age`).
"""

import hashlib
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.contrib.sessions.backends.base import SessionBase
from django.core import signing
from django.http import HttpRequest
from django.urls import reverse
from django.utils.http import urlencode

from core import clock
from oidc.values.parameters import MAX_QUERY, Parameters, parse

SESSION_KEY = "pending_authorizations"
# A session stores ALWAYS_KEPT requests, and up to MAX_INTERACTIONS if their queries have no more than MAX_CHARACTERS: a
# browser may restore many tabs at once. Answered requests make way first, then the oldest.
ALWAYS_KEPT, MAX_INTERACTIONS, MAX_CHARACTERS = 8, 40, 5 * MAX_QUERY
_SALT = "oidc.pending"
# Marks the host among the parts of a reference: no scope contains this character (RFC 6749 §3.3). Without a host, it
# stands for an app that is not reviewed at all.
_HOST = '"'
# Stores the key that the session had when it first signed a reference. A new password, for example, gives the session
# another key, and forms that were open before have to stay valid.
_SIGNED_IN = "pending_authorizations_signed_in"


@dataclass(frozen=True)
class Interaction:
    """A pending request: its key, its percent-encoded query string, and its time of arrival (seconds since 1970).

    `chosen`: the session's person was chosen for it in the account chooser.
    `goes_on_without`: the person declined a stronger sign-in that the app prefers but does not require.
    `was_switched`: a form about it was sent after the account in this session changed, so its question is shown again.
    `is_dismissed`: the person dismissed the banner about it. It can still be continued from a page that names it.
    `is_kept`: it is stored in the session, pending or answered.
    `steps`: the steps that were already counted (oidc/sign_in_log/counts.py).
    """

    key: str
    query: str
    at: float
    chosen: bool = False
    goes_on_without: bool = False
    was_switched: bool = False
    is_dismissed: bool = False
    is_kept: bool = False
    is_answered: bool = False
    steps: tuple[str, ...] = ()

    @property
    def parameters(self) -> Parameters:
        return parse(self.query)

    @property
    def url(self) -> str:
        return f"{reverse('authorize')}?{self.query}"

    @property
    def handle(self) -> str:
        """The name of this request in URLs and forms.

        It contains the client ID, signed, so that a page can name the app after the request was deleted. It grants
        nothing: only the session that stores the request can continue it.
        """
        return _handles().sign(f"{self.key}.{self.parameters.get('client_id') or ''}")

    @property
    def resume_url(self) -> str:
        """The URL that continues this request."""
        return resume_url(self.handle)

    @property
    def choose_url(self) -> str:
        """The URL of the account chooser for this request."""
        return f"{reverse('account_choose')}?{urlencode({'request': self.handle})}"


def _handles() -> signing.Signer:
    return signing.Signer(sep=".", salt=f"{_SALT}.handle")


def resume_url(handle: str) -> str:
    """Return the URL that continues the request with this handle, or says that it has ended."""
    return f"{reverse('resume')}?{urlencode({'request': handle})}"


def client_id_of(handle: str) -> str:
    """Return the client ID of the request with this handle, "" if this service did not create the handle."""
    try:
        return _handles().unsign(handle).partition(".")[2]
    except signing.BadSignature:
        return ""


def interaction_key(query: str) -> str:
    """Return the key under which a request with this query string is stored."""
    return hashlib.sha256(query.encode()).hexdigest()[:32]


def _interaction(key: str, entry: dict[str, Any]) -> Interaction:
    return Interaction(
        key,
        entry["query"],
        entry["at"],
        entry.get("chosen", False),
        entry.get("goes_on_without", False),
        entry.get("switched", False),
        entry.get("dismissed", False),
        is_kept=True,
        is_answered=entry.get("answered", False),
        steps=tuple(entry.get("steps", ())),
    )


def _stored(session: SessionBase) -> dict[str, dict[str, Any]]:
    """Return the session's pending requests, after dropping expired ones."""
    oldest = clock.now().timestamp() - settings.PENDING_REQUEST_SECONDS
    stored: dict[str, dict[str, Any]] = session.get(SESSION_KEY, {})
    kept = {key: entry for key, entry in stored.items() if entry["at"] >= oldest}
    if len(kept) < len(stored):
        session[SESSION_KEY] = kept
    if stored and not kept:
        del session[SESSION_KEY]
    return kept


def _bounded(stored: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the requests that a session may store, in the same order."""
    kept: set[str] = set()
    characters = 0
    newest_first = reversed(stored.items())
    for key, entry in sorted(newest_first, key=lambda item: bool(item[1].get("answered"))):
        characters += len(entry["query"])
        if len(kept) >= (MAX_INTERACTIONS if characters <= MAX_CHARACTERS else ALWAYS_KEPT):
            break
        kept.add(key)
    return {key: entry for key, entry in stored.items() if key in kept}


def save_interaction(session: SessionBase, query: str) -> Interaction:
    """Store a request and return it. A request that is already pending keeps its time of arrival."""
    stored = _stored(session)
    key = interaction_key(query)
    if key not in stored or stored[key].get("answered"):
        stored.pop(key, None)  # so that it becomes the latest
        stored[key] = {"query": query, "at": clock.now().timestamp()}
        session[SESSION_KEY] = _bounded(stored)
    elif stored[key].pop("dismissed", False):  # the person has come back to it
        session[SESSION_KEY] = stored
    return _interaction(key, stored[key])


def find_interaction(session: SessionBase, handle: str, *, answered_too: bool = False) -> Interaction | None:
    """Return the session's pending request with this handle or key, None if there is none.

    With `answered_too`, an answered request is returned as well.
    """
    key = handle.partition(".")[0]
    entry = _stored(session).get(key)
    if entry is None or (entry.get("answered") and not answered_too):
        return None
    return _interaction(key, entry)


def pending_interactions(session: SessionBase) -> list[Interaction]:
    """Return the unanswered requests, the newest last."""
    return [_interaction(key, entry) for key, entry in _stored(session).items() if not entry.get("answered")]


def latest_interaction(session: SessionBase) -> Interaction | None:
    """Return the newest unanswered request that was not dismissed."""
    return next((each for each in reversed(pending_interactions(session)) if not each.is_dismissed), None)


def dismiss(session: SessionBase, handle: str) -> None:
    """Dismiss a pending request and the others of its app."""
    if (dismissed := find_interaction(session, handle)) is None:
        return
    client_id, stored = dismissed.parameters.get("client_id"), _stored(session)
    for key, entry in stored.items():
        if _interaction(key, entry).parameters.get("client_id") == client_id:
            entry["dismissed"] = True
    session[SESSION_KEY] = stored


def mark_answered(session: SessionBase, key: str) -> None:
    """Mark a request as answered. It is kept, because the consent form may be submitted twice."""
    stored = _stored(session)
    if key in stored:
        stored[key]["answered"] = True
        session[SESSION_KEY] = stored


def note_step(session: SessionBase, key: str, step: str) -> bool:
    """Note that a step of a pending request was counted; return False if it was counted before."""
    stored = _stored(session)
    steps = stored.get(key, {}).get("steps", [])
    if key not in stored or step in steps:
        return False
    stored[key]["steps"] = [*steps, str(step)]
    session[SESSION_KEY] = stored
    return True


def mark_chosen(session: SessionBase, key: str) -> None:
    """Note that the session's person was chosen for a request."""
    stored = _stored(session)
    if key in stored:
        stored[key]["chosen"] = True
        session[SESSION_KEY] = stored


def take_pending(session: SessionBase) -> dict[str, dict[str, Any]]:
    """Remove the unanswered requests from a session and return them, for the session that replaces it."""
    stored = _stored(session)
    pending = {key: entry for key, entry in stored.items() if not entry.get("answered")}
    if pending:
        session[SESSION_KEY] = {key: entry for key, entry in stored.items() if key not in pending}
    # `chosen` is dropped: the person was chosen in the old session.
    kept = ("query", "at", "steps")
    return {key: {name: entry[name] for name in kept if name in entry} for key, entry in pending.items()}


def add_pending(session: SessionBase, pending: dict[str, dict[str, Any]]) -> None:
    """Add requests that `take_pending` returned, the latest last."""
    if pending:
        merged = sorted((_stored(session) | pending).items(), key=lambda item: item[1]["at"])
        session[SESSION_KEY] = _bounded(dict(merged))


def go_on_without(session: SessionBase, key: str) -> None:
    """Note that the person declined the stronger sign-in that a request prefers but does not require."""
    stored = _stored(session)
    if key in stored:
        stored[key]["goes_on_without"] = True
        session[SESSION_KEY] = stored


def _signer(request: HttpRequest) -> signing.TimestampSigner:
    # The salt is a hash of the session and the person, so that the account id never leaves the service.
    session = request.session.get(_SIGNED_IN, request.session.session_key)
    bound_to = f"{session}:{request.user.pk}"
    return signing.TimestampSigner(salt=f"{_SALT}:{hashlib.sha256(bound_to.encode()).hexdigest()}")


@dataclass(frozen=True)
class Shown:
    """The parts of a consent page that are needed to read its form: the optional scopes, and what it said of a review.

    `outside_host` is the request's host if the page said that the app's review does not cover it, "" otherwise.
    """

    optional: frozenset[str] = frozenset()
    outside_host: str = ""
    is_reviewed: bool = True


def sign_reference(request: HttpRequest, pending: Interaction, shown: Shown | None = None) -> str:
    """Return a signed, expiring reference to a pending request, valid for this person in this session."""
    shown = shown or Shown()
    request.session.setdefault(_SIGNED_IN, request.session.session_key)
    host = [] if shown.is_reviewed else [f"{_HOST}{shown.outside_host}"]
    return _signer(request).sign(" ".join([pending.handle, *sorted(shown.optional), *host]))


def reject_reference(request: HttpRequest, reference: str) -> str:
    """Return the handle in a reference that was not accepted, "" if there is none.

    If the reference belongs to another person or session, this is noted with the request, so that its question is shown
    again even if this person allowed the app before.
    """
    handle = reference.partition(":")[0].partition(" ")[0]
    if not client_id_of(handle):
        return ""
    try:
        _signer(request).unsign(reference)
    except signing.BadSignature:
        stored, key = _stored(request.session), handle.partition(".")[0]
        if key in stored:
            stored[key]["switched"] = True
            request.session[SESSION_KEY] = stored
    return handle


def resolve_reference(request: HttpRequest, reference: str) -> tuple[Interaction | None, Shown]:
    """Return the pending request of a reference, and what its consent page showed.

    The request is None if the reference is forged, too old, or belongs to another session or person.
    """
    try:
        signed = _signer(request).unsign(reference, max_age=settings.PENDING_REQUEST_SECONDS)
    except signing.BadSignature:
        return None, Shown()
    handle, *rest = signed.split(" ")
    hosts = [part.removeprefix(_HOST) for part in rest if part.startswith(_HOST)]
    optional = frozenset(part for part in rest if not part.startswith(_HOST))
    return find_interaction(request.session, handle, answered_too=True), Shown(optional, "".join(hosts), not hosts)
