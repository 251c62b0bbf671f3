"""A web server on loopback whose pages a test may change while it runs. With a context, it uses TLS.

    with pages.serve() as site:
        site.set("/.well-known/proof.txt", "token", content_type="text/plain")
        settings.OUTBOUND_LOOPBACK_PORT = site.port

    with pages.serve(Authority().server_context("shop.test")) as site: …  # tests/services/certificates.py

A page belongs to one host or to all hosts. Other paths return 404.
"""

import contextlib
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BufferedIOBase
from typing import Any

HTML = "text/html; charset=utf-8"
Script = Callable[[BufferedIOBase], object]


@dataclass(frozen=True)
class Request:
    """A received request: the Host header, the path with its query, and all headers by lower-case names."""

    host: str
    path: str
    headers: dict[str, str]


class Site:
    """The pages and the received requests. `server_names` are the host names that clients sent in TLS (SNI)."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.requests: list[Request] = []
        self.server_names: list[str | None] = []
        self._scripts: dict[tuple[str | None, str], Script] = {}

    def set(
        self,
        path: str,
        body: str | bytes = "",
        *,
        status: int = 200,
        content_type: str = HTML,
        headers: Mapping[str, str] | None = None,
        host: str | None = None,
    ) -> None:
        """Set the response of a path (with its query, if it has one), on one host or on all hosts.

        Content-Type and Content-Length are those of the body, unless `headers` contain others.
        """
        content = body.encode() if isinstance(body, str) else body
        sent = {"Content-Type": content_type, "Content-Length": str(len(content))} | dict(headers or {})
        head = "".join(f"{name}: {value}\r\n" for name, value in sent.items())
        whole = f"HTTP/1.1 {status} Answer\r\n{head}\r\n".encode() + content
        self.script(path, lambda out: out.write(whole), host=host)

    def redirect(self, path: str, location: str, *, status: int = 302, host: str | None = None) -> None:
        """Redirect a path from now on."""
        self.set(path, status=status, headers={"Location": location}, host=host)

    def script(self, path: str, answer: Script, *, host: str | None = None) -> None:
        """Let a function write the whole response with its status line; the connection ends when it returns."""
        self._scripts[host, path] = answer

    def remove(self, path: str, *, host: str | None = None) -> None:
        """Return 404 for a path from now on."""
        self._scripts.pop((host, path), None)

    def find(self, host: str, path: str) -> Script | None:
        """Return the function that writes the response to a request, None if there is none."""
        return self._scripts.get((host, path)) or self._scripts.get((None, path))


@contextlib.contextmanager
def serve(context: ssl.SSLContext | None = None, port: int = 0) -> Iterator[Site]:
    """Yield a running server on `port`, or on any free port; it ends with the block."""
    with _Server(("127.0.0.1", port), context) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield server.site
        finally:
            server.shutdown()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, address: tuple[str, int], context: ssl.SSLContext | None) -> None:
        super().__init__(address, _Handler)
        self.site = Site(self.server_address[1])
        if context is not None:
            context.sni_callback = self._note_server_name
            # The thread of the connection does the handshake, not the thread that accepts connections.
            self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)

    def _note_server_name(self, connection: Any, name: str | None, context: ssl.SSLContext) -> None:
        self.site.server_names.append(name)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing: tests have clients that disconnect early."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        host = self.headers.get("Host", "")
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.site.requests.append(Request(host, self.path, headers))
        self.close_connection = True
        answer = self.server.site.find(host.partition(":")[0], self.path)
        if answer is None:
            self.send_error(404)
        else:
            answer(self.wfile)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.do_GET()

    def log_message(self, *args: Any) -> None:
        """Write no log."""
