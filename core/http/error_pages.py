"""Error pages: handlers for 400, 403, 404, 405, 429, 500, 503 and CSRF failures."""

import sys

from django.conf import settings
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.cache import add_never_cache_headers

from core import clock
from core.http import request_id
from core.http.cors import allow_any_origin
from core.http.direct_dispatch import is_direct
from core.http.responses import envelope, link_to_docs

RETRY_SECONDS = 5
LONGEST_RETRY_AFTER = 60


class ServiceBusy(Exception):
    """More is asked for than can be done now: a page that asks to try again (503)."""


def _page(request: HttpRequest, status: int, template: str = "", **context: object) -> HttpResponse:
    """Return an error page with `no-store`: caches may store a 404 otherwise."""
    shown = {"request_id": request_id.current()} | context
    response = render(request, template or f"{status}.html", shown, status=status)
    add_never_cache_headers(response)
    return response


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """400: the request can't be understood."""
    return _page(request, 400)


def unknown_host(request: HttpRequest) -> HttpResponse:
    """400: the Host header does not belong to this service."""
    if not is_direct(request.path_info):
        return _page(request, 400, "400_host.html", auth_url=settings.AUTH_URL)
    message = "This service does not answer under the host that the request names."
    if request.path_info.startswith(settings.API_PATH):
        response = JsonResponse(envelope("invalid_host", message), status=400)
        link_to_docs(response, "invalid_host")
    else:
        response = JsonResponse({"error": "invalid_request", "error_description": message}, status=400)
    add_never_cache_headers(response)
    return response


def not_on_this_host(request: HttpRequest, is_api: bool) -> HttpResponse:
    """404: the path belongs to another host of the service; in the envelope of the API where programs call."""
    if not is_api:
        return _page(request, 404)
    response = JsonResponse(envelope("not_found", "There is no such endpoint."), status=404)
    response["Cache-Control"] = "no-store"
    link_to_docs(response, "not_found")
    allow_any_origin(response, ("Link", request_id.HEADER))
    return response


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    """403: signed in, but not allowed."""
    return _page(request, 403)


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """404: no such page, or not for this person."""
    return _page(request, 404)


def method_not_allowed(request: HttpRequest, back: str) -> HttpResponse:
    """405: the address takes another method; `back` is the path of the page to go to, with the form if it takes one."""
    return _page(request, 405, back=back, was_opened=request.method in ("GET", "HEAD"))


def too_many_requests(request: HttpRequest, wait: int = LONGEST_RETRY_AFTER) -> HttpResponse:
    """429 of the pages: the text tells the true wait in seconds, Retry-After at most a minute of it."""
    response = _page(request, 429, wait=clock.in_words(wait), seconds=wait)
    response["Retry-After"] = str(min(max(wait, 1), LONGEST_RETRY_AFTER))
    return response


def server_error(request: HttpRequest) -> HttpResponse:
    """500, or 503 "try again" where the database failed or too much was to be done.

    Rendered without context processors, which may be what failed.
    """
    if isinstance(sys.exc_info()[1], DatabaseError | ServiceBusy):
        return service_unavailable(request)
    context = {"request_id": request_id.current(), "request": request}
    response = HttpResponse(render_to_string("500.html", context), status=500)
    add_never_cache_headers(response)
    return response


def service_unavailable(request: HttpRequest) -> HttpResponse:
    """503, "try again": a part of the service does not answer, or has too much to do."""
    context = {"request_id": request_id.current(), "request": request}
    response = HttpResponse(render_to_string("503.html", context), status=503)
    add_never_cache_headers(response)
    response["Retry-After"] = str(RETRY_SECONDS)
    return response


def csrf_failure(request: HttpRequest, reason: str = "", *, again: str = "", following: str = "") -> HttpResponse:
    """403 for a form that was open too long or came from elsewhere; says how to go on.

    `again` is where its page is, `following` where somebody goes on who has signed in meanwhile.
    """
    return _page(request, 403, "403_csrf.html", again=again, following=following)
