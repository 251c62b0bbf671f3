"""A sample web app that signs people in: OpenID Connect's authorization code flow with PKCE, from end to end.

    make run        in one terminal: the service
    make app        in another: this app, on http://localhost:3000

    make api        in a third, if you like: the calendar that this app shows, on http://localhost:3100

It signs in as the first web client of the demo, whose credentials `make run` stores in DATA_DIR/demo.json. With
OIDC_ISSUER, CLIENT_ID and CLIENT_SECRET (and REDIRECT_URI, API_URL, CALENDAR_URL) in the environment, it uses those
instead. CALENDAR_URL is the identifier of the calendar's API; without it, the app shows no calendar.
With DATA_DIR=.data2 it uses the demo of a second service. With APP_PORT=3001 it listens on another port; the app then
prints the URLs that have to be registered for the client.

A real app would keep its sessions in a database, set its cookies with `Secure`, and use the OpenID Connect library of
its framework. This one shows each step that such a library takes.
"""

import base64
import hashlib
import hmac
import json
import os
import secrets
import sys
import threading
import time
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from http.cookies import SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urljoin, urlsplit

import httpx
from jwcrypto.common import JWException
from jwcrypto.jwk import JWKSet
from jwcrypto.jwt import JWT

SCOPE = "openid email profile"
# For a second API, the calendar: its scopes, and a refresh token, with which the app gets an access token for it.
CALENDAR_SCOPE = "offline_access calendar.read calendar.write"
COOKIE = "sample_app"
# The paths at which the service reports the end of a session, and other events of the person's account.
LOGOUT_PATH, EVENTS_PATH = "/backchannel-logout", "/security-events"
ENDING = ("session-revoked", "sessions-revoked", "account-disabled", "account-purged", "tokens-revoked")
TIMEOUT = 10  # seconds
MAX_FORM = 10_000  # bytes


class SignInFailed(Exception):
    """The sign-in can't be completed; the argument says why."""


@dataclass(frozen=True)
class Settings:
    """The app's registration at the service, and the URLs of the APIs."""

    issuer: str
    api: str
    client_id: str
    client_secret: str
    redirect_uri: str
    signed_out_uri: str
    calendar: str = ""  # the identifier of the calendar's API, which is also its URL

    @classmethod
    def read(cls) -> "Settings":
        """Read the environment or, without CLIENT_ID in it, the credentials that `make run` has stored."""
        if "CLIENT_ID" in os.environ:
            issuer = required("OIDC_ISSUER")
            redirect_uri = os.environ.get("REDIRECT_URI", "http://localhost:3000/callback")
            return cls(
                issuer=issuer,
                api=os.environ.get("API_URL", issuer.rstrip("/")),
                client_id=os.environ["CLIENT_ID"],
                client_secret=required("CLIENT_SECRET"),
                redirect_uri=redirect_uri,
                signed_out_uri=urljoin(redirect_uri, "/"),
                calendar=os.environ.get("CALENDAR_URL", ""),
            )
        file = Path(os.environ.get("DATA_DIR", ".data")) / "demo.json"
        if not file.exists():
            sys.exit(
                f"{file} does not exist: start the service with `make run` first, name its folder in DATA_DIR, "
                "or set OIDC_ISSUER, CLIENT_ID and CLIENT_SECRET."
            )
        demo = json.loads(file.read_text(encoding="utf-8"))
        clients = [client for project in demo["projects"] for client in project["clients"]]
        client = next(client for client in clients if client["type"] == "web")
        return cls(
            issuer=demo["issuer"],
            api=demo["base_url"],
            client_id=client["client_id"],
            client_secret=client["client_secret"],
            redirect_uri=client["redirect_uris"][0],
            signed_out_uri=client["post_logout_redirect_uris"][0],
            calendar=next((api["identifier"] for api in demo.get("apis", []) if api["slug"] == "calendar"), ""),
        )

    @property
    def scope(self) -> str:
        """The scopes that the app requests."""
        return f"{SCOPE} {CALENDAR_SCOPE}" if self.calendar else SCOPE

    @property
    def port(self) -> int:
        """The port on which the app listens."""
        return urlsplit(self.redirect_uri).port or 80

    def at_port(self, port: int) -> "Settings":
        """Return the settings of the same app on another port."""
        redirect, signed_out = (
            parts._replace(netloc=f"{parts.hostname}:{port}").geturl()
            for parts in (urlsplit(self.redirect_uri), urlsplit(self.signed_out_uri))
        )
        return replace(self, redirect_uri=redirect, signed_out_uri=signed_out)

    def to_register(self) -> str:
        """Return the URLs that have to be registered for the client so that the app works on this port."""
        return f"redirect URL {self.redirect_uri}, sign-out URL {self.signed_out_uri}"


def required(name: str) -> str:
    """Return a variable of the environment. If it is missing, end the app with a message."""
    return os.environ.get(name) or sys.exit(f"CLIENT_ID is set and {name} is not: set both, or neither.")


@dataclass
class Session:
    """The app's data about one browser: first about the sign-in that has started, then about the signed-in person."""

    state: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    nonce: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    verifier: str = field(default_factory=lambda: secrets.token_urlsafe(48))
    claims: dict[str, Any] = field(default_factory=dict)
    id_token: str = ""
    access_token: str = ""
    refresh_token: str = ""
    calendar_token: str = ""
    calendar_token_until: float = 0  # of time.monotonic()
    # A refresh token works once, so two requests at the same time must not both send it.
    lock: threading.Lock = field(default_factory=threading.Lock)


@dataclass
class Provider:
    """The sign-in service, as this app uses it."""

    settings: Settings

    @cached_property
    def metadata(self) -> dict[str, Any]:
        """The discovery document, which contains the URL of every endpoint (OpenID Connect Discovery 4)."""
        address = f"{self.settings.issuer.rstrip('/')}/.well-known/openid-configuration"
        document: dict[str, Any] = httpx.get(address, timeout=TIMEOUT).raise_for_status().json()
        if document["issuer"] != self.settings.issuer:
            raise SignInFailed(f"The service has another issuer: {document['issuer']}.")
        return document

    def authorization_url(self, session: Session) -> str:
        """Step 1: return the URL to send the browser to. It has only the verifier's hash (RFC 7636)."""
        digest = hashlib.sha256(session.verifier.encode()).digest()
        query = {
            "response_type": "code",
            "client_id": self.settings.client_id,
            "redirect_uri": self.settings.redirect_uri,
            "scope": self.settings.scope,
            "state": session.state,
            "nonce": session.nonce,
            "code_challenge": base64.urlsafe_b64encode(digest).rstrip(b"=").decode(),
            "code_challenge_method": "S256",
        }
        return f"{self.metadata['authorization_endpoint']}?{urlencode(query)}"

    def finish(self, session: Session, answer: dict[str, str]) -> None:
        """Steps 2 to 4: check the response, exchange its code, check the ID token. Raises SignInFailed."""
        if not hmac.compare_digest(answer.get("state", "").encode(), session.state.encode()):
            raise SignInFailed("This response does not belong to a sign-in that began in this browser.")
        if answer.get("iss", self.settings.issuer) != self.settings.issuer:  # RFC 9207
            raise SignInFailed("This response comes from another service.")
        if "error" in answer:
            raise SignInFailed(f"{answer['error']}: {answer.get('error_description', '')}")
        grant = {
            "grant_type": "authorization_code",
            "code": answer.get("code", ""),
            "redirect_uri": self.settings.redirect_uri,
            "code_verifier": session.verifier,
        }
        # An access token is for one API (RFC 8707). This one is for the developer API.
        tokens = self.tokens(grant | ({"resource": self.settings.api} if self.settings.calendar else {}))
        session.claims = self.read_id_token(tokens["id_token"], session.nonce)
        session.id_token, session.access_token = tokens["id_token"], tokens["access_token"]
        session.refresh_token = tokens.get("refresh_token", "")

    def tokens(self, grant: dict[str, str]) -> dict[str, Any]:
        """Return the response of the token endpoint. Raises SignInFailed."""
        client = (self.settings.client_id, self.settings.client_secret)
        answer = httpx.post(self.metadata["token_endpoint"], auth=client, data=grant, timeout=TIMEOUT)
        tokens: dict[str, Any] = answer.json()
        if answer.is_error:
            raise SignInFailed(f"{tokens['error']}: {tokens.get('error_description', '')}")
        return tokens

    def read_id_token(self, token: str, nonce: str) -> dict[str, Any]:
        """Return the claims of an ID token of this service, for this app, for this sign-in. Raises SignInFailed."""
        # The keys change from time to time, so they are fetched each time. A library would cache them for a while.
        keys = JWKSet.from_json(httpx.get(self.metadata["jwks_uri"], timeout=TIMEOUT).raise_for_status().text)
        expected = {
            "iss": self.settings.issuer,
            "aud": self.settings.client_id,
            "exp": None,
            "sub": None,
            "nonce": nonce,
        }
        try:
            checked = JWT(jwt=token, key=keys, algs=["RS256"], check_claims=expected)
        except (JWException, ValueError) as error:
            raise SignInFailed(f"The ID token is not valid: {error}") from error
        claims: dict[str, Any] = json.loads(checked.claims)
        return claims

    def read_event(self, token: str, typ: str) -> dict[str, Any]:
        """Return the claims of a logout token or security event token for this app. Raises SignInFailed."""
        keys = JWKSet.from_json(httpx.get(self.metadata["jwks_uri"], timeout=TIMEOUT).raise_for_status().text)
        expected = {"iss": self.settings.issuer, "aud": self.settings.client_id, "jti": None, "events": None}
        try:
            checked = JWT(jwt=token, key=keys, algs=["RS256"], check_claims=expected)
        except (JWException, ValueError) as error:
            raise SignInFailed(f"The token is not valid: {error}") from error
        claims: dict[str, Any] = json.loads(checked.claims)
        # The service signs each try again, so an old token is a copy. A token with a nonce is an ID token.
        if json.loads(checked.header).get("typ") != typ or "nonce" in claims or claims["iat"] < time.time() - 120:
            raise SignInFailed("The token is too old, or of another type.")
        return claims

    def me(self, session: Session) -> httpx.Response:
        """Call the developer API for the person."""
        header = {"Authorization": f"Bearer {session.access_token}"}
        return httpx.get(f"{self.settings.api}/v1/me", headers=header, timeout=TIMEOUT)

    def calendar_token(self, session: Session) -> str:
        """Return an access token for the calendar's API, a new one if the last one has expired. Raises SignInFailed."""
        with session.lock:
            if time.monotonic() >= session.calendar_token_until:
                grant = {"grant_type": "refresh_token", "refresh_token": session.refresh_token}
                tokens = self.tokens(grant | {"resource": self.settings.calendar})
                session.refresh_token, session.calendar_token = tokens["refresh_token"], tokens["access_token"]
                session.calendar_token_until = time.monotonic() + tokens["expires_in"] - TIMEOUT
            return session.calendar_token

    def calendar(self, session: Session, event: dict[str, str] | None = None) -> httpx.Response:
        """List the events of the person's calendar, or add `event`."""
        return httpx.request(
            "GET" if event is None else "POST",
            f"{self.settings.calendar.rstrip('/')}/events",
            headers={"Authorization": f"Bearer {self.calendar_token(session)}"},
            json=event,
            timeout=TIMEOUT,
        )

    def sign_out_url(self, session: Session) -> str:
        """Return the URL that ends the session at the service as well (OpenID Connect RP-Initiated Logout)."""
        query = {
            "id_token_hint": session.id_token,
            "post_logout_redirect_uri": self.settings.signed_out_uri,
            "state": secrets.token_urlsafe(16),
        }
        return f"{self.metadata['end_session_endpoint']}?{urlencode(query)}"


class App(BaseHTTPRequestHandler):
    """The pages of the app. Each browser is identified by a random cookie."""

    provider: Provider
    sessions: dict[str, Session] = {}

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        if url.path == "/":
            self.guarded(self.home)
        elif url.path == urlsplit(self.provider.settings.redirect_uri).path:
            answer = {name: values[0] for name, values in parse_qs(url.query).items()}
            self.guarded(lambda: self.callback(answer))
        else:
            self.show("<h1>Page not found</h1>", 404)

    def do_POST(self) -> None:
        # Only forms begin or end a session, so that links on other sites and browsers that preload pages can't.
        pages = {
            "/sign-in": self.sign_in,
            "/sign-out": self.sign_out,
            "/events": self.add_event,
            LOGOUT_PATH: self.backchannel_logout,
            EVENTS_PATH: self.security_event,
        }
        self.guarded(pages.get(self.path, lambda: self.show("<h1>Page not found</h1>", 404)))

    def guarded(self, page: Any) -> None:
        """Show a page, or an error page that says what went wrong."""
        try:
            page()
        except SignInFailed as error:
            self.show(f"<h1>You are not signed in</h1><p>{escape(str(error))}</p><p><a href='/'>Try again</a></p>", 400)
        except httpx.HTTPError as error:
            self.show(f"<h1>A service does not respond</h1><p>{escape(str(error))}</p>", 502)

    def home(self) -> None:
        session = self.session()
        if session is None or not session.claims:
            self.show(
                "<h1>Sample app</h1><p>Nobody is signed in.</p>"
                "<form method='post' action='/sign-in'><button>Sign in</button></form>"
            )
            return
        me = self.provider.me(session)
        self.show(
            f"<h1>Hello, {escape(session.claims.get('name') or session.claims['sub'])}</h1>"
            f"<p>The claims of the ID token:</p><pre>{escape(json.dumps(session.claims, indent=2))}</pre>"
            f"<p><code>GET /v1/me</code> answers {me.status_code}:</p>"
            f"<pre>{escape(json.dumps(me.json(), indent=2))}</pre>"
            f"{self.calendar(session) if self.provider.settings.calendar else ''}"
            "<form method='post' action='/sign-out'><button>Sign out</button></form>"
        )

    def calendar(self, session: Session) -> str:
        """Return the part of the page with the person's events."""
        try:
            answer = self.provider.calendar(session)
        except SignInFailed as error:
            return f"<h2>Your calendar</h2><p>The app can't open it: {escape(str(error))}</p>"
        except httpx.HTTPError:
            return "<h2>Your calendar</h2><p>It does not respond. Start it with <code>make api</code>.</p>"
        if answer.is_error:
            return f"<h2>Your calendar</h2><p>It answers {answer.status_code}: {escape(answer.text)}</p>"
        events = "".join(f"<li>{escape(one['day'])} {escape(one['title'])}</li>" for one in answer.json()["events"])
        return (
            f"<h2>Your calendar</h2>{f'<ul>{events}</ul>' if events else '<p>There is no event yet.</p>'}"
            "<form method='post' action='/events'><label>Day <input type='date' name='day' required></label> "
            "<label>Title <input name='title' maxlength='200' required></label> <button>Add the event</button></form>"
        )

    def add_event(self) -> None:
        session = self.session()
        if session is None or not session.claims or not self.provider.settings.calendar:
            raise SignInFailed("Sign in first.")
        sent = parse_qs(self.body())
        event = {name: sent.get(name, [""])[0] for name in ("day", "title")}
        answer = self.provider.calendar(session, event)
        if answer.is_error:
            self.show(f"<h1>The event was not added</h1><p>{escape(answer.text)}</p><p><a href='/'>Back</a></p>", 400)
        else:
            self.redirect("/", self.cookie())

    def backchannel_logout(self) -> None:
        """End the session whose end the service reports (OpenID Connect Back-Channel Logout 1.0, 2.5 to 2.8)."""
        claims = self.provider.read_event(parse_qs(self.body()).get("logout_token", [""])[0], "logout+jwt")
        self.end_sessions(claims.get("sub"), claims.get("sid"))
        self.show("")

    def security_event(self) -> None:
        """End the sessions that a security event concerns (RFC 8935 §2)."""
        claims = self.provider.read_event(self.body(), "secevent+jwt")
        for uri, members in claims["events"].items():
            if uri.rpartition("/")[2] in ENDING:
                self.end_sessions(claims["sub_id"].get("sub"), members.get("sid"))
        self.show("", 202)

    def end_sessions(self, sub: str | None, sid: str | None) -> None:
        """End the session `sid`, or without one all sessions of the person."""
        for key, session in list(self.sessions.items()):
            if session.claims.get("sub") == sub and sid in (None, session.claims.get("sid")):
                self.sessions.pop(key, None)

    def body(self) -> str:
        """Return the form that was sent, "" if it is too long."""
        length = self.headers.get("Content-Length", "")
        is_short = length.isascii() and length.isdigit() and int(length) <= MAX_FORM
        return self.rfile.read(int(length)).decode(errors="replace") if is_short else ""

    def sign_in(self) -> None:
        session = Session()
        url = self.provider.authorization_url(session)
        self.redirect(url, self.remember(session))

    def callback(self, answer: dict[str, str]) -> None:
        session = self.forget()
        if session is None:
            raise SignInFailed("No sign-in has started in this browser.")
        self.provider.finish(session, answer)
        # The sign-in sets a new session cookie, so that anyone who knew the old one is not signed in.
        self.redirect("/", self.remember(session))

    def sign_out(self) -> None:
        session = self.forget()
        signed_in = session is not None and session.id_token
        self.redirect(self.provider.sign_out_url(session) if session and signed_in else "/", "")

    # --- Cookies and responses ---

    def cookie(self) -> str:
        found = SimpleCookie(self.headers.get("Cookie", "")).get(COOKIE)
        return found.value if found else ""

    def session(self) -> Session | None:
        return self.sessions.get(self.cookie())

    def remember(self, session: Session) -> str:
        key = secrets.token_urlsafe(32)
        self.sessions[key] = session
        return key

    def forget(self) -> Session | None:
        return self.sessions.pop(self.cookie(), None)

    def redirect(self, url: str, cookie: str) -> None:
        self.send_response(303)
        self.send_header("Location", url)
        # With Lax, the browser also sends the cookie when the service redirects it back here.
        self.send_header("Set-Cookie", f"{COOKIE}={cookie}; Path=/; HttpOnly; SameSite=Lax")
        self.end_headers()

    def show(self, body: str, status: int = 200) -> None:
        page = f"<!DOCTYPE html><html lang='en'><meta charset='utf-8'><title>Sample app</title>{body}</html>".encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(page)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(page)

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Log the path without its query, which may contain a code."""
        self.log_message("%s %s %s", self.command, urlsplit(self.path).path, code)


def chosen_port() -> int | None:
    """Return APP_PORT, or None without it. If it is not a port, end the app with a message."""
    asked = os.environ.get("APP_PORT", "")
    if not asked:
        return None
    if not asked.isascii() or not asked.isdigit() or not 0 < int(asked) < 65536:
        sys.exit(f"APP_PORT is {asked!r}: it has to be a number from 1 to 65535.")
    return int(asked)


def listen(settings: Settings) -> ThreadingHTTPServer:
    """Return the server. If its port is not available, end the app with a message."""
    try:
        return ThreadingHTTPServer(("127.0.0.1", settings.port), App)
    except OSError as error:
        other = settings.at_port(settings.port + 1 if settings.port < 65535 else 3000)
        sys.exit(
            f"The app can't listen on port {settings.port}: {error.strerror}.\n"
            f"Use another one, for example APP_PORT={other.port}. Then register these URLs for the client "
            f"{settings.client_id} in the console: {other.to_register()}."
        )


def main() -> None:
    settings = Settings.read()
    port = chosen_port()
    if port and port != settings.port:
        settings = settings.at_port(port)
        sys.stdout.write(f"Register these URLs for the client {settings.client_id}: {settings.to_register()}\n")
    App.provider = Provider(settings)
    address = urlsplit(settings.redirect_uri)
    server = listen(settings)
    sys.stdout.write(f"The sample app is at {address.scheme}://{address.netloc}/ (Ctrl-C ends it)\n")
    sys.stdout.flush()
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        server.server_close()


if __name__ == "__main__":
    main()
