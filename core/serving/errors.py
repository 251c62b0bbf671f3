"""Responses to requests that are not passed to the application: 400, 413, 503.

Programs get them in the same format as their endpoint's other errors (`refusals_of`). Others get a line of text.
"""

from collections.abc import Callable
from http import HTTPStatus

from django.http import HttpResponse
from django.urls import get_resolver

Shape = Callable[[int, str], HttpResponse]

RETRY_AFTER_SECONDS = 5
# Functions that build a response from a status and a text, by path.
_SHAPES: dict[str, Shape] = {}
_REASONS = {
    400: "The request can't be read.",
    413: "The body of the request is too large.",
    503: "Too many requests are waiting. Try again in a few seconds.",
}


def refusals_of(*paths: str) -> Callable[[Shape], Shape]:
    """Let a function build the responses for these paths, and for all paths below one that ends in a slash."""

    def declare(function: Shape) -> Shape:
        _SHAPES.update(dict.fromkeys(paths, function))
        return function

    return declare


class HTTPError(Exception):
    """A refused request. `ends`: the connection is closed, because the body was not read."""

    def __init__(self, status: int, *, ends: bool = True) -> None:
        super().__init__(status)
        self.status = status
        self.ends = ends

    def answer(self, path: str) -> tuple[str, list[tuple[str, str]], bytes]:
        """Return status line, headers and body."""
        response = _shape(path)(self.status, _REASONS[self.status])
        response["Content-Length"] = str(len(response.content))
        response["Cache-Control"] = "no-store"
        response["X-Content-Type-Options"] = "nosniff"
        if self.status == 503:
            response["Retry-After"] = str(RETRY_AFTER_SECONDS)
        headers = list(response.items())
        if self.ends:
            headers.append(("Connection", "close"))
        return f"{self.status} {HTTPStatus(self.status).phrase}", headers, response.content


def _shape(path: str) -> Shape:
    _ = get_resolver().url_patterns  # imports the endpoints, whose modules register their functions
    for prefix, function in _SHAPES.items():
        if path == prefix or (prefix.endswith("/") and path.startswith(prefix)):
            return function
    return _text


def _text(status: int, message: str) -> HttpResponse:
    return HttpResponse(message, status=status, content_type="text/plain; charset=utf-8")
