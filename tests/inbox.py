"""An app's inbox on this machine: it receives events, and a test sets its responses."""

import contextlib
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

from oidc.events import sending
from tests.relying_party import claims_of


@dataclass(frozen=True)
class Received:
    """One request: its path, content type and body."""

    path: str
    content_type: str
    body: bytes

    @property
    def token(self) -> str:
        """The logout token or security event token in the body."""
        text = self.body.decode()
        return parse_qs(text)["logout_token"][0] if text.startswith("logout_token=") else text

    @property
    def claims(self) -> dict[str, Any]:
        """The claims of the token, without verifying it."""
        return claims_of(self.token)

    @property
    def event(self) -> str:
        """The last part of the event's URI."""
        (uri,) = self.claims["events"]
        return str(uri).rpartition("/")[2]


def send_due() -> int:
    """Send all deliveries that are due, as workers do one after the other; return how many were accepted."""
    return sum(sending.send_to(pk) for pk in list(sending._claimable().values_list("pk", flat=True)))


Answer = Callable[["_Handler"], None]


def status(code: int, body: bytes = b"", **headers: str) -> Answer:
    """Return a function that sends a response with this status, body and headers."""

    def answer(handler: "_Handler") -> None:
        handler.send_response(code)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return answer


def never(handler: "_Handler") -> None:
    """Send no response for longer than the service waits for one."""
    time.sleep(8)


@dataclass
class Inbox:
    """The received requests, and the function that responds to the next one."""

    port: int = 0
    scheme: str = "http"
    host: str = "localhost"
    received: list[Received] = field(default_factory=list)
    answer: Answer = field(default_factory=lambda: status(202))

    def url(self, path: str = "/events") -> str:
        """Return the inbox's URL."""
        return f"{self.scheme}://{self.host}:{self.port}{path}"

    @property
    def events(self) -> list[str]:
        """The names of the received events, in order."""
        return [each.event for each in self.received]


class _Handler(BaseHTTPRequestHandler):
    inbox: Inbox

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.inbox.received.append(Received(self.path, self.headers.get("Content-Type", ""), body))
        with contextlib.suppress(ConnectionError):
            self.inbox.answer(self)

    def log_message(self, *args: Any) -> None:
        pass


@contextlib.contextmanager
def serve(tls: ssl.SSLContext | None = None, host: str = "localhost") -> Iterator[Inbox]:
    """Yield an inbox that listens on a free port of the loopback interface, with `tls` for https."""
    inbox = Inbox(scheme="https" if tls else "http", host=host)
    handler = type("Handler", (_Handler,), {"inbox": inbox})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    if tls:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    inbox.port = server.server_port
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield inbox
    finally:
        server.shutdown()
        server.server_close()
