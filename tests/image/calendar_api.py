"""The API behind a proxy of forward authentication, and servers that read names of headers as PHP and CGI do."""

import contextlib
import json
import shutil
import socket
import time
from collections.abc import Iterator
from email.message import Message
from http.server import BaseHTTPRequestHandler
from typing import Any, ClassVar

import pytest

from tests.services import keeper

# Paths of calls that are treated in an unusual way.
UPGRADING, REFUSING, PHP, LIGHTTPD = "/events/upgrade", "/events/slow", "/events/php", "/events/lighttpd.cgi"


class Calendar(BaseHTTPRequestHandler):
    """The API: it has no code for tokens, and returns what it was sent. It changes to any protocol at UPGRADING."""

    protocol_version = "HTTP/1.1"
    calls: ClassVar[list[str]] = []
    received: ClassVar[list[tuple[str, Message]]] = []
    behind: ClassVar[dict[str, int]] = {}  # the ports of servers that answer calls of a path

    @classmethod
    def headers_of(cls, path: str) -> list[Message]:
        """Return the headers of the calls of a path since `calls` was cleared."""
        return [headers for line, headers in cls.received[-len(cls.calls) or len(cls.received) :] if path in line]

    def parse_request(self) -> bool:
        is_valid = super().parse_request()
        self.calls.append(self.requestline)
        self.received.append((self.requestline, getattr(self, "headers", Message())))
        return is_valid

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if path in self.behind:
            self._pass_on(self.behind[path])
            return
        if path == UPGRADING and self.headers["Upgrade"]:
            self._upgrade()
            return
        if path == REFUSING:
            time.sleep(0.3)  # what follows the call arrives before the response is sent
        pairs = [[name, value] for name, value in self.headers.items()]
        self._answer(json.dumps({"line": self.requestline, "body": self._body(), "headers": pairs}).encode())

    do_POST = do_PUT = do_GET  # noqa: N815  (the library's names)

    def _body(self) -> str:
        if self.headers["Transfer-Encoding"] != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        pieces = []
        while size := int(self.rfile.readline(), 16):
            pieces.append(self.rfile.read(size).decode())
            self.rfile.readline()
        while (line := self.rfile.readline()) not in (b"\r\n", b""):
            pieces.append(line.decode())  # trailers
        return "".join(pieces)

    def _upgrade(self) -> None:
        self.send_response(101)
        self.send_header("Connection", "Upgrade")
        self.send_header("Upgrade", self.headers["Upgrade"])
        self.end_headers()
        self.connection.settimeout(3)
        with contextlib.suppress(OSError):
            while piece := self.rfile.read1():
                self.wfile.write(piece)
        self.close_connection = True

    def _pass_on(self, port: int) -> None:
        del self.headers["Connection"]
        lines = [f"GET {self.path} HTTP/1.0", *(f"{name}: {value}" for name, value in self.headers.items()), "", ""]
        with socket.create_connection(("127.0.0.1", port)) as server:
            server.sendall("\r\n".join(lines).encode())
            answer = b"".join(iter(lambda: server.recv(65536), b""))
        self._answer(answer.partition(b"\r\n\r\n")[2])

    def _answer(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  (the library's name)
        """Print nothing."""


@contextlib.contextmanager
def php_server() -> Iterator[int]:
    """Yield the port of PHP's own server, which returns its variables."""
    _need("php")
    with keeper.folder() as home:
        (home / "router.php").write_text("<?php echo json_encode($_SERVER);", encoding="utf-8")
        port = keeper.free_port()
        command = ["php", "-S", f"127.0.0.1:{port}", str(home / "router.php")]
        with keeper.running(command, home, lambda: _listens(port)):
            yield port


@contextlib.contextmanager
def cgi_server() -> Iterator[int]:
    """Yield the port of lighttpd with a CGI program, which returns its environment."""
    _need("lighttpd")
    with keeper.folder() as home:
        program = home / LIGHTTPD.removeprefix("/")
        program.parent.mkdir()
        program.write_text("import json, os\nprint('Status: 200\\n')\nprint(json.dumps(dict(os.environ)))\n")
        port = keeper.free_port()
        (home / "lighttpd.conf").write_text(
            f'server.modules = ("mod_cgi")\nserver.document-root = "{home}"\nserver.bind = "127.0.0.1"\n'
            f'server.port = {port}\ncgi.assign = (".cgi" => "{shutil.which("python3")}")\n'
        )
        with keeper.running(["lighttpd", "-D", "-f", str(home / "lighttpd.conf")], home, lambda: _listens(port)):
            yield port


def _need(program: str) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"no {program} on the PATH")


def _listens(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=2):
        return True
    return False
