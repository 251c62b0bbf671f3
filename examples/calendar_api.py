"""A sample API that accepts the service's tokens and API keys: it asks the service about each one (RFC 7662).

    make run        in one terminal: the service
    make api        in another: this API, on http://localhost:3100
    make app        in a third: the app that calls it

It is the *Orbit Calendar* that deploy/demo.toml declares. It authenticates with the credential that `make run` stores
in DATA_DIR/demo.json. With OIDC_ISSUER, API_IDENTIFIER, API_CREDENTIAL_ID and API_CREDENTIAL_SECRET in the environment,
it uses those instead. With API_PORT=3101 it listens on another port; the identifier in its tokens stays the same.

A real API would also keep its events in a database, serve HTTPS, and keep connections to the service open. This one
needs only Python's standard library.
"""

import base64
import json
import os
import re
import sys
import threading
from dataclasses import dataclass
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote, urlencode, urlsplit
from urllib.request import Request, urlopen

SLUG = "calendar"
READ, WRITE = "calendar.read", "calendar.write"
TIMEOUT = 10  # seconds
MAX_BODY = 10_000  # bytes
MAX_TITLE = 200  # characters
MAX_EVENTS = 100  # of one person
# The credential in an Authorization header. Only the characters of RFC 6750 §2.1 are passed on to the service.
BEARER = re.compile(r"Bearer +([A-Za-z0-9._~+/-]+=*)", re.IGNORECASE)


class Refused(Exception):
    """A refused call: a status, an error code, a message, and headers."""

    def __init__(self, status: int, code: str, message: str, **headers: str) -> None:
        super().__init__(message)
        self.status, self.code, self.headers = status, code, headers


@dataclass(frozen=True)
class Settings:
    """The issuer, and the identifier and credential of the API."""

    issuer: str
    identifier: str
    credential_id: str
    credential_secret: str

    @classmethod
    def read(cls) -> "Settings":
        """Read the environment or, without API_CREDENTIAL_ID in it, the credential that `make run` has stored."""
        if "API_CREDENTIAL_ID" in os.environ:
            names = ("OIDC_ISSUER", "API_IDENTIFIER", "API_CREDENTIAL_ID", "API_CREDENTIAL_SECRET")
            if missing := [name for name in names if not os.environ.get(name)]:
                sys.exit(f"API_CREDENTIAL_ID is set and {', '.join(missing)} is not: set all of them, or none.")
            return cls(*(os.environ[name] for name in names))
        file = Path(os.environ.get("DATA_DIR", ".data")) / "demo.json"
        if not file.exists():
            sys.exit(
                f"{file} does not exist: start the service with `make run` first, name its folder in DATA_DIR, "
                "or set OIDC_ISSUER, API_IDENTIFIER, API_CREDENTIAL_ID and API_CREDENTIAL_SECRET."
            )
        demo = json.loads(file.read_text(encoding="utf-8"))
        api = next((api for api in demo.get("apis", []) if api["slug"] == SLUG), None)
        if api is None or not api["credential"]["secret"]:
            sys.exit(f"{file} has no credential of the API {SLUG}: start the service with `make run` again.")
        return cls(demo["issuer"], api["identifier"], api["credential"]["id"], api["credential"]["secret"])


def fetch_json(url: str, form: bytes | None = None, headers: dict[str, str] | None = None) -> dict[str, Any]:
    """Return the JSON at a URL of the service. Raises OSError and ValueError."""
    asked = Request(url, form, headers or {})  # noqa: S310  (a URL of the service, from the settings)
    with urlopen(asked, timeout=TIMEOUT) as answer:  # noqa: S310  (the same)
        found: dict[str, Any] = json.load(answer)
        return found


@dataclass
class Service:
    """The sign-in service, as this API uses it."""

    settings: Settings

    @cached_property
    def endpoint(self) -> str:
        """The introspection endpoint, from the discovery document."""
        document = fetch_json(f"{self.settings.issuer.rstrip('/')}/.well-known/openid-configuration")
        return str(document["introspection_endpoint"])

    def introspect(self, token: str) -> dict[str, Any]:
        """Return what the service says about a token or an API key. Raises Refused if it can't be checked.

        Ask for each call, so that a removed app or a revoked key is refused at the next one.
        """
        pair = f"{quote(self.settings.credential_id)}:{quote(self.settings.credential_secret)}"
        headers = {"Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}
        try:
            return fetch_json(self.endpoint, urlencode({"token": token}).encode(), headers)
        except HTTPError as error:
            error.close()
            wait = {"Retry-After": error.headers["Retry-After"]} if error.headers["Retry-After"] else {}
            if error.code == 429:
                raise Refused(429, "rate_limited", "Too many requests. Try again later.", **wait) from error
            raise Refused(503, "unavailable", "The token can't be checked now.", **wait) from error
        except (OSError, ValueError, KeyError) as error:
            raise Refused(503, "unavailable", "The token can't be checked now.") from error


@dataclass(frozen=True)
class Event:
    """An entry of someone's calendar."""

    id: int
    title: str
    day: str  # as 2031-12-24

    @classmethod
    def parse(cls, number: int, sent: Any) -> "Event":
        """Return the event that a call describes. Raises Refused."""
        title, day = (sent.get(name) for name in ("title", "day")) if isinstance(sent, dict) else (None, None)
        if not isinstance(title, str) or not title.strip() or len(title) > MAX_TITLE:
            raise Refused(400, "invalid_request", f"title must be a text with at most {MAX_TITLE} characters.")
        if not isinstance(day, str) or not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", day):
            raise Refused(400, "invalid_request", "day must be a date such as 2031-12-24.")
        return cls(number, title, day)


class Calendar:
    """The events of everyone, by their `sub`. They are kept while the API runs."""

    def __init__(self) -> None:
        self._events: dict[str, list[Event]] = {}
        self._lock = threading.Lock()

    def of(self, sub: str) -> list[Event]:
        """Return a person's events."""
        return self._events.get(sub, [])

    def add(self, sub: str, sent: Any) -> Event:
        """Add an event to a person's calendar and return it. Raises Refused."""
        with self._lock:
            events = self._events.setdefault(sub, [])
            if len(events) >= MAX_EVENTS:
                raise Refused(409, "calendar_full", f"A calendar has at most {MAX_EVENTS} events.")
            events.append(Event.parse(len(events) + 1, sent))
            return events[-1]


def parse_json(body: bytes) -> Any:
    """Return the JSON that was sent. Raises Refused."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Refused(400, "invalid_request", "The body is not JSON.") from error


class Api(BaseHTTPRequestHandler):
    """GET /events lists a person's events, POST /events adds one."""

    timeout = TIMEOUT  # for callers that send less than they announced
    service: Service
    calendar = Calendar()

    def do_GET(self) -> None:
        if urlsplit(self.path).path == "/.well-known/oauth-protected-resource":
            self.answer(200, self.metadata())
        else:
            self.guarded(READ, lambda sub, body: (200, {"events": [vars(event) for event in self.calendar.of(sub)]}))

    def do_POST(self) -> None:
        self.guarded(WRITE, lambda sub, body: (201, vars(self.calendar.add(sub, parse_json(body)))))

    def guarded(self, scope: str, call: Any) -> None:
        """Respond to a call whose token has the scope, or say what is missing."""
        try:
            body = self.body()
            if urlsplit(self.path).path != "/events":
                raise Refused(404, "not_found", "There is no such path.")
            self.answer(*call(self.person(scope), body))
        except Refused as error:
            self.answer(error.status, {"error": {"code": error.code, "message": str(error)}}, error.headers)

    def person(self, scope: str) -> str:
        """Return the `sub` of the person whose token or key is presented. Raises Refused."""
        presented = BEARER.fullmatch(self.headers.get("Authorization", ""))
        if presented is None:
            raise Refused(401, "unauthenticated", "Send an access token or an API key.", **self.challenge())
        found = self.service.introspect(presented[1])
        if not found["active"] or found["aud"] != self.service.settings.identifier:
            challenge = self.challenge(error="invalid_token")
            raise Refused(401, "invalid_token", "The token is not valid for this API.", **challenge)
        if scope not in found["scope"].split():
            challenge = self.challenge(error="insufficient_scope", scope=f"openid {scope}")
            raise Refused(403, "insufficient_scope", f"This call needs the scope {scope}.", **challenge)
        return str(found["sub"])

    def challenge(self, **parameters: str) -> dict[str, str]:
        """Return the header that says what is missing (RFC 6750 §3) and where this API is described (RFC 9728 §5.1)."""
        document = f"{self.service.settings.identifier.rstrip('/')}/.well-known/oauth-protected-resource"
        pairs = ", ".join(f'{name}="{value}"' for name, value in (parameters | {"resource_metadata": document}).items())
        return {"WWW-Authenticate": f"Bearer {pairs}"}

    def metadata(self) -> dict[str, Any]:
        """Return the description of this API for apps (RFC 9728 §2)."""
        return {
            "resource": self.service.settings.identifier,
            "authorization_servers": [self.service.settings.issuer],
            "scopes_supported": [READ, WRITE],
            "bearer_methods_supported": ["header"],
        }

    def body(self) -> bytes:
        """Return the body of the request. Raises Refused."""
        length = self.headers.get("Content-Length", "0")
        if not re.fullmatch("[0-9]{1,9}", length) or int(length) > MAX_BODY:
            raise Refused(413, "invalid_request", f"Send at most {MAX_BODY} bytes.")
        return self.rfile.read(int(length))

    def answer(self, status: int, body: dict[str, Any], headers: dict[str, str] | None = None) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(content)


def chosen_port(settings: Settings) -> int:
    """Return API_PORT, or the port of the identifier. If API_PORT is not a port, end the API with a message."""
    asked = os.environ.get("API_PORT", "")
    if not asked:
        return urlsplit(settings.identifier).port or 3100
    if not asked.isascii() or not asked.isdigit() or not 0 < int(asked) < 65536:
        sys.exit(f"API_PORT is {asked!r}: it has to be a number from 1 to 65535.")
    return int(asked)


def main() -> None:
    settings = Settings.read()
    Api.service = Service(settings)
    port = chosen_port(settings)
    try:
        server = ThreadingHTTPServer(("127.0.0.1", port), Api)
    except OSError as error:
        sys.exit(f"The API can't listen on port {port}: {error.strerror}. Set another one with API_PORT.")
    sys.stdout.write(f"The Orbit Calendar is at http://localhost:{port}/events (Ctrl-C ends it)\n")
    sys.stdout.flush()
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        server.server_close()


if __name__ == "__main__":
    main()
