"""The fix of an entry in the sign-in log: the fix of its reason, adapted to the client's present state."""

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from urllib.parse import quote, urlencode

from django.core.exceptions import ValidationError
from django.urls import reverse

from devportal.console.fixes import Fix, client_page, docs, project_page, switched_off
from devportal.console.logs.redaction import MARKS
from devportal.console.models import SignInEvent
from devportal.console.reason_help import HELP
from oidc.clients import redirect_uris
from oidc.clients.reviewed_hosts import home_host
from oidc.models import Client
from oidc.projects.roles import Role
from oidc.reasons import Reason
from oidc.scopes import SCOPES, allowed_scopes
from oidc.sign_in_steps import Endpoint, Outcome

# Names that other services use for a scope, which are not similar in spelling.
_ELSEWHERE = {
    "offline": "offline_access",
    "mail": "email",
    "emails": "email",
    "user": "profile",
    "account": "account.read",
}


def fix_for(client: Client, event: SignInEvent) -> Fix | None:
    """Return the fix of a refused or cancelled step, or None if it succeeded. Takes no SQL statement."""
    if event.outcome not in (Outcome.REFUSED, Outcome.CANCELLED):
        return None
    if event.reason in _FIXES:
        return _FIXES[Reason(event.reason)](client, event)
    if event.reason not in HELP:
        return Fix("Cause and fix are in the documentation of the error.", "Errors", docs("errors"))
    found = HELP[Reason(event.reason)]
    return Fix(found.fix, found.label, found.place(client), found.at_least)


def sign_in_url(client: Client, request_id: str) -> str:
    """Return the URL of a client's sign-in log with the entries of one request."""
    path = reverse("console:sign_ins", args=[client.project.public_id, client.client_id])
    return f"{path}?{urlencode({'request_id': request_id})}"


# --- The client and its review ---


def _off(client: Client, event: SignInEvent) -> Fix:
    return switched_off(client)


def _people_limit(client: Client, event: SignInEvent) -> Fix:
    if client.is_verified and not client.carries_badge:
        return _host_of_review(client, event)
    if client.is_verified:
        return Fix("The app is now reviewed. Start a new sign-in.", "Review", client_page(client, "review"))
    text = "Submit the app for review. A reviewed app has no limit of people."
    return Fix(text, "Go to the review", client_page(client, "review"), Role.DEVELOPER)


def _host_of_review(client: Client, event: SignInEvent) -> Fix:
    if client.is_verified and not client.carries_badge:
        text = f"Prove {home_host(client)} again. It is the domain of the app's home page, which the badge names."
        return Fix(text, "Domains", project_page(client.project, "domains"), Role.DEVELOPER)
    text = "Submit the app for review with a redirect URL on this host, or use a host that was reviewed."
    return Fix(text, "Go to the review", client_page(client, "review"), Role.DEVELOPER)


def _repeated(client: Client, event: SignInEvent) -> Fix:
    if client.forgive_lost_responses:
        text = "The new tokens were already in use. Let one process refresh at a time, and share its response."
        return Fix(text, "How to refresh", docs("tokens", "refresh"))
    text = (
        "If your app did not get the last response, let the client forgive lost responses. Otherwise refresh in one "
        "place at a time."
    )
    page = client_page(client, "client_settings", "lost-responses")
    return Fix(text, "Forgive lost responses", page, Role.DEVELOPER)


# --- Redirect URLs that are not registered ---


@dataclass(frozen=True)
class ComparedURI:
    """A registered redirect URL: the beginning that it shares with the received one, and the rest of both."""

    same: str
    received: str
    registered: str


def is_mismatch(client: Client, event: SignInEvent) -> bool:
    """Return whether a refused authorization request had a redirect URL that is still not registered."""
    refused = event.outcome == Outcome.REFUSED and event.endpoint == Endpoint.AUTHORIZE
    return bool(refused and event.redirect_uri and event.redirect_uri not in client.registered_redirect_uris)


def why_not_registrable(uri: str) -> str:
    """Return why a received redirect URL can't be registered as logged, or "" if it can."""
    if any(mark in uri for mark in MARKS):
        return "The log does not hold the whole URL, because a part looked like a secret or personal data."
    try:
        redirect_uris.validate_redirect_uri(uri)
    except ValidationError as error:
        return str(error.messages[0])
    return ""


def _redirect_uri(client: Client, event: SignInEvent) -> Fix:
    settings = client_page(client, "client_settings")
    if not is_mismatch(client, event):
        return Fix("The redirect URL is now registered. Start a new sign-in.", "Settings", settings)
    if why_not := why_not_registrable(event.redirect_uri):
        text = f"It can’t be added: {why_not} Have the app send one that is registered, character for character."
        return Fix(text, "Registered redirect URLs", settings)
    text = "Register it if it is yours, or have the app send one that is registered, character for character."
    add = f"{settings}?add={quote(event.redirect_uri, safe='')}"
    return Fix(text, "Add this redirect URL", add, Role.DEVELOPER)


def compare(received: str, registered: Sequence[str]) -> list[ComparedURI]:
    """Compare a received redirect URL with the registered ones, the most similar first."""
    compared = []
    for uri in registered:
        shared = redirect_uris.shared_start(received, uri)
        compared.append(ComparedURI(uri[:shared], received[shared:], uri[shared:]))
    return sorted(compared, key=lambda each: -len(each.same))


# --- Scopes ---


def nearest_scope(name: str) -> str:
    """Return the scope that `name` most likely means, or "" if none is similar."""
    lowered = name.casefold()
    if lowered in SCOPES:
        return lowered
    if lowered in _ELSEWHERE:
        return _ELSEWHERE[lowered]
    return next(iter(difflib.get_close_matches(lowered, SCOPES, n=1, cutoff=0.7)), "")


def _scopes(client: Client, event: SignInEvent) -> Fix:
    names, allowed = event.parameters.get("scopes", []), allowed_scopes(client)
    waiting = [name for name in names if name in SCOPES and name not in allowed]
    sentences = [_spelling(name) for name in names if name not in SCOPES]
    if waiting:
        sentences.insert(0, f"{' and '.join(waiting)} needs app review first. Request it there.")
        return Fix(" ".join(sentences), "Ask for it in the review", client_page(client, "review"), Role.DEVELOPER)
    if not sentences:
        sentences = ["It is now approved. Start a new sign-in."]
    return Fix(" ".join(sentences), "List of scopes", docs("authorization", "scopes"))


def _spelling(name: str) -> str:
    near = nearest_scope(name)
    return f"There is no scope {name}: did you mean {near}?" if near else f"There is no scope {name}, leave it out."


# The reasons whose fix depends on the client's present state, or on the received values.
_FIXES: dict[Reason, Callable[[Client, SignInEvent], Fix]] = {
    Reason.CLIENT_OFF: _off,
    Reason.PROJECT_SUSPENDED: _off,
    Reason.REFRESH_TOKEN_REPEATED: _repeated,
    **dict.fromkeys((Reason.SCOPE_UNKNOWN, Reason.SCOPE_NOT_APPROVED), _scopes),
    **dict.fromkeys(
        (
            Reason.SCOPE_OUTSIDE_REVIEW,
            Reason.SCOPE_HOME_UNPROVEN,
            Reason.CONSENT_OUTSIDE_REVIEW,
            Reason.CONSENT_HOME_UNPROVEN,
        ),
        _host_of_review,
    ),
    **dict.fromkeys(
        (Reason.PEOPLE_LIMIT, Reason.PEOPLE_LIMIT_OUTSIDE_REVIEW, Reason.PEOPLE_LIMIT_HOME_UNPROVEN), _people_limit
    ),
    **dict.fromkeys(
        (
            Reason.NO_REDIRECT_URI_REGISTERED,
            Reason.REDIRECT_URI_SLASH,
            Reason.REDIRECT_URI_SCHEME,
            Reason.REDIRECT_URI_HOST,
            Reason.REDIRECT_URI_PORT,
            Reason.REDIRECT_URI_PATH,
            Reason.REDIRECT_URI_QUERY,
            Reason.REDIRECT_URI_FRAGMENT,
            Reason.REDIRECT_URI_SPELLING,
        ),
        _redirect_uri,
    ),
}
