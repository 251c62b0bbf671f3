"""The fix of each failed check of the tester: what to do, and where."""

from dataclasses import dataclass
from urllib.parse import urlencode

from django.core.exceptions import ValidationError

from devportal.console.access import Membership
from devportal.console.fixes import Fix, client_page, docs, switched_off
from oidc.authorization.tester import CheckResult
from oidc.clients.redirect_uris import validate_redirect_uri
from oidc.models import Client
from oidc.projects.roles import Role


@dataclass(frozen=True)
class TestedCheck:
    """A check, its fix (None if it did not fail), and whether this member may apply it."""

    result: CheckResult
    fix: Fix | None
    may_fix: bool


# Name of a check -> text, label of the link, and page of the client.
_OF_CLIENT = {
    "this_client": (
        "Send the id of this client, or try the URL at the other one.",
        "Copy the client id",
        "client_settings",
    ),
    "check_client": ("Send the client id as the settings show it.", "Copy the client id", "client_settings"),
    "check_code_challenge": (
        "Turn on PKCE with S256 in your library, or create verifier and challenge as in the quick start.",
        "See the quick start",
        "quick_start",
    ),
    "address": ("Take the URL from the discovery document.", "Endpoints of this client", "client_settings"),
}
# The other checks are explained in the docs of the authorization endpoint.
_OF_PARAMETERS = {
    "readable": "Percent-encode each value, and leave out what the docs do not list.",
    "check_parameters": "Send each parameter once, with a random state and response_type=code.",
    "check_prompt": "Leave the parameter out, or send a supported value.",
    "check_acr": "Leave claims out, or request a level that the docs list.",
    "id_token_hint": "Leave it out, or send an ID token that this service gave your app.",
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
        case "check_client_enabled":
            return switched_off(client)
        case "check_scope":
            return _scope(client, result.value)
    if result.name in _OF_CLIENT:
        text, label, page = _OF_CLIENT[result.name]
        return Fix(text, label, client_page(client, page))
    return Fix(_OF_PARAMETERS[result.name], "The parameters, in the docs", docs("authorization"))


def _redirect_uri(client: Client, sent: str) -> Fix:
    settings_page = client_page(client, "client_settings")
    if not sent:
        return Fix("Send one of the registered redirect URLs.", "The registered ones", settings_page)
    try:
        validate_redirect_uri(sent)
    except ValidationError as error:
        text = f"It can’t be registered: {error.messages[0]} Send a registered one."
        return Fix(text, "The registered ones", settings_page)
    added = f"{settings_page}?{urlencode({'add': sent})}"
    return Fix("Send a registered one, or add this one.", "Add this URL", added, Role.DEVELOPER)


def _scope(client: Client, sent: str) -> Fix:
    if sent == "unapproved":
        return Fix("Leave the scope out, or request it in a review.", "Request a review", client_page(client, "review"))
    text = "Send the scopes as the docs list them, separated by single spaces, and include openid."
    return Fix(text, "Scopes, in the docs", docs("authorization"))
