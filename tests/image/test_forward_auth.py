"""An API behind nginx or Caddy with the configurations of deploy/, which ask a running service about each call."""

import contextlib
import json
import re
import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from tests.clients.apis import wait_until_known
from tests.clients.app import App, answering
from tests.clients.person import PASSWORD, Person
from tests.services import keeper, proxies
from tests.services.proxies import API_HOST, Proxy
from tests.services.service import Service, live_service

__all__ = ["live_service"]  # a fixture, found here by name

pytestmark = pytest.mark.proxy

KINDS = {"caddy": proxies.caddy_before_api, "nginx": proxies.nginx_before_api}
READ, WRITE = "calendar.read", "calendar.write"
OWNER, ADA, BUSY = "forward-owner@example.com", "forward-ada@example.com", "forward-busy@example.com"
PER_PERSON = 150
FORGED = ("X-Auth-Subject", "X-Auth-Client", "X-Auth-Scope", "X-Auth-Key")


class Calendar(BaseHTTPRequestHandler):
    """The API: it has no code for tokens, and returns what it was sent."""

    protocol_version = "HTTP/1.1"
    calls: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        received = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        self.calls.append(self.requestline)
        pairs = [[name, value] for name, value in self.headers.items()]
        body = json.dumps({"line": self.requestline, "body": received, "headers": pairs}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_PUT = do_GET  # noqa: N815  (the library's names)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  (the library's name)
        """Print nothing."""


@dataclass
class World:
    """A service with an API, an app that may call it, and an API key."""

    service: Service
    app: App
    person: Person
    key: str

    def token(self, scope: str = READ, person: Person | None = None) -> str:
        arrived_at = (person or self.person).go(self.app.authorization_url(scope=f"openid {scope}"))
        answer = self.app.exchange(parse_qs(urlsplit(arrived_at).query)["code"][0]).json()
        return str(answer["access_token"])

    def remove_app(self) -> None:
        """Remove the app under Connected apps."""
        listed = self.person.visit(f"{self.service.address}/account/apps/")
        path = re.search(r'href="([^"]*/account/apps/\d+/remove)"', listed.text)
        assert path, listed.text[:3000]
        page = self.person.visit(str(httpx.URL(str(listed.url)).join(path[1])))
        assert self.person.fill_in(page, "csrfmiddlewaretoken").status_code == 302


@pytest.fixture(scope="module")
def world(live_service: Service) -> World:
    app = App(live_service, f"http://localhost:{keeper.free_port()}", "Forward app")
    declared = live_service.provision(
        people=[{"email": email, "password": PASSWORD, "given_name": "Ada"} for email in (OWNER, ADA, BUSY)],
        apis=[
            {
                "slug": "calendar",
                "name": "Calendar",
                "identifier": "https://calendar.example.com",
                "calls_per_person_per_minute": PER_PERSON,
                "scopes": [{"name": READ, "title": "See your events"}, {"name": WRITE, "title": "Change your events"}],
                "rules": [
                    {"method": "GET", "path": "/events*", "scope": READ},
                    {"method": "*", "path": "/events*", "scope": WRITE},
                    {"method": "*", "path": "/admin/*", "scope": WRITE},
                ],
            }
        ],
        projects=[
            {
                "name": "Forward",
                "owner": OWNER,
                "clients": [app.declaration()],
                "api_keys": [{"name": "Key", "owner": OWNER, "permissions": [READ]}],
            }
        ],
    )
    app.take_credentials(declared)
    wait_until_known(live_service, "calendar")
    secret = next(key["key"] for key in declared["projects"][0]["api_keys"] if key["key"])
    return World(live_service, app, Person(live_service, ADA), secret)


@pytest.fixture(scope="module", params=sorted(KINDS))
def proxy(request: pytest.FixtureRequest, world: World) -> Iterator[Proxy]:
    with answering(Calendar) as api, KINDS[request.param](world.service.port, api) as running:
        yield running


@pytest.fixture
def caller(proxy: Proxy) -> Iterator[httpx.Client]:
    with httpx.Client(transport=proxy.transport(), base_url=f"https://{API_HOST}:{proxy.https}", timeout=20) as client:
        yield client


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def names(response: httpx.Response) -> dict[str, list[str]]:
    """Return the headers that the API was sent, as servers read them that turn hyphens into underscores."""
    found: dict[str, list[str]] = {}
    for name, value in response.json()["headers"]:
        found.setdefault(name.upper().replace("-", "_"), []).append(value)
    return found


def error(response: httpx.Response) -> tuple[int, str]:
    assert response.headers["Content-Type"].startswith("application/json"), response.text
    body = response.json()
    assert set(body["error"]) == {"code", "message"}
    return response.status_code, body["error"]["code"]


def test_the_api_learns_who_calls(world: World, caller: httpx.Client) -> None:
    sent = names(caller.get("/events?a=b", headers=bearer(world.token())))
    assert len(sent["X_AUTH_SUBJECT"][0]) > 10
    assert sent["X_AUTH_CLIENT"] == [world.app.client_id]
    assert sent["X_AUTH_SCOPE"] == [READ]
    assert sent.get("X_AUTH_KEY", [""]) == [""]
    sent = names(caller.get("/events", headers=bearer(world.key)))
    assert world.key.split("_")[2] in sent["X_AUTH_KEY"][0]
    assert sent.get("X_AUTH_CLIENT", [""]) == [""]


def test_the_call_arrives_as_it_was_sent(world: World, caller: httpx.Client) -> None:
    token = world.token(f"{READ} {WRITE}")
    answer = caller.post("/events/a%20b?x=%2F&scope=other", content="the body", headers=bearer(token)).json()
    assert answer["line"].split()[:2] == ["POST", "/events/a%20b?x=%2F&scope=other"]
    assert answer["body"] == "the body"


def test_headers_that_a_caller_forges_never_reach_the_api(world: World, caller: httpx.Client) -> None:
    forged = [(name, "forged") for name in FORGED]
    forged += [(name.replace("-", "_"), "forged") for name in FORGED]
    forged += [(name.replace("X-Auth-", "X-Auth_"), "forged") for name in FORGED]
    forged += [(name.replace("X-Auth-", "X_Auth-"), "forged") for name in FORGED]
    forged += [(name.lower(), "forged") for name in FORGED] + [("X-Auth-Anything", "forged")]
    for credential in (world.token(), world.key):
        answer = caller.get("/events", headers=[*forged, *bearer(credential).items()])
        sent = names(answer)
        for name in FORGED:
            values = sent.get(name.upper().replace("-", "_"), [])
            assert "forged" not in values, (name, values)
            assert len(values) <= 1


@pytest.mark.parametrize(
    "headers",
    [
        {"X-Forwarded-Uri": "/events", "X-Forwarded-Method": "GET"},
        {"X-Original-URI": "/events", "X-Original-Method": "GET"},
        {"X_Forwarded_Uri": "/events", "X_Forwarded_Method": "GET"},
        {"X_Original_URI": "/events", "X_Original_Method": "GET"},
        {"X-Forwarded_Uri": "/events", "X-Original_URI": "/events"},
        {"Connection": "X-Forwarded-Uri, X-Original-URI, X-Forwarded-Method, X-Original-Method"},
    ],
)
def test_headers_of_a_caller_dont_choose_the_rule(world: World, caller: httpx.Client, headers: dict[str, str]) -> None:
    token = world.token()
    assert error(caller.get("/admin/users", headers=headers | bearer(token)))[0] == 403
    assert error(caller.post("/events", headers=headers | bearer(token)))[0] == 403


@pytest.mark.parametrize("header", ["X-Original-URL", "X-Rewrite-URL"])
def test_no_header_of_a_caller_replaces_the_path(world: World, caller: httpx.Client, header: str) -> None:
    answer = caller.get("/events", headers=bearer(world.token()) | {header: "/admin/users"})
    assert answer.status_code == 403 or header.upper().replace("-", "_") not in names(answer)


@pytest.mark.parametrize(
    "target",
    [
        "/admin/users?scope=calendar.read", "/events/../admin/users", "/events/%2e%2e/admin", "//admin/users",
        "/%61dmin/x",
        "/events/..%2fadmin", "/ADMIN/users", "/events;/../admin/x", "/_forward_auth", "/admin/x#/events", "/events%00",
    ],
)  # fmt: skip
def test_spellings_of_a_path_dont_avoid_a_rule(world: World, proxy: Proxy, target: str) -> None:
    token = world.token()
    Calendar.calls.clear()
    head = f"GET {target} HTTP/1.1\r\nHost: {API_HOST}\r\nConnection: close\r\nAuthorization: Bearer {token}\r\n\r\n"
    context = ssl.create_default_context(cafile=str(proxy.authority))
    with (
        socket.create_connection(("127.0.0.1", proxy.https)) as plain,
        context.wrap_socket(plain, server_hostname=API_HOST) as connection,
    ):
        connection.sendall(head.encode())
        with contextlib.suppress(OSError):
            status = int(connection.recv(65536).split()[1])
            assert status in (400, 403, 404)
    assert Calendar.calls == []


def test_refusals_pass_with_body_and_headers(world: World, caller: httpx.Client) -> None:
    metadata = 'resource_metadata="https://calendar.example.com/.well-known/oauth-protected-resource"'
    nobody = caller.get("/events")
    assert error(nobody) == (401, "unauthenticated")
    assert nobody.headers.get_list("WWW-Authenticate") == [f'Bearer realm="calendar", {metadata}']
    unknown = caller.get("/events", headers=bearer("x.y.z"))
    assert error(unknown) == (401, "invalid_token")
    assert 'error="invalid_token"' in unknown.headers["WWW-Authenticate"]
    missing = caller.post("/events", headers=bearer(world.token()))
    assert error(missing) == (403, "insufficient_scope")
    assert f'scope="{WRITE}"' in missing.headers["WWW-Authenticate"]
    assert len(missing.headers.get_list("WWW-Authenticate")) == 1
    assert error(caller.get("/nothing", headers=bearer(world.token()))) == (403, "path_not_allowed")
    for response in (nobody, unknown, missing):
        assert response.headers["Cache-Control"] == "no-store"


def test_a_removed_access_is_refused_at_the_next_call(world: World, caller: httpx.Client) -> None:
    token = world.token()
    assert caller.get("/events", headers=bearer(token)).status_code == 200
    world.remove_app()
    assert error(caller.get("/events", headers=bearer(token))) == (401, "invalid_token")


def test_the_limit_passes_with_its_wait(world: World, caller: httpx.Client) -> None:
    token = world.token(person=Person(world.service, BUSY))
    responses = []
    for _ in range(3 * PER_PERSON):  # the minute may end meanwhile
        responses.append(caller.get("/events", headers=bearer(token)))
        if responses[-1].status_code != 200:
            break
    assert error(responses[-1]) == (429, "rate_limited")
    assert 1 <= int(responses[-1].headers["Retry-After"]) <= 60


def test_nothing_passes_while_the_service_is_away(world: World) -> None:
    for kind in KINDS.values():
        with answering(Calendar) as api, kind(keeper.free_port(), api) as running:
            Calendar.calls.clear()
            with httpx.Client(transport=running.transport(), timeout=20) as client:
                answer = client.get(f"https://{API_HOST}:{running.https}/events", headers=bearer(world.key))
            assert answer.status_code in (502, 503)
            assert Calendar.calls == []
