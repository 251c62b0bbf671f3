"""The errors of the developer API (specification 7.1): one table, one envelope."""

from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.csrf import csrf_exempt

from devportal.lib.cors import allow_any_origin, is_preflight, preflight_answer

EXPOSED = (
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
        """The WWW-Authenticate header (RFC 6750 §3), for 401 and 403."""
        if self.status not in (401, 403):
            return None
        if self.code == "unauthenticated":
            return "Bearer"
        error = "insufficient_scope" if self.status == 403 else "invalid_token"
        scope = f', scope="{" ".join(self.scopes)}"' if self.scopes else ""
        return f'Bearer error="{error}"{scope}'


def answer(error: ApiError) -> HttpResponse:
    """Return the envelope of specification 2.3 for `error`."""
    body = {"error": {"code": error.code, "message": error.message}}
    response = JsonResponse(body, status=error.status)
    if error.challenge:
        response["WWW-Authenticate"] = error.challenge
    if error.retry_after is not None:
        response["Retry-After"] = str(error.retry_after)
    response["Cache-Control"] = "no-store"
    allow_any_origin(response, EXPOSED)
    return response


@csrf_exempt
def not_found(request: HttpRequest) -> HttpResponse:
    """Any path under /v1 that is no endpoint."""
    if is_preflight(request):
        return preflight_answer(("GET",))
    return answer(ApiError("not_found", "There is no such endpoint."))
