"""An app on a loopback port: the requests with which it sends people to the service, and the responses."""

import contextlib
import json
import queue
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import httpx

from core.credentials import random_text
from tests.relying_party import authorization_request, code_exchange
from tests.services.service import Service

PAGE = b"<!DOCTYPE html><html lang=en><meta charset=utf-8><title>The app</title><h1>Back at the app</h1>"
ANSWER_SECONDS = 20


@dataclass
class App:
    """A client of the service that listens at its redirect URL."""

    service: Service
    origin: str
    name: str
    type: str = "web"
    client_id: str = ""
    client_secret: str | None = None
    verifier: str = field(default_factory=lambda: random_text(64))
    answers: "queue.Queue[dict[str, str]]" = field(default_factory=queue.Queue)

    @property
    def redirect_uri(self) -> str:
        return f"{self.origin}/callback"

    @property
    def signed_out_uri(self) -> str:
        return f"{self.origin}/signed-out"

    def declaration(self, **keys: Any) -> dict[str, Any]:
        """Return the table of this client for a provisioning file."""
        addresses = {"redirect_uris": [self.redirect_uri], "post_logout_redirect_uris": [self.signed_out_uri]}
        return {"name": self.name, "type": self.type} | addresses | keys

    def take_credentials(self, declared: dict[str, Any]) -> None:
        """Read this client's id and secret from the result of provisioning."""
        for project in declared["projects"]:
            for client in project["clients"]:
                if self.redirect_uri in client["redirect_uris"]:
                    self.client_id, self.client_secret = client["client_id"], client["client_secret"]

    def authorization_url(self, **changes: str) -> str:
        """Return the URL to which the app sends people to sign in."""
        own = {"scope": "openid email profile offline_access", "state": random_text(16), "nonce": random_text(16)}
        query = authorization_request(self.client_id, self.redirect_uri, self.verifier, **own | changes)
        return f"{self.service.address}/connect/authorize?{urlencode(query)}"

    def answer(self) -> dict[str, str]:
        """Return the parameters of the next request to the redirect URL. Raises queue.Empty if there is none."""
        return self.answers.get(timeout=ANSWER_SECONDS)

    def exchange(self, code: str) -> httpx.Response:
        """Exchange a code as a server does."""
        return self._token(code_exchange(code, self.redirect_uri, self.verifier))

    def refresh(self, refresh_token: str) -> httpx.Response:
        return self._token({"grant_type": "refresh_token", "refresh_token": refresh_token})

    def call(self, path: str, access_token: str) -> httpx.Response:
        """Call an endpoint with an access token."""
        header = {"Authorization": f"Bearer {access_token}"}
        return httpx.get(f"{self.service.address}{path}", headers=header, timeout=20)

    def _token(self, form: dict[str, str]) -> httpx.Response:
        own = {"client_id": self.client_id} | ({"client_secret": self.client_secret} if self.client_secret else {})
        return httpx.post(f"{self.service.address}/connect/token", data=form | own, timeout=20)


class Callback(BaseHTTPRequestHandler):
    """Stores the parameters of requests to the redirect URL. All other pages are simple pages as well."""

    def __init__(self, app: App, *args: Any) -> None:
        self.app = app
        super().__init__(*args)

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        if url.path == "/callback":
            self.app.answers.put(dict(parse_qsl(url.query)))
        # Browsers always request an icon, and would report a 404 as an error on the console.
        self.send_response(204 if url.path == "/favicon.ico" else 200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        if url.path != "/favicon.ico":
            self.wfile.write(PAGE)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  (the library's name)
        """Print nothing."""


class Files(SimpleHTTPRequestHandler):
    """Serves a browser app: the files of a folder, other files by name, and its settings as /settings.json."""

    def __init__(self, folder: Path, others: dict[str, Path], settings: dict[str, Any], *args: Any) -> None:
        self.others = others
        self.settings = settings
        super().__init__(*args, directory=str(folder))

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        if path == "/settings.json":
            self._send(json.dumps(self.settings).encode(), "application/json")
        elif path in self.others:
            self._send(self.others[path].read_bytes(), "text/javascript")
        elif path == "/favicon.ico":
            self._send(b"", "image/x-icon")
        else:
            super().do_GET()

    def _send(self, body: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  (the library's name)
        """Print nothing."""


@contextlib.contextmanager
def listening(service: Service, name: str, kind: str = "web", host: str = "localhost") -> Iterator[App]:
    """Yield an app that listens on a free loopback port and is not registered yet."""
    app = App(service, "", name, kind)
    with answering(partial(Callback, app)) as port:
        app.origin = f"http://{host}:{port}"
        yield app


@contextlib.contextmanager
def answering(handler: Any, port: int = 0) -> Iterator[int]:
    """Yield a loopback port, or the given one, on which `handler` responds to requests."""
    with ThreadingHTTPServer(("127.0.0.1", port), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()
