"""The errors of the developer API (specification 7.1): one table, one envelope."""

from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse, JsonResponse

from devportal.lib.cors import allow_any_origin

EXPOSED = ("WWW-Authenticate", "Retry-After", "X-Request-ID", "ETag")

STATUS = {
    "unauthenticated": 401,
    "invalid_api_key": 401,
    "invalid_token": 401,
    "project_suspended": 401,
    "insufficient_scope": 403,
    "not_found": 404,
    "method_not_allowed": 405,
    "internal_error": 500,
}


@dataclass(eq=False)
class ApiError(Exception):
    """A refused call. `scopes` are those that would work, for `insufficient_scope`."""

    code: str
    message: str
    scopes: tuple[str, ...] = ()

    @property
    def status(self) -> int:
        return STATUS[self.code]

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
    """Return the envelope of 2.3 for `error`."""
    body = {"error": {"code": error.code, "message": error.message}}
    response = JsonResponse(body, status=error.status)
    if error.challenge:
        response["WWW-Authenticate"] = error.challenge
    response["Cache-Control"] = "no-store"
    allow_any_origin(response, EXPOSED)
    return response


def not_found(request: HttpRequest, path: str = "") -> HttpResponse:
    """Any path under /v1 that is no endpoint."""
    return answer(ApiError("not_found", "There is no such endpoint."))
