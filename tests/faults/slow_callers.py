"""Callers that keep connections open. They use raw sockets, because no client library sends half a request."""

import contextlib
import select
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import httpx

from tests.services.service import Service

FORM = "Content-Type: application/x-www-form-urlencoded\r\n"
TOKEN_HEAD = f"POST /connect/token HTTP/1.1\r\nHost: localhost:{{port}}\r\n{FORM}"
ANSWER_SECONDS = 1.0


@dataclass
class SlowCallers:
    """Open connections that have sent `words`, and then send `drip` once a second."""

    service: Service
    words: str
    count: int
    drip: bytes = b""
    sockets: list[socket.socket] = field(default_factory=list)
    _over: threading.Event = field(default_factory=threading.Event)

    def begin(self) -> None:
        for _ in range(self.count):
            one = socket.create_connection(("127.0.0.1", self.service.port), timeout=5)
            one.sendall(self.words.format(port=self.service.port).encode())
            self.sockets.append(one)
        if self.drip:
            threading.Thread(target=self._go_on, daemon=True).start()

    def _go_on(self) -> None:
        while not self._over.wait(1):
            for one in self.sockets:
                with contextlib.suppress(OSError):
                    one.sendall(self.drip)

    def ends(self, seconds: float) -> list[str]:
        """Wait until all connections end, and return the first line that each received."""
        deadline = time.monotonic() + seconds
        return [self._end(one, deadline) for one in self.sockets]

    def ends_soon(self, seconds: float) -> list[str]:
        """Return the first line that each connection received which ends within `seconds`."""
        over, waiting = [], set(self.sockets)
        deadline = time.monotonic() + seconds
        while waiting and (left := deadline - time.monotonic()) > 0:
            for one in select.select(list(waiting), [], [], left)[0]:
                over.append(self._end(one, deadline))
                waiting.discard(one)
        return over

    @staticmethod
    def _end(one: socket.socket, deadline: float) -> str:
        received = b""
        while True:
            one.settimeout(max(deadline - time.monotonic(), 0.01))
            try:
                piece = one.recv(4096)
            except ConnectionError:
                break
            if not piece:
                break
            received += piece
        return received.split(b"\r\n")[0].decode()

    def stop(self) -> None:
        self._over.set()
        for one in self.sockets:
            one.close()


@contextlib.contextmanager
def slow_callers(service: Service, words: str, count: int, drip: bytes = b"") -> Iterator[SlowCallers]:
    """Yield callers that have started, and disconnect them at the end."""
    callers = SlowCallers(service, words, count, drip)
    try:
        callers.begin()
        yield callers
    finally:
        callers.stop()


def status(service: Service, path: str) -> int:
    """Return the status of a path, requested on a separate connection. Fails if it takes ANSWER_SECONDS or longer."""
    started = time.monotonic()
    answer = httpx.get(f"{service.address}{path}", timeout=ANSWER_SECONDS)
    assert time.monotonic() - started < ANSWER_SECONDS
    return answer.status_code


def post_token(service: Service) -> httpx.Response:
    """Send the token endpoint an ordinary request with a body, from an unknown client."""
    form = {"grant_type": "refresh_token", "refresh_token": "none", "client_id": "nobody"}
    return httpx.post(f"{service.address}/connect/token", data=form, timeout=5)


def assert_answers_requests_without_a_body(service: Service) -> None:
    """Check that health checks, documents, pages and the API respond in time."""
    assert status(service, "/health/live") == 200
    assert status(service, "/health/ready") == 200
    assert status(service, "/.well-known/openid-configuration") == 200
    assert status(service, "/account/login/") == 200
    assert status(service, "/v1/me") == 401


def assert_serves(service: Service) -> None:
    """Check that all other callers get responses as usual."""
    assert_answers_requests_without_a_body(service)
    assert post_token(service).json()["error"] == "invalid_client"
