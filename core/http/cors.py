"""CORS for endpoints that any origin may call without cookies."""

import functools
from collections.abc import Iterable

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from core.http.responses import FixedHeaders

PREFLIGHT_SECONDS = 3600


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


def preflight_answer(methods: Iterable[str]) -> HttpResponse:
    """Return the response to a preflight for an endpoint with these methods."""
    response = HttpResponse(status=204)
    allow_any_origin(response)
    response["Access-Control-Allow-Methods"] = ", ".join(methods)
    response["Access-Control-Allow-Headers"] = "Authorization, Content-Type, If-None-Match"
    response["Access-Control-Max-Age"] = str(PREFLIGHT_SECONDS)
    return response
