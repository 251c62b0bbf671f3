"""Request ids: on every response (X-Request-ID), error page and log line."""

import re
import time
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.request import HttpHeaders

from core.credentials import random_text
from core.http import client_ip
from core.telemetry import metrics

HEADER = "X-Request-ID"
_META_KEY = HttpHeaders.to_wsgi_name(HEADER)
_WELL_FORMED = re.compile(r"[A-Za-z0-9._-]{8,64}")
NONE = "-"
_current: ContextVar[str] = ContextVar("request_id", default=NONE)


def current() -> str:
    """Return the id of the current request, "-" outside of one."""
    return _current.get()


def set_current(given: str) -> None:
    """Set the id for everything that follows in this thread; tasks use their task id."""
    _current.set(given)


def is_acceptable(given: str) -> bool:
    """Return whether a received id may be used: short, plain, and not similar to a credential, since it is logged."""
    if any(prefix in given for prefix in (settings.API_KEY_PREFIX, settings.CLIENT_SECRET_PREFIX, "eyJ")):
        return False
    return _WELL_FORMED.fullmatch(given) is not None


def choose(environ: Mapping[str, Any]) -> str:
    """Return the id that a trusted proxy sent (WSGI's environ) if it is well-formed, otherwise a new one.

    Ids from other clients are not accepted: they could copy another request's id, or use one for all requests.
    """
    given = environ.get(_META_KEY, "")
    believed = given and is_acceptable(given) and client_ip.is_proxy(environ.get("REMOTE_ADDR", ""))
    return given if believed else random_text(20)


class RequestIdMiddleware:
    """Chooses a request's id (`choose`), sets it on the response, and counts and times the request."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        began = time.perf_counter()
        request_id = choose(request.META)
        # Never reset: Django logs the response's status after the last middleware has returned.
        set_current(request_id)
        client_ip.remember(request)
        response = self.get_response(request)
        response[HEADER] = request_id
        match = request.resolver_match
        seconds = time.perf_counter() - began
        metrics.request_answered(match.view_name if match else None, request.method, response.status_code, seconds)
        return response
