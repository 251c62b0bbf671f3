"""Cache-Control of pages: personal pages are `no-store` (docs/security.md#caching)."""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.cache import add_never_cache_headers


def _is_public(response: HttpResponseBase) -> bool:
    """Return whether a view has marked its response `public`: logos, pictures, the OpenAPI schema."""
    directives = response.get("Cache-Control", "").replace(" ", "").lower().split(",")
    return "public" in directives and not response.cookies


class PersonalPagesMiddleware:
    """Sends `Cache-Control: no-store` with every answer to a browser that has a session, and with every form.

    Whether somebody is signed in is not asked: a session may also hold an address that waits for its code, or an app's
    request. Each page with a form sets the CSRF cookie, so a page that sets a cookie is for one browser alone.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        has_session = settings.SESSION_COOKIE_NAME in request.COOKIES
        response = self.get_response(request)
        if (has_session or response.cookies) and not _is_public(response):
            add_never_cache_headers(response)
        return response
