"""Error pages: handlers for 400, 403, 404, 405, 429, 500, 503 and CSRF failures, and for malformed input."""

import sys
from collections.abc import Callable
from urllib.parse import unquote_to_bytes

from django.conf import settings
from django.core.exceptions import BadRequest, RequestDataTooBig, TooManyFieldsSent
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.cache import add_never_cache_headers
from django.utils.http import escape_leading_slashes
from django.utils.log import log_response

from core import clock
from core.http import request_id
from core.http.direct_dispatch import is_direct
from core.http.headers import allow_any_origin
from core.http.responses import envelope, link_to_docs

RETRY_SECONDS = 5
LONGEST_RETRY_AFTER = 60


class ServiceBusy(Exception):
    """There is too much work right now; shown as a page that asks people to try again (503)."""


def _page(request: HttpRequest, status: int, template: str = "", **context: object) -> HttpResponse:
    """Return an error page with `no-store`, because caches may otherwise store a 404."""
    shown = {"request_id": request_id.current()} | context
    response = render(request, template or f"{status}.html", shown, status=status)
    add_never_cache_headers(response)
    return response


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Return 400: the request can't be understood, or is a form that holds too much."""
    return _page(request, 400, is_too_large=isinstance(exception, RequestDataTooBig | TooManyFieldsSent))


def unknown_host(request: HttpRequest) -> HttpResponse:
    """Return 400: the Host header does not belong to this service."""
    message = "This service is not available under the host name in this request."
    return _bad_header(request, "invalid_host", message, "400_host.html", auth_url=settings.AUTH_URL)


def hidden_client(request: HttpRequest) -> HttpResponse:
    """Return 400: a proxy sent an X-Forwarded-For that can't be read."""
    message = "The X-Forwarded-For header can't be read. It must contain only IP addresses in ASCII."
    return _bad_header(request, "invalid_request", message, "400_forwarded.html")


def _bad_header(request: HttpRequest, code: str, message: str, template: str, **context: object) -> HttpResponse:
    """Return 400 as a page, or as JSON with the code of the API and this message."""
    if not is_direct(request.path_info):
        return _page(request, 400, template, **context)
    if request.path_info.startswith(settings.API_PATH):
        response = JsonResponse(envelope(code, message), status=400)
        link_to_docs(response, code)
    else:
        response = JsonResponse({"error": "invalid_request", "error_description": message}, status=400)
    add_never_cache_headers(response)
    return response


def not_on_this_host(request: HttpRequest, is_api: bool) -> HttpResponse:
    """Return 404 for a path that another host of the service serves, as JSON on the API."""
    if not is_api:
        return _page(request, 404)
    response = JsonResponse(envelope("not_found", "There is no such endpoint."), status=404)
    response["Cache-Control"] = "no-store"
    link_to_docs(response, "not_found")
    allow_any_origin(response, ("Link", request_id.HEADER))
    return response


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Return 403: the person is signed in, but not allowed to do this."""
    return _page(request, 403)


def page_not_found(request: HttpRequest, exception: Exception, template: str = "") -> HttpResponse:
    """Return 404: the page does not exist, or this person may not see it."""
    return _page(request, 404, template)


def method_not_allowed(request: HttpRequest, back: str) -> HttpResponse:
    """Return 405 for a form's URL; `back` is the path of the page with the form."""
    return _page(request, 405, back=back, was_opened=request.method in ("GET", "HEAD"))


def too_many_requests(request: HttpRequest, wait: int = LONGEST_RETRY_AFTER) -> HttpResponse:
    """Return 429 for pages: the text states the full wait in seconds, Retry-After at most a minute of it."""
    response = _page(request, 429, wait=clock.in_words(wait), seconds=wait)
    response["Retry-After"] = str(min(max(wait, 1), LONGEST_RETRY_AFTER))
    return response


def server_error(request: HttpRequest) -> HttpResponse:
    """Return 500, or 503 ("try again") if the database failed or there was too much work.

    The page is rendered without context processors, which may be what failed.
    """
    if isinstance(sys.exc_info()[1], DatabaseError | ServiceBusy):
        return service_unavailable(request)
    context = {"request_id": request_id.current(), "request": request, "support_email": settings.SUPPORT_EMAIL}
    response = HttpResponse(render_to_string("500.html", context), status=500)
    add_never_cache_headers(response)
    return response


def service_unavailable(request: HttpRequest) -> HttpResponse:
    """Return 503 ("try again"): a part of the service does not respond, or has too much work."""
    context = {"request_id": request_id.current(), "request": request}
    response = HttpResponse(render_to_string("503.html", context), status=503)
    add_never_cache_headers(response)
    response["Retry-After"] = str(RETRY_SECONDS)
    return response


def csrf_failure(request: HttpRequest, reason: str = "", *, again: str = "", following: str = "") -> HttpResponse:
    """Return 403 for a form that was open too long or came from another site; the page says what to do.

    `again` is the URL of the form's page; `following` is where people continue if they have signed in meanwhile.
    """
    return _page(request, 403, "403_csrf.html", again=again, following=following)


def has_malformed_bytes(encoded: str) -> bool:
    """Return whether percent-encoded text decodes to a NUL or to invalid UTF-8."""
    decoded = unquote_to_bytes(encoded.replace("+", " "))
    if b"\x00" in decoded:
        return True
    try:
        decoded.decode()
    except UnicodeDecodeError:
        return True
    return False


# Set in the environ by core/serving/application.py. Django's test client sends an empty header if it has no cookies.
UNREADABLE_COOKIES = "openport.unreadable_cookies"
DELETE_COOKIES = "delete_cookies"  # the name of the button on the page about cookies that can't be read


def unreadable_cookies(request: HttpRequest) -> HttpResponse:
    """Return 400: the Cookie header can't be read, so nobody is signed in and no form can be sent.

    Its button asks the browser to delete the cookies of the whole registrable domain, because their names are not
    known. A page of another site can't press it.
    """
    is_own = request.headers.get("Sec-Fetch-Site") == "same-origin"
    if is_own and request.method == "POST" and DELETE_COOKIES in request.POST:
        response: HttpResponse = HttpResponseRedirect(escape_leading_slashes(request.get_full_path()))
        response["Clear-Site-Data"] = '"cookies"'
        add_never_cache_headers(response)
        return response
    response = _page(request, 400, "400_cookies.html", host=request.get_host(), button=DELETE_COOKIES)
    log_response("Refused a Cookie header that is empty or can't be read", response=response, request=request)
    return response


class MalformedInputMiddleware:
    """Returns 400 for cookies that can't be read, and for a NUL in a path, query or form field.

    PostgreSQL can't store NUL, and apart from Django's form fields nothing rejects it.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if UNREADABLE_COOKIES in request.META and not request.path.startswith(settings.PATHS_WITHOUT_COOKIES):
            return unreadable_cookies(request)
        if any("\x00" in value for value in request.COOKIES.values()):
            request.COOKIES.clear()  # the error page must not read a session: its key may contain a NUL
        if not request.path.startswith(settings.MALFORMED_INPUT_PATHS) and (
            "\x00" in request.path or has_malformed_bytes(request.META.get("QUERY_STRING", ""))
        ):
            return bad_request(request, BadRequest())
        return self.get_response(request)
