"""CORS headers for the endpoints that browser apps call, on responses, errors and preflights. Pages never get them."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from core.http.headers import allow_any_origin, is_preflight, preflight_answer

# Both names of the discovery document, with one or two leading slashes. Clients may append the issuer's path.
DOCUMENTS = tuple(
    f"{slash}/.well-known/{name}"
    for name in ("openid-configuration", "oauth-authorization-server")
    for slash in ("", "/")
)
ENDPOINTS = {
    "/connect/token": ("POST",),
    "/connect/userinfo": ("GET", "POST"),
    "/connect/revoke": ("POST",),
    "/.well-known/jwks": ("GET",),
} | dict.fromkeys(DOCUMENTS, ("GET",))
_BELOW_DOCUMENTS = tuple(f"{document}/" for document in DOCUMENTS)
EXPOSED = ("WWW-Authenticate", "Retry-After", "X-Request-ID")


class CorsMiddleware:
    """Add the CORS headers. This middleware comes before any other that may respond in place of a view."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        below = request.path_info.startswith(_BELOW_DOCUMENTS)
        methods = ("GET",) if below else ENDPOINTS.get(request.path_info)
        if methods is None:
            return self.get_response(request)
        if is_preflight(request):
            return preflight_answer(request, methods)
        response = self.get_response(request)
        allow_any_origin(response, EXPOSED)
        return response
