"""Headers of pages: Content-Security-Policy, Cache-Control, CORS and compression (docs/security.md#caching)."""

import functools
import re
from collections.abc import Iterable
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware
from django.urls import Resolver404, resolve
from django.utils.cache import add_never_cache_headers

from core.http.responses import FixedHeaders
from core.marks import Mark

# Pages that an app's request can lead to, with /connect/. The app may have opened them in a popup.
in_popups = Mark("in_popups")

_PAGES = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self' data:",
    "font-src": "'self'",
    "connect-src": "'self'",
    "form-action": "'self'",
    "frame-ancestors": "'none'",
    "base-uri": "'none'",
}
# The admin theme uses inline styles and scripts; its less strict policy applies only to /admin/.
_ADMIN = _PAGES | {
    "script-src": "'self' 'unsafe-inline' 'unsafe-eval'",
    "style-src": "'self' 'unsafe-inline'",
}


def _policy(directives: dict[str, str]) -> str:
    return "; ".join(f"{name} {value}" for name, value in directives.items())


PAGE_POLICY = _policy(_PAGES)
ADMIN_POLICY = _policy(_ADMIN)
# For a page whose only form goes to an app. Chromium applies `form-action` to every redirect that follows a form, and
# where the app's own redirects lead is the app's affair.
FORM_TO_APP_POLICY = _policy({name: value for name, value in _PAGES.items() if name != "form-action"})


def protect(response: HttpResponse) -> HttpResponse:
    """Set all security headers on a response that no other middleware processes."""
    response.headers["Content-Security-Policy"] = PAGE_POLICY
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["X-Frame-Options"] = settings.X_FRAME_OPTIONS
    response.headers["Referrer-Policy"] = settings.SECURE_REFERRER_POLICY
    return response


_TEXT = ("text/", "application/json", "application/javascript", "application/vnd.oai.openapi", "image/svg+xml")


class PageHeadersMiddleware(GZipMiddleware):
    """Compresses texts that are sent in one piece, and sets the headers of pages.

    Pictures and archives would not get smaller, and streamed responses, such as static files, are sent as they are.
    The headers are the Content-Security-Policy, if the view did not set it, and Cross-Origin-Opener-Policy outside of
    popups. Every response to a browser that has a session, and every form, gets `Cache-Control: no-store`. It does not
    matter whether the person is signed in: a session may also hold an email address that waits for its code, or an
    app's request. Each page with a form sets the CSRF cookie, so it is meant for one browser only.
    """

    def __call__(self, request: HttpRequest) -> Any:
        """Return the response with its headers."""
        has_session = settings.SESSION_COOKIE_NAME in request.COOKIES
        response: Any = super().__call__(request)
        if (has_session or response.cookies) and not _is_public(response):
            add_never_cache_headers(response)
        policy = ADMIN_POLICY if request.path.startswith("/admin/") else PAGE_POLICY
        response.headers.setdefault("Content-Security-Policy", policy)
        if not _may_be_in_popup(request):
            response.headers["Cross-Origin-Opener-Policy"] = "same-origin"
        response.headers.setdefault("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
        return response

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> Any:
        """Compress the response if that makes it smaller; an ETag becomes weak (RFC 9110 §8.8.1)."""
        if response.streaming or not response.get("Content-Type", "").startswith(_TEXT):
            return response
        return super().process_response(request, response)


def _may_be_in_popup(request: HttpRequest) -> bool:
    """Return whether an app's request can lead here. An app would lose a popup that gets an opener policy."""
    if request.path.startswith(settings.POPUP_PREFIXES):
        return True
    try:
        match = request.resolver_match or resolve(request.path_info)  # an early response has not been routed
    except Resolver404:
        return False
    return in_popups.is_on(match.func)


def _is_public(response: HttpResponseBase) -> bool:
    """Return whether a view has marked its response as `public`: logos, pictures, the OpenAPI schema."""
    directives = response.get("Cache-Control", "").replace(" ", "").lower().split(",")
    return "public" in directives and not response.cookies


PREFLIGHT_SECONDS = 3600
_ASKED_HEADERS = "Access-Control-Request-Headers"
# For a preflight whose list of headers is missing, malformed or too long. `*` does not cover Authorization.
ANY_HEADER = "Authorization, *"
_LONGEST_HEADER_LIST = 2048
_FIELD_NAME = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"  # a token of RFC 9110 §5.6.2
_FIELD_NAMES = re.compile(rf"{_FIELD_NAME}(?:[ \t]*,[ \t]*{_FIELD_NAME})*")


def allow_any_origin(response: HttpResponseBase, exposed: Iterable[str] = ()) -> None:
    """Let any origin read `response` (without credentials) and the headers named in `exposed`."""
    _headers(tuple(exposed)).set_on(response)


@functools.lru_cache(maxsize=16)
def _headers(exposed: tuple[str, ...]) -> FixedHeaders:
    headers = {"Access-Control-Allow-Origin": "*"}
    if exposed:
        headers["Access-Control-Expose-Headers"] = ", ".join(exposed)
    return FixedHeaders(headers)


def is_preflight(request: HttpRequest) -> bool:
    """Return whether this is a CORS preflight, and not another OPTIONS request."""
    return request.method == "OPTIONS" and "Access-Control-Request-Method" in request.headers


def preflight_answer(request: HttpRequest, methods: Iterable[str]) -> HttpResponse:
    """Return the response to a preflight for an endpoint with these methods. All headers that it asks for are allowed.

    Libraries and monitoring tools add headers to the requests of a page. No credentials are sent, so none does harm.
    """
    response = HttpResponse(status=204)
    allow_any_origin(response)
    response["Access-Control-Allow-Methods"] = ", ".join(methods)
    response["Access-Control-Allow-Headers"] = _allowed_headers(request.headers.get(_ASKED_HEADERS, ""))
    response["Access-Control-Max-Age"] = str(PREFLIGHT_SECONDS)
    response["Vary"] = _ASKED_HEADERS
    return response


def _allowed_headers(asked: str) -> str:
    if len(asked) > _LONGEST_HEADER_LIST or not _FIELD_NAMES.fullmatch(asked):
        return ANY_HEADER
    return ", ".join(name.strip() for name in asked.split(","))
