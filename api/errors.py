"""The errors of the developer API and of forward authentication: their tables, one envelope, the EXCEPTION_HANDLER."""

import logging
from typing import Any, NamedTuple

from django.conf import settings
from django.core.exceptions import PermissionDenied as DjangoPermissionDenied
from django.db import DatabaseError
from django.http import Http404, JsonResponse
from rest_framework import exceptions

from accounts.profile.sources import SourceFailed
from core.http import request_id, responses
from core.http.headers import allow_any_origin
from core.http.responses import envelope, link_to_docs
from core.serving.errors import refusals_of
from core.telemetry import metrics
from oidc.apis.registry import OPENID
from oidc.values.reasons import Facts

log = logging.getLogger(__name__)

# API keys and access tokens are valid here; userinfo has a separate realm, and only accepts access tokens.
REALM = "api"
METADATA = "oauth-protected-resource"
METHODS = ("GET", "HEAD")  # of every endpoint; the server omits the body of a response to HEAD
# The codes for a key or token that is known but not accepted: such a call does not count as use of it.
DEAD_CREDENTIAL = frozenset({"invalid_api_key", "invalid_token", "project_suspended"})
EXPOSED_HEADERS = (
    "WWW-Authenticate",
    "Retry-After",
    "RateLimit-Limit",
    "RateLimit-Remaining",
    "RateLimit-Reset",
    "ETag",
    "Link",
    "Deprecation",
    "Sunset",
    "X-Request-ID",
)


class ErrorText(NamedTuple):
    """An error: its HTTP status, cause and fix in the docs, and summary in the OpenAPI document, if it is there."""

    status: int
    cause: str
    fix: str
    summary: str = ""


ERRORS = {
    "unauthenticated": ErrorText(
        401,
        "The Authorization header is missing, or does not have the form Bearer <credential>.",
        "Send Authorization: Bearer, a space, and the access token or API key. Other places are not supported.",
        "No credential was sent.",
    ),
    "invalid_api_key": ErrorText(
        401,
        "The key is mistyped, unknown, revoked or expired, or its owner has left the project.",
        "Compare the last four characters with the console. If the message says that the key was mistyped, copy it "
        "again. If the key has ended, create another one.",
        "The API key is unknown, revoked or expired.",
    ),
    "invalid_token": ErrorText(
        401,
        "The access token has expired or is malformed, the person removed your app, the app is off, or the token is "
        "not for this API: it is for another API, which the message names, or it is an ID token.",
        "If the message names another API, request a token with the resource that it says. Send the access token, not "
        "the ID token. Refresh once. If this fails with invalid_grant, have the person sign in again.",
        "The access token is invalid or expired, access was removed, or the app is turned off.",
    ),
    "project_suspended": ErrorText(
        401,
        "The project of the key or app is suspended.",
        "Your code can’t fix this. The project’s page in the console says why, and how to appeal.",
        "The project is suspended.",
    ),
    "insufficient_scope": ErrorText(
        403,
        "The credential is valid, but lacks the scope for this endpoint.",
        "WWW-Authenticate lists the scopes that work, after openid. Request one of them at the next sign-in, or create "
        "an API key with the scope. The request log says what the token had, and which scope waits for review.",
        "The credential lacks the scope; WWW-Authenticate lists the scopes that would work.",
    ),
    "not_found": ErrorText(
        404,
        "There is no such endpoint.",
        "Check the path. It begins with /v1 and has no slash at its end.",
        "There is no such endpoint.",
    ),
    "method_not_allowed": ErrorText(
        405,
        "The endpoint does not support this method.",
        "Use GET. The header Allow lists the supported methods.",
        "The endpoint does not have this method; Allow lists the methods that it has.",
    ),
    "rate_limited": ErrorText(
        429,
        "You made too many requests in this minute.",
        "Wait as many seconds as Retry-After says. RateLimit-Remaining says how many requests are left.",
        "Too many requests; Retry-After is the number of seconds to wait.",
    ),
    "internal_error": ErrorText(
        500,
        "Something went wrong on our side.",
        "Try again. If the error continues, report the X-Request-ID header.",
        "The service failed.",
    ),
    "upstream_unavailable": ErrorText(
        502,
        "A service that the endpoint depends on is down or too slow.",
        "Try again soon, and wait longer after each attempt.",
        "The service behind the endpoint is down; retry shortly.",
    ),
}
# Errors that only forward authentication returns (docs/sign-in.md#forward-authentication).
FORWARD_AUTH_ERRORS = {
    "api_disabled": ErrorText(
        403,
        "The operator has turned the API off.",
        "Your code can’t fix this. Try again later.",
    ),
    "path_not_allowed": ErrorText(
        403,
        "No rule of the API allows this method and path, or the path can be read in several ways.",
        "Compare the method and the path with the documentation of the API. Don’t encode slashes and dots.",
    ),
}
KNOWN_ERRORS = ERRORS | FORWARD_AUTH_ERRORS
# Errors returned before a call reaches an endpoint.
ERRORS_BEFORE_ENDPOINTS = {
    "invalid_request": ErrorText(
        400,
        "The call has a body that can't be read or is too large (413), or an X-Forwarded-For header with bytes beyond "
        "ASCII.",
        "Send neither. No endpoint needs them.",
    ),
    "invalid_host": ErrorText(400, "The Host header is not a host of this service.", "Use the URL that the docs show."),
}


class ApiError(exceptions.APIException):
    """A refused call. `scopes` are the ones that would work; `retry_after` is in seconds.

    `facts` are for the request log, which explains the refusal to developers (devportal/console/logs/fixes.py).
    """

    def __init__(
        self,
        code: str,
        message: str,
        scopes: tuple[str, ...] = (),
        retry_after: int | None = None,
        facts: Facts | None = None,
    ) -> None:
        super().__init__(message, code)
        self.status_code = KNOWN_ERRORS[code].status
        self.code = code
        self.scopes = scopes
        self.retry_after = retry_after
        self.facts: Facts = facts or {}

    @property
    def challenge(self) -> str | None:
        """The WWW-Authenticate header, for 401 and 403.

        RFC 6750 §3 requires a parameter in any case, and no error if no credential was sent. RFC 9728 §5.1 requires
        that a 401 says where this API is described.
        """
        metadata = responses.address(settings.BASE_URL, METADATA) if self.status_code == 401 else None
        return self.challenge_of(REALM, metadata)

    def challenge_of(self, realm: str, metadata: str | None) -> str | None:
        """Return the challenge of an API. `metadata` is the URL of its RFC 9728 document.

        Agents request exactly the scopes that it names, so they include openid, which every authorization needs.
        """
        if self.status_code not in (401, 403) or self.code in FORWARD_AUTH_ERRORS:
            return None
        parameters = {"realm": realm}
        if self.status_code == 403:
            parameters["error"] = "insufficient_scope"
        elif self.code != "unauthenticated":
            parameters["error"] = "invalid_token"
        if self.scopes:
            parameters["scope"] = " ".join(dict.fromkeys((OPENID, *self.scopes)))
        if metadata is not None:
            parameters["resource_metadata"] = metadata
        return "Bearer " + ", ".join(f'{name}="{value}"' for name, value in parameters.items())


class ErrorResponse(JsonResponse):
    """The envelope of an error, with its headers."""

    def __init__(self, error: ApiError) -> None:
        super().__init__(envelope(error.code, str(error.detail)), status=error.status_code)
        self.code, self.facts = error.code, error.facts
        metrics.API_REFUSALS.count(error.code)
        link_to_docs(self, error.code)
        if error.challenge:
            self["WWW-Authenticate"] = error.challenge
        if error.retry_after is not None:
            self["Retry-After"] = str(error.retry_after)
        if error.code == "method_not_allowed":
            self["Allow"] = ", ".join(METHODS)
        self["Cache-Control"] = "no-store"
        allow_any_origin(self, EXPOSED_HEADERS)


def no_credential() -> ApiError:
    """Return the `unauthenticated` error."""
    return ApiError("unauthenticated", "Send a credential as: Authorization: Bearer <credential>.")


def limit_reached(retry_after: int | None) -> ApiError:
    """Return the `rate_limited` error of a limit of calls."""
    text = "Too many requests. Wait for the seconds in Retry-After."
    return ApiError("rate_limited", text, retry_after=retry_after)


def wrong_method() -> ApiError:
    """Return the `method_not_allowed` error."""
    return ApiError("method_not_allowed", "Use GET.")


def exception_handler(error: Exception, context: dict[str, Any]) -> ErrorResponse:
    """Return the envelope for an exception of a view; this is the EXCEPTION_HANDLER of Django REST framework."""
    refusal = error if isinstance(error, ApiError) else _known(error) or unforeseen(error)
    if refusal.status_code == 401 and not refusal.scopes:
        refusal.scopes = getattr(context.get("view"), "required_scopes", ())
    return ErrorResponse(refusal)


def _known(error: Exception) -> ApiError | None:
    """Return a refusal of Django REST framework or Django as an error of ERRORS; None for any other exception."""
    match error:
        case exceptions.NotAuthenticated():
            return no_credential()
        case exceptions.AuthenticationFailed():
            return ApiError("invalid_token", str(error))
        case exceptions.PermissionDenied():
            return ApiError("insufficient_scope", str(error))
        case DjangoPermissionDenied():
            return ApiError("insufficient_scope", "The credential may not do this.")
        case exceptions.NotFound() | Http404():
            return ApiError("not_found", "There is no such endpoint.")
        case exceptions.MethodNotAllowed():
            return wrong_method()
        case exceptions.Throttled():
            return limit_reached(error.wait)  # type: ignore[attr-defined]  # stubs lack it
    return None


@refusals_of("/v1", "/v1/")
def refused_by_server(status: int, message: str) -> JsonResponse:
    """Return the envelope of a request that the server refuses before Django: too much work (503), or its body."""
    code = "upstream_unavailable" if status == 503 else "invalid_request"
    request_id.set_current(request_id.choose({}))  # no middleware has chosen one yet
    response = JsonResponse(envelope(code, message), status=status)
    response[request_id.HEADER] = request_id.current()
    link_to_docs(response, code)
    allow_any_origin(response, EXPOSED_HEADERS)
    return response


def unforeseen(error: Exception) -> ApiError:
    """Return the error that a caller gets for a failure: an unavailable backend, or an internal error."""
    if isinstance(error, SourceFailed | DatabaseError):
        log.warning("A backend of an API call does not respond.", exc_info=error)
        return ApiError("upstream_unavailable", "The service behind this endpoint is down. Retry shortly.")
    log.error("An API call failed.", exc_info=error)
    return ApiError("internal_error", "The service failed. Try again.")
