"""Responses to requests that are not passed to the application: 400, 408, 413, 503."""

from http import HTTPStatus

RETRY_AFTER_SECONDS = 5
_REASONS = {
    400: "The request can't be read.",
    408: "The body of the request did not arrive in time.",
    413: "The body of the request is larger than anything that is accepted here.",
    503: "Too many requests are waiting. Try again in a few seconds.",
}


class HTTPError(Exception):
    """A refused request. `ends`: the connection is closed, because the body was not read."""

    def __init__(self, status: int, *, ends: bool = True) -> None:
        super().__init__(status)
        self.status = status
        self.ends = ends

    def answer(self) -> tuple[str, list[tuple[str, str]], bytes]:
        """Return status line, headers and body."""
        body = _REASONS[self.status].encode()
        headers = [("Content-Type", "text/plain; charset=utf-8"), ("Content-Length", str(len(body)))]
        headers += [("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff")]
        if self.status == 503:
            headers.append(("Retry-After", str(RETRY_AFTER_SECONDS)))
        if self.ends:
            headers.append(("Connection", "close"))
        return f"{self.status} {HTTPStatus(self.status).phrase}", headers, body
