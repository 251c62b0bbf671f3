"""Fixes of errors in the request log, with links to the documentation of each code."""

from collections.abc import Callable
from dataclasses import dataclass

from api.models import ApiKey, RequestLog
from devportal.console.fixes import Fix, client_page, docs, project_page, switched_off
from devportal.console.models import SignInEvent
from devportal.console.reason_help import HELP
from devportal.docs.errors import API_HELP, ErrorHelp
from oidc.models import Client, Project
from oidc.projects.roles import Role
from oidc.reasons import Reason
from oidc.scopes import ACCOUNT_READ, allowed_scopes


@dataclass(frozen=True)
class ErrorDocs:
    """An error or a reason as documented. `help` is None for a code that the docs do not list."""

    code: str
    url: str
    help: ErrorHelp | None = None


def api_error(code: str) -> ErrorDocs | None:
    """Return the documentation of an error code of the developer API, or None without a code."""
    return ErrorDocs(code, docs("errors", f"api-{code}"), API_HELP.get(code)) if code else None


def reason_docs(event: SignInEvent) -> ErrorDocs | None:
    """Return the documentation of the reason of a refused or cancelled step, or None for other steps."""
    if event.reason not in HELP:
        return None
    found = HELP[Reason(event.reason)]
    return ErrorDocs(event.reason, docs("errors", f"reason-{event.reason}"), ErrorHelp(found.cause, found.fix))


@dataclass(frozen=True)
class Call:
    """A call and its caller, the client or the key (None if deleted)."""

    row: RequestLog
    project: Project
    client: Client | None = None
    key: ApiKey | None = None


def call_fix_for(call: Call) -> Fix | None:
    """Return the fix of a failed call, or None if it succeeded. Takes no SQL statement."""
    if not call.row.code and call.row.status < 400:
        return None
    fix = FIXES.get(call.row.code)
    return fix(call) if fix else Fix("The docs explain the cause and the fix.", "Errors", docs("errors", "api"))


def _invalid_api_key(call: Call) -> Fix:
    keys = project_page(call.project, "keys")
    if call.key is not None and call.key.state == "live":
        return Fix("The key is live. Compare what the program sends with its last four characters.", "API keys", keys)
    text = "The key has ended. Create another one, and configure the program to use it."
    return Fix(text, "Create a key", project_page(call.project, "key_new"), Role.DEVELOPER)


def _invalid_token(call: Call) -> Fix:
    if call.client is not None and not call.client.is_on:
        return switched_off(call.client)
    text = "Access tokens are short-lived. Refresh it once; if that is refused, have the person sign in again."
    return Fix(text, "How to refresh", docs("tokens", "refresh"))


def _project_suspended(call: Call) -> Fix:
    text = "The project’s page says why it is suspended, and how to appeal."
    return Fix(text, "Read why", project_page(call.project, "project", "appeal"))


def _insufficient_scope(call: Call) -> Fix:
    if not call.row.client:
        text = "The permissions of a key can't be changed. Create a key with the permissions of this endpoint."
        return Fix(text, "Create a key", project_page(call.project, "key_new"), Role.DEVELOPER)
    plan = call.row.path.startswith("/v1/me/plan")
    if plan and call.client is not None and ACCOUNT_READ not in allowed_scopes(call.client):
        text = f"The plan needs the scope {ACCOUNT_READ}, which needs app review first."
        return Fix(text, "Request it in the review", client_page(call.client, "review"), Role.DEVELOPER)
    text = "Request the scope in the authorization request. People are asked again, and new tokens have it."
    return Fix(text, "Scope of each endpoint", docs("me_plan" if plan else "me", "access"))


def _not_found(call: Call) -> Fix:
    return Fix("Correct the path: it begins with /v1 and has no slash at its end.", "Endpoints", docs("me", "call"))


def _method_not_allowed(call: Call) -> Fix:
    return Fix("Use GET.", "Endpoints", docs("me", "call"))


def _rate_limited(call: Call) -> Fix:
    text = "Wait as many seconds as Retry-After says, and spread the calls. Usage shows when there are too many."
    return Fix(text, "Usage", project_page(call.project, "usage"))


def _internal_error(call: Call) -> Fix:
    text = "The service failed. Try again. If the error continues, report the request id."
    return Fix(text, "internal_error", docs("errors", "api-internal_error"))


def _upstream_unavailable(call: Call) -> Fix:
    text = "Try again shortly, with increasing pauses."
    return Fix(text, "upstream_unavailable", docs("errors", "api-upstream_unavailable"))


FIXES: dict[str, Callable[[Call], Fix]] = {
    "invalid_api_key": _invalid_api_key,
    "invalid_token": _invalid_token,
    "project_suspended": _project_suspended,
    "insufficient_scope": _insufficient_scope,
    "not_found": _not_found,
    "method_not_allowed": _method_not_allowed,
    "rate_limited": _rate_limited,
    "internal_error": _internal_error,
    "upstream_unavailable": _upstream_unavailable,
}
