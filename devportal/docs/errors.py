"""Descriptions of all errors for the docs: cause and fix of each code.

The codes themselves stand in the error tables of the sign-in service and of the API; a test fails when one of them
has no entry here.
"""

import re
from dataclasses import dataclass

from api.errors import ERRORS
from devportal.console.reason_help import HELP
from oidc.reason_texts import ANY_REQUEST, AUTHORIZATION, AUTHORIZATION_ERRORS, TOKEN, ReasonText
from oidc.reasons import Reason


@dataclass(frozen=True)
class ErrorHelp:
    """Cause and fix of an error."""

    cause: str
    fix: str


@dataclass(frozen=True)
class ErrorRow:
    """An entry for an error code on the page of errors."""

    code: str
    status: int | None
    help: ErrorHelp


AUTHORIZATION_HELP = {
    "access_denied": ErrorHelp(
        "The person pressed Cancel, or came back from the page that says that the app is full.",
        "Say that the sign-in was cancelled, and offer to try again.",
    ),
    "consent_required": ErrorHelp(
        "You sent prompt=none, and the person has not allowed all of it yet; or the app is unverified and full.",
        "Send the request again without prompt=none, so that the consent page can be shown.",
    ),
    "invalid_request": ErrorHelp(
        "The request is malformed; error_description names the part. Often code_challenge or state is missing, "
        "the method is not S256, a parameter is there twice. If the redirect URL itself is not registered, nothing is "
        "sent to your app: the person sees a page with this code.",
        "Correct the part that is named. A redirect URL has to be registered character for character: look for a slash "
        "at the end, a port, http for https, 127.0.0.1 for localhost.",
    ),
    "invalid_scope": ErrorHelp(
        "openid is missing, a scope is misspelt, or it is one that your app is not approved for, or not with "
        "this redirect URL's host.",
        "Ask for the scopes listed under Authorization only; account.read needs app review first, and a redirect URL "
        "whose host was in it.",
    ),
    "login_required": ErrorHelp(
        "You sent prompt=none, and nobody is signed in, or longer ago than max_age allows, or somebody else than "
        "id_token_hint says.",
        "Send the request again without prompt=none; the sign-in page appears.",
    ),
    "registration_not_supported": ErrorHelp("The parameter registration was sent.", "Leave it out."),
    "request_not_supported": ErrorHelp(
        "The parameter request was sent: requests as signed objects are not read.",
        "Send the parameters themselves.",
    ),
    "request_uri_not_supported": ErrorHelp(
        "The parameter request_uri was sent: requests are not fetched from elsewhere.",
        "Send the parameters themselves.",
    ),
    "server_error": ErrorHelp("The service failed.", "Try again; if it stays, report the request id."),
    "unmet_authentication_requirements": ErrorHelp(
        "Your request or your client's settings require two factors or a passkey. You sent prompt=none, and the person "
        "has shown less; or they pressed Cancel when they were asked for it; or no value that you require exists.",
        "Without prompt=none, people are led to it. Offer to try again, or go on without what needs it.",
    ),
    "unsupported_response_type": ErrorHelp("response_type is something else than code.", "Send response_type=code."),
}

# Errors of the token endpoint (RFC 6749 §5.2), which the revocation endpoint shares.
TOKEN_HELP = {
    "invalid_request": (
        400,
        ErrorHelp(
            "A parameter is missing, there twice, or in the query; the body is not form-encoded; or the client "
            "authenticates in two ways at once.",
            "Send one POST with Content-Type: application/x-www-form-urlencoded, and the secret in the Authorization "
            "header or in the body, not both.",
        ),
    ),
    "invalid_client": (
        401,
        ErrorHelp(
            "The client id is unknown; the secret is wrong, missing, expired or revoked; or it came from a client that "
            "has none.",
            "Compare client id and secret with the console. Browser and installed apps send client_id and no secret.",
        ),
    ),
    "invalid_grant": (
        400,
        ErrorHelp(
            "The code or refresh token is expired, used already, or another client's; redirect_uri or code_verifier "
            "differ from the request's; the person removed your app; or the client is off or its project suspended.",
            "Start a new sign-in. If it happens to every code: exchange it once only, within its life, with the same "
            "redirect_uri and the verifier that belongs to the challenge. Of refresh tokens keep the newest.",
        ),
    ),
    "invalid_scope": (
        400,
        ErrorHelp("A refresh asks for a scope that was not granted.", "Leave scope out, or ask for fewer scopes."),
    ),
    "unsupported_grant_type": (
        400,
        ErrorHelp(
            "grant_type is neither authorization_code nor refresh_token.",
            "Use one of the two; there is no other flow.",
        ),
    ),
    "temporarily_unavailable": (
        429,
        ErrorHelp(
            "Too many requests (429), or the service can't answer just now (503).",
            "Wait as many seconds as Retry-After says, then try again.",
        ),
    ),
}

API_HELP = {
    "unauthenticated": ErrorHelp(
        "No credential came along: the Authorization header is missing, or is not of the form Bearer <credential>.",
        "Send Authorization: Bearer, a space, and the access token or API key. It is read from nowhere else.",
    ),
    "invalid_api_key": ErrorHelp(
        "The key is mistyped, unknown, revoked or expired, or its owner has left the project.",
        "Compare the last four characters with the console; make another key if this one has ended.",
    ),
    "invalid_token": ErrorHelp(
        "The access token has expired or is malformed; the person removed your app; the client is off; or the token "
        "is none for this API (an ID token, say).",
        "Refresh it once. If that is refused with invalid_grant, have the person sign in again.",
    ),
    "project_suspended": ErrorHelp(
        "The project of the key or app is suspended.",
        "Your code can’t fix this. An owner of the project can ask the operator of the service.",
    ),
    "insufficient_scope": ErrorHelp(
        "The credential is good, but lacks what this endpoint asks for.",
        "WWW-Authenticate lists scopes that would work: ask for one of them at the next sign-in, or give the key the "
        "permission.",
    ),
    "not_found": ErrorHelp(
        "There is no such endpoint.",
        "Check the path: it begins with /v1 and has no slash at its end.",
    ),
    "method_not_allowed": ErrorHelp("The endpoint has no such method.", "Use GET; Allow lists what there is."),
    "rate_limited": ErrorHelp(
        "Too many calls in this minute.",
        "Wait as many seconds as Retry-After says. RateLimit-Remaining, on every answer, tells how many are left.",
    ),
    "internal_error": ErrorHelp("The service failed.", "Try again; if it stays, report the X-Request-ID header."),
    "upstream_unavailable": ErrorHelp(
        "What stands behind the endpoint is down or does not answer in time.",
        "Try again shortly, with growing pauses.",
    ),
}

# Errors returned before a call reaches an endpoint, by code: status, cause and fix.
BEFORE_THE_API = {
    "invalid_request": (
        400,
        ErrorHelp(
            "The call has a body that can't be read or is too large (413).",
            "Send no body: no endpoint takes one.",
        ),
    ),
    "invalid_host": (
        400,
        ErrorHelp("The Host header is not one of this service.", "Call the address that the docs show."),
    ),
}


@dataclass(frozen=True)
class ReasonRow:
    """An entry for a reason on the page of errors. `log` is its text in the sign-in log, if that differs."""

    reason: str
    error: str
    status: int | None
    description: str
    log: str
    help: ErrorHelp


def _reason_row(reason: Reason, text: ReasonText, *, has_status: bool) -> ReasonRow:
    help_ = HELP[reason]
    status = text.status if has_status else None
    log = _open_places(text.developer)
    return ReasonRow(reason, text.error, status, _open_places(text.public), log, ErrorHelp(help_.cause, help_.fix))


def _open_places(text: str) -> str:
    return re.sub(r"\{[^}]+\}", "…", text)


def authorization_reasons() -> list[ReasonRow]:
    """Return the reasons for which only the authorization endpoint rejects a request."""
    return [_reason_row(reason, text, has_status=False) for reason, text in AUTHORIZATION.items()]


def token_reasons() -> list[ReasonRow]:
    """Return the reasons for which the token, revocation and userinfo endpoints reject a request."""
    return [_reason_row(reason, text, has_status=True) for reason, text in (ANY_REQUEST | TOKEN).items()]


def authorization_errors() -> list[ErrorRow]:
    """Return every error that the authorization endpoint may send to an app."""
    return [ErrorRow(code, None, AUTHORIZATION_HELP[code]) for code in AUTHORIZATION_ERRORS]


def token_errors() -> list[ErrorRow]:
    """Return every error of the token endpoint."""
    return [ErrorRow(code, status, help_) for code, (status, help_) in TOKEN_HELP.items()]


def api_errors() -> list[ErrorRow]:
    """Return every error of the developer API."""
    known = [ErrorRow(code, status, API_HELP[code]) for code, (status, _) in ERRORS.items()]
    return known + [ErrorRow(code, status, help_) for code, (status, help_) in BEFORE_THE_API.items()]
