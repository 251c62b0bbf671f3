"""Pages for what went wrong outside of any view's own answers."""

import sys

from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.cache import add_never_cache_headers
from redis.exceptions import RedisError

from devportal.lib import request_id

RETRY_SECONDS = 5


def _page(request: HttpRequest, status: int, template: str = "", **context: object) -> HttpResponse:
    """Return a page that no cache keeps: a 404 may be kept by any, and what is not there may be there tomorrow."""
    shown = {"request_id": request_id.current()} | context
    response = render(request, template or f"{status}.html", shown, status=status)
    add_never_cache_headers(response)
    return response


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """400: the request can't be understood."""
    return _page(request, 400)


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    """403: signed in, but not allowed."""
    return _page(request, 403)


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """404: no such page, or not for this person."""
    return _page(request, 404)


def too_many_requests(request: HttpRequest, retry_after: int = 60) -> HttpResponse:
    """429 of the pages, after `retry_after` seconds; allauth calls it too, and knows no time of its own."""
    response = _page(request, 429, retry_after=retry_after)
    response["Retry-After"] = str(retry_after)
    return response


def server_error(request: HttpRequest) -> HttpResponse:
    """500, or 503 "try again" where a database or counter store failed.

    Rendered without context processors, which may be what failed.
    """
    status = 503 if isinstance(sys.exc_info()[1], DatabaseError | RedisError) else 500
    response = HttpResponse(render_to_string(f"{status}.html", {"request_id": request_id.current()}), status=status)
    add_never_cache_headers(response)
    if status == 503:
        response["Retry-After"] = str(RETRY_SECONDS)
    return response


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """403 for a form that was open too long or came from elsewhere; says how to go on."""
    return _page(request, 403, "403_csrf.html")
