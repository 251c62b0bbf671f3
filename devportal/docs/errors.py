"""Descriptions of all errors for the docs: cause and fix of each code.

The codes are defined in the error tables of the sign-in service and of the API. A test fails if one of them has no
entry here.
"""

import re
from dataclasses import dataclass

from api.errors import ERRORS, FORWARD_AUTH_ERRORS
from devportal.console.reason_help import HELP
from oidc.reason_texts import ANY_REQUEST, AUTHORIZATION, AUTHORIZATION_ERRORS, SIGN_OUT, TOKEN, ReasonText
from oidc.reasons import Reason


@dataclass(frozen=True)
class ErrorHelp:
    """Cause and fix of an error."""

    cause: str
    fix: str


@dataclass(frozen=True)
class ErrorRow:
    """A row for an error code on the errors page."""

    code: str
    status: int | None
    help: ErrorHelp


AUTHORIZATION_HELP = {
    "access_denied": ErrorHelp(
        "The person pressed Cancel, or the app can’t take more people yet.",
        "Show that the sign-in was cancelled, and offer to try again.",
    ),
    "consent_required": ErrorHelp(
        "You sent prompt=none, but the person has not allowed everything yet, or the app is unverified and can’t take "
        "more people.",
        "Send the request again without prompt=none, so that the person can see the consent page.",
    ),
    "invalid_request": ErrorHelp(
        "The request is malformed, and error_description says where. Often, code_challenge or state is missing, the "
        "method is not S256, or a parameter was sent twice. If the redirect URL is not registered, your app gets no "
        "response, and the person sees a page with this code.",
        "Correct the part that error_description names. The redirect URL must be exactly the registered one. Check the "
        "slash at the end, the port, http instead of https, and 127.0.0.1 instead of localhost.",
    ),
    "invalid_scope": ErrorHelp(
        "openid is missing, a scope is misspelt, your app is not approved for a scope or not for this redirect URL, or "
        "the API of a scope is turned off or not among the resources of the request.",
        "Request only the scopes that are listed under Authorization. Some of them, such as account.read, need app "
        "review first, and a redirect URL that the review covers.",
    ),
    "invalid_target": ErrorHelp(
        "resource is not the identifier of an API of this service, the API is turned off, or scope contains none of "
        "its scopes.",
        "Send the identifier as the page of the API shows it, and request a scope of that API.",
    ),
    "login_required": ErrorHelp(
        "You sent prompt=none, but nobody is signed in, the sign-in is older than max_age, or the person is not the "
        "one in id_token_hint.",
        "Send the request again without prompt=none, so that the person can sign in.",
    ),
    "registration_not_supported": ErrorHelp(
        "You sent the parameter registration.", "Leave it out: clients are registered in the console."
    ),
    "request_not_supported": ErrorHelp(
        "You sent the parameter request, but signed request objects are not supported.",
        "Send the parameters themselves in the query.",
    ),
    "request_uri_not_supported": ErrorHelp(
        "You sent the parameter request_uri, but the service does not fetch requests from a URL.",
        "Send the parameters themselves in the query.",
    ),
    "server_error": ErrorHelp(
        "Something went wrong on our side.", "Try again. If the error continues, report the request id."
    ),
    "unmet_authentication_requirements": ErrorHelp(
        "Your request or your client’s settings require two factors or a passkey, but you sent prompt=none and the "
        "person has signed in with less, or the person pressed Cancel, or none of the required values is supported.",
        "Send the request without prompt=none, so that the person can meet the level. Offer to try again, or continue "
        "without the feature that needs it.",
    ),
    "unsupported_response_type": ErrorHelp("response_type is not code.", "Send response_type=code."),
}

# Errors of the token endpoint (RFC 6749 §5.2), which the revocation endpoint shares.
TOKEN_HELP = {
    "invalid_request": (
        400,
        ErrorHelp(
            "A parameter is missing, was sent twice or is in the query, the body is not form-encoded, or the client "
            "authenticates in two ways at once.",
            "Send a POST with Content-Type: application/x-www-form-urlencoded. Send the secret either in the "
            "Authorization header or in the body, not in both.",
        ),
    ),
    "invalid_client": (
        401,
        ErrorHelp(
            "The client id is unknown, the secret is wrong, missing, expired or revoked, or a client without a secret "
            "sent one.",
            "Compare the client id and the secret with the console. Browser and installed apps send client_id and no "
            "secret.",
        ),
    ),
    "invalid_grant": (
        400,
        ErrorHelp(
            "The code or refresh token is expired, already used or belongs to another client, redirect_uri or "
            "code_verifier does not match the request, the person removed your app, the client is off, or its project "
            "is suspended.",
            "Start a new sign-in. If the error happens with every code, exchange each code only once and before it "
            "expires, with the same redirect_uri and the verifier of the challenge. Always store the newest refresh "
            "token.",
        ),
    ),
    "invalid_scope": (
        400,
        ErrorHelp(
            "The refresh requests a scope that was not granted, or only scopes of another API than resource.",
            "Leave scope out, or request fewer scopes.",
        ),
    ),
    "invalid_target": (
        400,
        ErrorHelp(
            "resource is not the identifier of an API of this service, the API is turned off, the person granted no "
            "scope of it, or resource was sent more than once.",
            "Send one request for each API, with its identifier as the page of the API shows it. Request a "
            "scope of the API at sign-in first.",
        ),
    ),
    "unsupported_grant_type": (
        400,
        ErrorHelp(
            "grant_type is neither authorization_code nor refresh_token.",
            "Use one of these two. Other flows are not supported.",
        ),
    ),
    "temporarily_unavailable": (
        429,
        ErrorHelp(
            "There were too many requests (429), or the service is temporarily unavailable (503).",
            "Wait as many seconds as Retry-After says, then try again.",
        ),
    ),
}

API_HELP = {
    "unauthenticated": ErrorHelp(
        "The Authorization header is missing, or does not have the form Bearer <credential>.",
        "Send Authorization: Bearer, a space, and the access token or API key. Other places are not supported.",
    ),
    "invalid_api_key": ErrorHelp(
        "The key is mistyped, unknown, revoked or expired, or its owner has left the project.",
        "Compare the last four characters with the console. If the message says that the key was mistyped, copy it "
        "again. If the key has ended, create another one.",
    ),
    "invalid_token": ErrorHelp(
        "The access token has expired or is malformed, the person removed your app, the client is off, or the token is "
        "not for this API: it is for another API, which the message names, or it is an ID token.",
        "If the message names another API, request a token with the resource that it says. Send the access token, not "
        "the ID token. Refresh once. If this fails with invalid_grant, have the person sign in again.",
    ),
    "project_suspended": ErrorHelp(
        "The project of the key or app is suspended.",
        "Your code can’t fix this. The project’s page in the console says why, and how to appeal.",
    ),
    "insufficient_scope": ErrorHelp(
        "The credential is valid, but lacks the scope or permission for this endpoint.",
        "WWW-Authenticate lists the scopes that work, after openid. Request one of them at the next sign-in, or create "
        "an API key with the permission. The request log says what the token had, and which scope waits for review.",
    ),
    "not_found": ErrorHelp(
        "There is no such endpoint.",
        "Check the path. It begins with /v1 and has no slash at its end.",
    ),
    "method_not_allowed": ErrorHelp(
        "The endpoint does not support this method.", "Use GET. The header Allow lists the supported methods."
    ),
    "rate_limited": ErrorHelp(
        "You made too many calls in this minute.",
        "Wait as many seconds as Retry-After says. RateLimit-Remaining in every response says how many calls are left.",
    ),
    "internal_error": ErrorHelp(
        "Something went wrong on our side.", "Try again. If the error continues, report the X-Request-ID header."
    ),
    "upstream_unavailable": ErrorHelp(
        "A service that the endpoint depends on is down or too slow.",
        "Try again soon, and wait longer after each attempt.",
    ),
    # Of calls to the company's own APIs behind forward authentication.
    "api_disabled": ErrorHelp("The operator has turned the API off.", "Your code can’t fix this. Try again later."),
    "path_not_allowed": ErrorHelp(
        "No rule of the API allows this method and path, or the path can be read in several ways.",
        "Compare the method and the path with the documentation of the API. Don’t encode slashes and dots.",
    ),
}

# Errors returned before a call reaches an endpoint, by code: status, cause and fix.
BEFORE_THE_API = {
    "invalid_request": (
        400,
        ErrorHelp(
            "The call has a body that can't be read or is too large (413), or an X-Forwarded-For header with bytes "
            "beyond ASCII.",
            "Send neither. No endpoint needs them.",
        ),
    ),
    "invalid_host": (
        400,
        ErrorHelp("The Host header is not a host of this service.", "Use the URL that the docs show."),
    ),
}


@dataclass(frozen=True)
class ReasonRow:
    """A row for a reason on the errors page. `log` is its text in the sign-in log, if it differs."""

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


def sign_out_reasons() -> list[ReasonRow]:
    """Return the reasons for which a person can't return to the app after signing out."""
    return [_reason_row(reason, text, has_status=False) for reason, text in SIGN_OUT.items()]


def authorization_errors() -> list[ErrorRow]:
    """Return every error that the authorization endpoint may send to an app."""
    return [ErrorRow(code, None, AUTHORIZATION_HELP[code]) for code in AUTHORIZATION_ERRORS]


def token_errors() -> list[ErrorRow]:
    """Return every error of the token endpoint."""
    return [ErrorRow(code, status, help_) for code, (status, help_) in TOKEN_HELP.items()]


def api_errors() -> list[ErrorRow]:
    """Return every error of the developer API, and of the company's own APIs behind forward authentication."""
    known = [ErrorRow(code, status, API_HELP[code]) for code, (status, _) in (ERRORS | FORWARD_AUTH_ERRORS).items()]
    return known + [ErrorRow(code, status, help_) for code, (status, help_) in BEFORE_THE_API.items()]
