"""Fixes of errors in the request log and the sign-in log, with links to the documentation of each code."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote, urlencode

from django.core.exceptions import ValidationError
from django.urls import reverse

from api.errors import KNOWN_ERRORS, ErrorText
from api.models import ApiKey, RequestLog
from core.messages import fill_in
from devportal.console.fixes import Fix, client_page, docs, linked_fix, project_page, switched_off
from devportal.console.logs.missing_scopes import fix_of_missing_scope
from devportal.console.logs.sign_in_writer import MARKS
from devportal.console.models import SignInEvent
from oidc.apis.scopes import allowed_scopes, known_scopes
from oidc.clients.reviewed_hosts import home_host
from oidc.models import Client, Project
from oidc.projects.roles import Role
from oidc.sign_in_log.steps import Endpoint, Outcome
from oidc.signals import Comparison
from oidc.values import redirect_uris
from oidc.values.reasons import REDIRECT_URLS, SIGN_OUT_URLS, Link, Reason, find_reason


@dataclass(frozen=True)
class ErrorDocs:
    """An error or a reason as documented. `help` is None for a code that the docs do not list."""

    code: str
    url: str
    help: ErrorText | Reason | None = None


def api_error(code: str) -> ErrorDocs | None:
    """Return the documentation of an error code of the developer API, or None without a code."""
    return ErrorDocs(code, docs("errors", f"api-{code}"), KNOWN_ERRORS.get(code)) if code else None


def reason_docs(event: SignInEvent) -> ErrorDocs | None:
    """Return the documentation of the reason of a refused or cancelled step, or None for other steps."""
    reason = find_reason(event.reason)
    return ErrorDocs(reason, docs("errors", f"reason-{reason}"), reason) if reason and reason.table else None


@dataclass(frozen=True)
class Call:
    """A call and its caller, the client or the key (None if deleted)."""

    row: RequestLog
    project: Project
    client: Client | None = None
    key: ApiKey | None = None


def call_fix_for(call: Call) -> Fix | None:
    """Return the fix of a failed call, or None if it succeeded. Takes at most one SQL statement."""
    if not call.row.code and call.row.status < 400:
        return None
    match call.row.code:
        case "invalid_api_key":
            return _invalid_api_key(call)
        case "invalid_token":
            return _invalid_token(call)
        case "project_suspended":
            text = "The project’s page says why it is suspended, and how to appeal."
            return Fix(text, "Read why", project_page(call.project, "project", "appeal"))
        case "insufficient_scope":
            return fix_of_missing_scope(call.row, call.project, call.client)
        case "not_found":
            text = "Correct the path: it begins with /v1 and has no slash at its end."
            return Fix(text, "Endpoints", docs("me", "call"))
        case "method_not_allowed":
            return Fix("Use GET.", "Endpoints", docs("me", "call"))
        case "rate_limited":
            text = "Wait as many seconds as Retry-After says, and spread the requests. Usage shows when there are many."
            return Fix(text, "Usage", project_page(call.project, "usage"))
    if call.row.code in _OF_CODES:
        return Fix(_OF_CODES[call.row.code], call.row.code, docs("errors", f"api-{call.row.code}"))
    return Fix("The docs explain the cause and the fix.", "Errors", docs("errors", "api"))


# The fixes that link to the code in the docs.
_OF_CODES = {
    "internal_error": "The service failed. Try again. If the error continues, report the request id.",
    "upstream_unavailable": "Try again shortly, with increasing pauses.",
    "api_disabled": "The API is turned off. Try again later.",
    "path_not_allowed": KNOWN_ERRORS["path_not_allowed"].fix,
}


def _invalid_api_key(call: Call) -> Fix:
    keys = project_page(call.project, "keys")
    if call.key is not None and call.key.state == "live":
        text = "The key is live, so the program sent it mistyped or cut off. Compare the last four characters."
        return Fix(text, "API keys", keys)
    text = "The key has ended. Create another one, and configure the program to use it."
    return Fix(text, "Create a key", project_page(call.project, "key_new"), Role.DEVELOPER)


_OF_OTHER_API = (
    "The token is for the API {audience}. For this call, the app needs another one: have it exchange the code or "
    "refresh with the resource {resource}, after a sign-in with a scope of that API."
)


def _invalid_token(call: Call) -> Fix:
    if call.client is not None and not call.client.is_on:
        return switched_off(call.client)
    if "audience" in call.row.parameters:
        text = fill_in(_OF_OTHER_API, call.row.parameters)
        return Fix(text, "Tokens for an API", docs("authorization", "resources"))
    text = (
        "Send the access token, not the ID token. Access tokens are short-lived: refresh it once, and if that is "
        "refused, have the person sign in again."
    )
    return Fix(text, "How to refresh", docs("tokens", "refresh"))


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
    reason = find_reason(event.reason)
    match reason:
        case None:
            return Fix("Cause and fix are in the documentation of the error.", "Errors", docs("errors"))
        case Reason.CLIENT_OFF | Reason.PROJECT_SUSPENDED:
            return switched_off(client)
        case Reason.REFRESH_TOKEN_REPEATED:
            return _repeated(client)
        case Reason.SCOPE_UNKNOWN | Reason.SCOPE_NOT_APPROVED:
            return _scopes(client, event)
        case Reason.SCOPE_OUTSIDE_REVIEW | Reason.CONSENT_OUTSIDE_REVIEW:
            return _host_of_review(client)
        case Reason.SCOPE_HOME_UNPROVEN | Reason.CONSENT_HOME_UNPROVEN:
            return _host_of_review(client)
        case Reason.PEOPLE_LIMIT | Reason.PEOPLE_LIMIT_OUTSIDE_REVIEW | Reason.PEOPLE_LIMIT_HOME_UNPROVEN:
            return _people_limit(client)
    if reason.link in (REDIRECT_URLS, SIGN_OUT_URLS):
        return _unregistered_url(client, event, reason.link)
    return linked_fix(reason.fix, reason.link, client)


def sign_in_url(client: Client, request_id: str) -> str:
    """Return the URL of a client's sign-in log with the entries of one request."""
    path = reverse("console:sign_ins", args=[client.project.public_id, client.client_id])
    return f"{path}?{urlencode({'request_id': request_id})}"


# --- The client and its review ---


def _people_limit(client: Client) -> Fix:
    if client.is_verified and not client.carries_badge:
        return _host_of_review(client)
    if client.is_verified:
        return Fix("The app is now reviewed. Start a new sign-in.", "Review", client_page(client, "review"))
    text = "Submit the app for review. A reviewed app has no limit of people."
    return Fix(text, "Go to the review", client_page(client, "review"), Role.DEVELOPER)


def _host_of_review(client: Client) -> Fix:
    if client.is_verified and not client.carries_badge:
        text = f"Prove {home_host(client)} again. It is the domain of the app's home page, which the badge names."
        return Fix(text, "Domains", project_page(client.project, "domains"), Role.DEVELOPER)
    text = "Submit the app for review with a redirect URL on this host, or use a host that was reviewed."
    return Fix(text, "Go to the review", client_page(client, "review"), Role.DEVELOPER)


def _repeated(client: Client) -> Fix:
    if client.forgive_lost_responses:
        text = "The new tokens were already in use. Let one process refresh at a time, and share its response."
        return Fix(text, "How to refresh", docs("tokens", "refresh"))
    text = (
        "If your app did not get the last response, let the app forgive lost responses. Otherwise refresh in one "
        "place at a time."
    )
    page = client_page(client, "client_settings", "lost-responses")
    return Fix(text, "Forgive lost responses", page, Role.DEVELOPER)


# --- Redirect URLs that are not registered ---


def registered_uris(client: Client, event: SignInEvent) -> Sequence[str]:
    """Return the registered URLs with which the received URL of an entry is compared; none at other endpoints."""
    if event.endpoint == Endpoint.END_SESSION:
        return client.registered_post_logout_redirect_uris
    return client.registered_redirect_uris if event.endpoint == Endpoint.AUTHORIZE else ()


def is_mismatch(client: Client, event: SignInEvent) -> bool:
    """Return whether a refused request had a redirect URL or sign-out URL that is still not registered."""
    refused = event.outcome == Outcome.REFUSED and event.endpoint in (Endpoint.AUTHORIZE, Endpoint.END_SESSION)
    return bool(refused and event.redirect_uri and event.redirect_uri not in registered_uris(client, event))


def why_not_registrable(uri: str) -> str:
    """Return why a received URL can't be registered as logged, or "" if it can."""
    if any(mark in uri for mark in MARKS):
        return "The log does not hold the whole URL, because a part looked like a secret or personal data."
    try:
        redirect_uris.validate_redirect_uri(uri)
    except ValidationError as error:
        return str(error.messages[0])
    return ""


def _unregistered_url(client: Client, event: SignInEvent, registered: Link) -> Fix:
    settings = client_page(client, "client_settings")
    add, what, then = ("add", "redirect URL", "Start a new sign-in.")
    if registered == SIGN_OUT_URLS:
        add, what, then = ("add_sign_out", "sign-out URL", "Sign out again.")
    if not is_mismatch(client, event):
        return Fix(f"The {what} is now registered. {then}", "Settings", settings)
    if why_not := why_not_registrable(event.redirect_uri):
        text = f"It can’t be added: {why_not} Have the app send one that is registered, character for character."
        return Fix(text, registered.label, settings)
    text = "Register it if it is yours, or have the app send one that is registered, character for character."
    return Fix(text, f"Add this {what}", f"{settings}?{add}={quote(event.redirect_uri, safe='')}", Role.DEVELOPER)


def compare(received: str, registered: Sequence[str]) -> list[Comparison]:
    """Compare a received URL with the registered ones, the most similar first."""
    compared = []
    for uri in registered:
        shared = redirect_uris.shared_start(received, uri)
        compared.append(Comparison(uri[:shared], received[shared:], uri[shared:]))
    return sorted(compared, key=lambda each: -len(each.same))


# --- Scopes ---


def nearest_scope(name: str) -> str:
    """Return the scope that `name` most likely means, or "" if none is similar."""
    lowered = name.casefold()
    if lowered in known_scopes():
        return lowered
    if lowered in _ELSEWHERE:
        return _ELSEWHERE[lowered]
    return next(iter(difflib.get_close_matches(lowered, known_scopes(), n=1, cutoff=0.7)), "")


_ONE_NEEDS_REVIEW = "{scopes} needs app review first. Request it in the review."
_SEVERAL_NEED_REVIEW = "These scopes need app review first: {scopes}. Request them in the review."


def _scopes(client: Client, event: SignInEvent) -> Fix:
    names, allowed = event.parameters.get("scopes", []), allowed_scopes(client)
    waiting = [name for name in names if name in known_scopes() and name not in allowed]
    sentences = [_spelling(name) for name in names if name not in known_scopes()]
    if waiting:
        text = _ONE_NEEDS_REVIEW if len(waiting) == 1 else _SEVERAL_NEED_REVIEW
        sentences.insert(0, text.format(scopes=", ".join(waiting)))
        return Fix(" ".join(sentences), "Ask for it in the review", client_page(client, "review"), Role.DEVELOPER)
    if not sentences:
        sentences = ["The app can now request every scope that was refused. Start a new sign-in."]
    return Fix(" ".join(sentences), "List of scopes", docs("authorization", "scopes"))


def _spelling(name: str) -> str:
    near = nearest_scope(name)
    return f"There is no scope {name}: did you mean {near}?" if near else f"There is no scope {name}, leave it out."
