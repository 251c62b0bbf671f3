"""Middleware against malformed input: NUL bytes, and percent-encoding that is not UTF-8."""

from collections.abc import Callable
from urllib.parse import unquote_to_bytes

from django.conf import settings
from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse

from core.http.error_pages import bad_request


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


class MalformedInputMiddleware:
    """Returns 400 if a path, query or form field contains a NUL that would reach the database.

    PostgreSQL can't store NUL, and apart from Django's form fields nothing rejects it.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if any("\x00" in value for value in request.COOKIES.values()):
            request.COOKIES.clear()  # the error page must not read a session: its key may contain a NUL
        if not request.path.startswith(settings.MALFORMED_INPUT_PATHS) and (
            "\x00" in request.path or has_malformed_bytes(request.META.get("QUERY_STRING", ""))
        ):
            return bad_request(request, BadRequest())
        return self.get_response(request)
