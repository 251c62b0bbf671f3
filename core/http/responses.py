"""Responses of endpoints that programs call: JSON, error bodies and well-known URLs."""

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpResponse
from django.http.response import HttpResponseBase, ResponseHeaders

_encode = json.JSONEncoder().encode


class FixedHeaders:
    """Headers that every response of an endpoint carries, validated and encoded once.

    Django would do both again for each header of each response.
    """

    def __init__(self, headers: Mapping[str, str]) -> None:
        self._checked = ResponseHeaders(headers)._store

    def set_on(self, response: HttpResponseBase) -> None:
        """Set the headers, as `response.headers.update` would."""
        response.headers._store.update(self._checked)


def json_response(data: Any) -> HttpResponse:
    """Return a response like JsonResponse, without its encoder, which first checks for dates."""
    return HttpResponse(_encode(data), content_type="application/json")


def docs_url(anchor: str = "") -> str:
    """Return the URL of the page about errors, or of one entry on it; the docs are on AUTH_URL's host."""
    return f"{settings.AUTH_URL}{settings.ERRORS_PATH}" + (f"#{anchor}" if anchor else "")


def envelope(code: str, message: str) -> dict[str, dict[str, str]]:
    """Return the body of an error response."""
    return {"error": {"code": code, "message": message}}


def link_to_docs(response: HttpResponse, code: str) -> None:
    """Set the Link header (RFC 8288) to the documentation of an error."""
    response["Link"] = docs_link(code)


def docs_link(code: str) -> str:
    """Return the value of the Link header for an error."""
    return f'<{docs_url(f"api-{code}")}>; rel="help"'


# RFC 8414 §3.1 defines this for an issuer, RFC 9728 §3.1 for a protected resource. A proxy that strips the path leaves
# only the well-known name, so both URLs lead to the document.


def address(base: str, name: str) -> str:
    """Return the URL of the document `name` about `base`, which has no trailing slash."""
    parts = urlsplit(base)
    query = f"?{parts.query}" if parts.query else ""
    return f"{parts.scheme}://{parts.netloc}/.well-known/{name}{parts.path if parts.path != '/' else ''}{query}"


def is_about(base: str, rest: str) -> bool:
    """Return whether `rest`, the part of the path after the well-known name, belongs to the document about `base`."""
    return rest in ("", urlsplit(base).path)
