"""Fixes for failures, with links to pages of the console and anchors of the docs; those of the tester too."""

from dataclasses import dataclass
from urllib.parse import urlencode

from django.core.exceptions import ValidationError
from django.urls import reverse

from devportal.console.access import Membership
from oidc.authorization.tester import CheckResult
from oidc.models import Client, Project
from oidc.projects.roles import Role
from oidc.values.reasons import Link
from oidc.values.redirect_uris import validate_redirect_uri


@dataclass(frozen=True)
class Fix:
    """A fix: a sentence, and the label and URL of the page where it is done.

    `at_least` is the lowest role that may do it. Everyone may read the docs.
    """

    text: str
    label: str = ""
    url: str = ""
    at_least: str = Role.VIEWER


def docs(page: str, anchor: str = "") -> str:
    """Return the URL of a page of the docs, by its name (devportal/docs/pages.py)."""
    return reverse(f"docs_{page}") + (f"#{anchor}" if anchor else "")


def client_page(client: Client, name: str, anchor: str = "") -> str:
    """Return the URL of one of a client's pages, by its URL name."""
    path = reverse(f"console:{name}", args=[client.project.public_id, client.client_id])
    return path + (f"#{anchor}" if anchor else "")


def project_page(project: Project, name: str, anchor: str = "") -> str:
    """Return the URL of one of a project's pages, by its URL name."""
    return reverse(f"console:{name}", args=[project.public_id]) + (f"#{anchor}" if anchor else "")


def linked_fix(text: str, link: Link, client: Client) -> Fix:
    """Return a fix with the link of a reason."""
    match link.of:
        case "docs":
            url = docs(link.page, link.anchor)
        case "client":
            url = client_page(client, link.page, link.anchor)
        case _:
            url = project_page(client.project, link.page, link.anchor)
    return Fix(text, link.label, url, link.at_least)


def switched_off(client: Client) -> Fix:
    """Return the fix for a client that is off, or was off when the entry was written."""
    if client.project.is_suspended:
        text = "The project is suspended. Its page says why, and how to appeal."
        return Fix(text, "Read why", project_page(client.project, "project", "appeal"))
    if not client.enabled:
        text = "Turn the app on. Sign-in then works again immediately."
        return Fix(text, "Turn on", client_page(client, "client_settings", "switch"), Role.DEVELOPER)
    text = "The app is on again. Start a new sign-in."
    return Fix(text, "Settings", client_page(client, "client_settings", "switch"))


@dataclass(frozen=True)
class TestedCheck:
    """A check, its fix (None if it did not fail), and whether this member may apply it."""

    result: CheckResult
    fix: Fix | None
    may_fix: bool


_CLIENT_ID = Link("Copy the client id", "client", "client_settings")
_ENDPOINTS = Link("Endpoints of this app", "client", "client_settings", "endpoints")
_SIGN_OUT = Link("Sign-out, in the docs", "docs", "logout")
_PARAMETERS = Link("The parameters, in the docs", "docs", "authorization")
# Name of a check -> text and link.
_OF_CHECKS = {
    "this_client": ("Send the id of this client, or try the URL at the other one.", _CLIENT_ID),
    "check_client": ("Send the client id as the settings show it.", _CLIENT_ID),
    "check_code_challenge": (
        "Turn on PKCE with S256 in your library, or create verifier and challenge as in the quick start.",
        Link("See the quick start", "client", "quick_start"),
    ),
    "check_resource": (
        "Send the identifier of an API as the settings show it, and request a scope of that API.",
        Link("Copy the identifier", "client", "client_settings", "scopes"),
    ),
    "sign_out_client": (
        "Send the ID token that this client got, and leave client_id out or send this client’s id.",
        _CLIENT_ID,
    ),
    "sign_out_address": ("Take the URL from the discovery document.", _ENDPOINTS),
    "address": ("Take the URL from the discovery document.", _ENDPOINTS),
    "sign_out_parameters": ("Send each parameter once, percent-encoded.", _SIGN_OUT),
    "sign_out_hint": ("Send the ID token that your app got at the sign-in. It may be expired.", _SIGN_OUT),
    "readable": ("Percent-encode each value, and leave out what the docs do not list.", _PARAMETERS),
    "check_parameters": ("Send each parameter once, with a random state and response_type=code.", _PARAMETERS),
    "check_prompt": ("Leave the parameter out, or send a supported value.", _PARAMETERS),
    "check_acr": ("Leave claims out, or request a level that the docs list.", _PARAMETERS),
    "id_token_hint": ("Leave it out, or send an ID token that this service gave your app.", _PARAMETERS),
}


def with_fixes(membership: Membership, client: Client, results: list[CheckResult]) -> list[TestedCheck]:
    """Return the checks, with a fix for each failed one."""
    return [_tested(membership, client, result) for result in results]


def _tested(membership: Membership, client: Client, result: CheckResult) -> TestedCheck:
    fix = _fix(client, result) if result.passed is False else None
    return TestedCheck(result, fix, fix is not None and membership.is_at_least(fix.at_least))


def _fix(client: Client, result: CheckResult) -> Fix:
    match result.name:
        case "check_redirect_uri":
            return _redirect_uri(client, result.value)
        case "sign_out_uri":
            return _uri(client, result.value, "add_sign_out")
        case "check_client_enabled":
            return switched_off(client)
        case "check_scope":
            return _scope(client, result.value)
    return linked_fix(*_OF_CHECKS[result.name], client)


def _redirect_uri(client: Client, sent: str) -> Fix:
    settings_page = client_page(client, "client_settings")
    if not sent:
        return Fix("Send one of the registered redirect URLs.", "The registered ones", settings_page)
    return _uri(client, sent, "add")


def _uri(client: Client, sent: str, add: str) -> Fix:
    """Return the fix for a URL that is not registered. `add` is the parameter by which the settings prefill it."""
    settings_page = client_page(client, "client_settings")
    try:
        validate_redirect_uri(sent)
    except ValidationError as error:
        text = f"It can’t be registered: {error.messages[0]} Send a registered one."
        return Fix(text, "The registered ones", settings_page)
    added = f"{settings_page}?{urlencode({add: sent})}"
    return Fix("Send a registered one, or add this one.", "Add this URL", added, Role.DEVELOPER)


def _scope(client: Client, sent: str) -> Fix:
    if sent == "unapproved":
        return Fix("Leave the scope out, or request it in a review.", "Request a review", client_page(client, "review"))
    text = "Send the scopes as the docs list them, separated by spaces, and include openid."
    return Fix(text, "Scopes, in the docs", docs("authorization"))
