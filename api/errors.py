"""The errors of the developer API (specification 7.1): one table, one envelope."""

from dataclasses import dataclass

from django.conf import settings
from django.http import HttpResponse, JsonResponse

from devportal.lib import well_known
from devportal.lib.cors import allow_any_origin

# API keys and access tokens are good here; at userinfo, which has a realm of its own, only the latter.
REALM = "api"
METADATA = "oauth-protected-resource"
METHODS = ("GET", "HEAD")  # of everything here; the server leaves the body out of an answer to HEAD
EXPOSED_HEADERS = (
    "WWW-Authenticate",
    "Retry-After",
    "RateLimit-Limit",
    "RateLimit-Remaining",
    "RateLimit-Reset",
    "ETag",
    "X-Request-ID",
)

# Status and cause by code; the cause is what the schema and the docs say.
ERRORS: dict[str, tuple[int, str]] = {
    "unauthenticated": (401, "No credential was sent."),
    "invalid_api_key": (401, "The API key is unknown, revoked or expired."),
    "invalid_token": (401, "The access token is invalid or expired, access was removed, or the app is off."),
    "project_suspended": (401, "The project is suspended."),
    "insufficient_scope": (403, "The credential lacks the scope; WWW-Authenticate names those that would work."),
    "not_found": (404, "There is no such endpoint."),
    "method_not_allowed": (405, "The endpoint has no such method; Allow names those it has."),
    "rate_limited": (429, "Too many requests; Retry-After says how many seconds to wait."),
    "internal_error": (500, "The service failed."),
    "upstream_unavailable": (502, "The service behind the endpoint is down; retry shortly."),
}


@dataclass(eq=False)
class ApiError(Exception):
    """A refused call. `scopes` are those that would work; `retry_after` is in seconds."""

    code: str
    message: str
    scopes: tuple[str, ...] = ()
    retry_after: int | None = None

    @property
    def status(self) -> int:
        return ERRORS[self.code][0]

    @property
    def challenge(self) -> str | None:
        """The WWW-Authenticate header, for 401 and 403.

        RFC 6750 §3 wants a parameter in any case, and no error where no credential came; RFC 9728 §5.1 has the 401
        say where this API is described.
        """
        if self.status not in (401, 403):
            return None
        parameters = {"realm": REALM}
        if self.status == 403:
            parameters["error"] = "insufficient_scope"
        elif self.code != "unauthenticated":
            parameters["error"] = "invalid_token"
        if self.scopes:
            parameters["scope"] = " ".join(self.scopes)
        if self.status == 401:
            parameters["resource_metadata"] = well_known.address(settings.BASE_URL, METADATA)
        return "Bearer " + ", ".join(f'{name}="{value}"' for name, value in parameters.items())


def wrong_method() -> ApiError:
    """Return the refusal of a method that is none of METHODS."""
    return ApiError("method_not_allowed", "Use GET.")


def error_response(error: ApiError) -> HttpResponse:
    """Return the envelope of specification 2.3 for `error`."""
    body = {"error": {"code": error.code, "message": error.message}}
    response = JsonResponse(body, status=error.status)
    if error.challenge:
        response["WWW-Authenticate"] = error.challenge
    if error.retry_after is not None:
        response["Retry-After"] = str(error.retry_after)
    if error.code == "method_not_allowed":
        response["Allow"] = ", ".join(METHODS)
    response["Cache-Control"] = "no-store"
    allow_any_origin(response, EXPOSED_HEADERS)
    return response
