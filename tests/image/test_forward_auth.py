"""An API behind each proxy with its configuration of deploy/, which asks a running service about each call."""

import contextlib
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from tests.clients.apis import wait_until_known
from tests.clients.app import App, answering
from tests.clients.person import PASSWORD, Person
from tests.image.calendar_api import LIGHTTPD, PHP, REFUSING, UPGRADING, Calendar, cgi_server, php_server
from tests.services import keeper, proxies
from tests.services.podman import run
from tests.services.proxies import API_HOST, BEFORE_API, Proxy
from tests.services.service import Service, live_service

__all__ = ["live_service"]  # a fixture, found here by name

pytestmark = pytest.mark.proxy

READ, WRITE = "calendar.read", "calendar.write"
OWNER, ADA, BUSY = "forward-owner@example.com", "forward-ada@example.com", "forward-busy@example.com"
PER_PERSON = 150
FORGED = ("X-Auth-Subject", "X-Auth-Client", "X-Auth-Scope", "X-Auth-Key")


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


@pytest.fixture(scope="module", params=sorted(BEFORE_API))
def proxy(request: pytest.FixtureRequest, world: World) -> Iterator[Proxy]:
    proxies.skip_without(request.param)
    with answering(Calendar) as api, BEFORE_API[request.param](world.service.port, api) as running:
        yield running


@pytest.fixture
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.node.callspec.params["proxy"])


@pytest.fixture
def caller(proxy: Proxy) -> Iterator[httpx.Client]:
    with httpx.Client(transport=proxy.transport(), base_url=f"https://{API_HOST}:{proxy.https}", timeout=20) as client:
        yield client


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def speak(proxy: Proxy, line: str, headers: list[str], tail: str = "", later: str = "") -> bytes:
    """Send a request byte by byte, with `tail` after its head and `later` after the first response."""
    head = "\r\n".join([line, f"Host: {API_HOST}", *headers, "", ""])
    received = b""
    with proxy.connect() as connection, contextlib.suppress(OSError):
        connection.settimeout(5)
        connection.sendall((head + tail).encode())
        received = connection.recv(65536)
        connection.sendall(later.encode())
        connection.settimeout(0.5)
        while piece := connection.recv(65536):
            received += piece
    return received


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
    received = speak(proxy, f"GET {target} HTTP/1.1", [f"Authorization: Bearer {token}", "Connection: close"])
    assert not received or int(received.split()[1]) in (400, 403, 404)
    assert Calendar.calls == []


def test_refusals_pass_with_body_and_headers(world: World, caller: httpx.Client) -> None:
    needed = f'scope="openid {READ}", '
    metadata = 'resource_metadata="https://calendar.example.com/.well-known/oauth-protected-resource"'
    nobody = caller.get("/events")
    assert error(nobody) == (401, "unauthenticated")
    assert nobody.headers.get_list("WWW-Authenticate") == [f'Bearer realm="calendar", {needed}{metadata}']
    unknown = caller.get("/events", headers=bearer("x.y.z"))
    assert error(unknown) == (401, "invalid_token")
    assert 'error="invalid_token"' in unknown.headers["WWW-Authenticate"]
    missing = caller.post("/events", headers=bearer(world.token()))
    assert error(missing) == (403, "insufficient_scope")
    assert f'scope="openid {WRITE}"' in missing.headers["WWW-Authenticate"]
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
    for kind in filter(proxies.is_there, BEFORE_API):
        with answering(Calendar) as api, BEFORE_API[kind](keeper.free_port(), api) as running:
            Calendar.calls.clear()
            with httpx.Client(transport=running.transport(), timeout=20) as client:
                answer = client.get(f"https://{API_HOST}:{running.https}/events", headers=bearer(world.key))
            assert answer.status_code in (500, 502, 503)
            assert Calendar.calls == []


# --- Names that servers fold together ---

# RFC 9110 §5.6.2: the characters of a name that are no letters, digits or hyphens.
ODD = "_.!#$%&'*+^`|~"


@pytest.fixture(scope="module")
def servers() -> Iterator[None]:
    with php_server() as php, cgi_server() as cgi:
        Calendar.behind = {PHP: php, LIGHTTPD: cgi}
        yield
        Calendar.behind = {}


@pytest.mark.parametrize("version", ["--http1.1", "--http2"])
@pytest.mark.parametrize("path", ["/events", PHP, LIGHTTPD])
def test_no_spelling_of_an_identity_header_reaches_an_api(
    world: World, proxy: Proxy, servers: None, path: str, version: str
) -> None:
    spellings = [f"X{a}Auth{b}Subject" for a, b in ((one, one) for one in ODD)]
    spellings += [f"X-Auth{one}Key" for one in ODD] + [f"X{one}Auth-Scope" for one in ODD]
    url, port = f"https://{API_HOST}:{proxy.https}{path}", proxy.https
    sent = [["-H", f"{name}: forged"] for name in [*spellings, "X-Plain"]]
    command = ["curl", "-sS", version, "--cacert", str(proxy.authority), "--resolve", f"{API_HOST}:{port}:127.0.0.1"]
    answer = run([*command, "-H", f"Authorization: Bearer {world.token()}", *itertools.chain(*sent), url]).stdout
    if path == "/events":
        received = [name for name, value in httpx.Response(200, text=answer).json()["headers"] if value == "forged"]
    else:
        received = [name for name, value in httpx.Response(200, text=answer).json().items() if value == "forged"]
    assert [name.upper().removeprefix("HTTP_").replace("_", "-") for name in received] == ["X-PLAIN"], answer


@pytest.mark.parametrize("path", [PHP, LIGHTTPD])
def test_these_servers_fold_names(servers: None, path: str) -> None:
    """Otherwise the test above would show nothing."""
    with answering(Calendar) as api:
        answer = httpx.get(f"http://127.0.0.1:{api}{path}", headers={"X.Auth.Subject": "forged"}).json()
    assert "forged" in (answer.get("HTTP_X_AUTH_SUBJECT"), answer.get("HTTP_X.AUTH.SUBJECT"))


# --- Later bytes of a connection ---

FORGED_CALL = f"GET /admin/users HTTP/1.1\r\nHost: {API_HOST}\r\nX-Auth-Subject: forged\r\n\r\n"
SETTINGS = "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA"


@pytest.mark.parametrize(
    "headers",
    [
        ["Connection: X-Auth-Subject, X-Auth-Scope, X-Auth-Key, X-Auth-Client"],
        ["Connection: X-Auth-Subject", "Connection: x-auth-scope", "Keep-Alive: X-Auth-Subject"],
        ["Connection: Upgrade, X-Auth-Subject", "Upgrade: websocket"],
        ["Connection: Upgrade, X-Auth-Subject", "Upgrade: h2c"],
        ["Proxy-Connection: X-Auth-Subject", "TE: X-Auth-Subject", "Trailer: X-Auth-Subject"],
    ],
)
def test_no_hop_by_hop_name_drops_an_identity_header(world: World, proxy: Proxy, headers: list[str]) -> None:
    Calendar.calls.clear()
    speak(proxy, "GET /events HTTP/1.1", [f"Authorization: Bearer {world.token()}", *headers])
    for sent in Calendar.headers_of("/events"):
        assert len(sent.get("X-Auth-Subject", "")) > 10
        assert "X-Auth" not in str(sent.get("Connection")).title()


@pytest.mark.parametrize(
    "headers",
    [
        ["Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", SETTINGS],
        ["Connection: Upgrade", "Upgrade: H2C", SETTINGS],
        ["Connection: Upgrade", "Upgrade: HTTP/2.0"],
        ["Connection: Upgrade", "Upgrade: TLS/1.2"],
        ["Connection: upgrade", "Upgrade: h2c", "Upgrade: websocket"],
        ["Connection: upgrade", "Upgrade: websocket, h2c"],
        ["Connection: upgrade", "Upgrade: h2c, websocket"],
        ["Upgrade: anything"],
        ["Connection: keep-alive, Upgrade", "Upgrade: "],
    ],
)
def test_no_upgrade_opens_a_tunnel(world: World, proxy: Proxy, headers: list[str]) -> None:
    Calendar.calls.clear()
    sent = [f"Authorization: Bearer {world.token()}", *headers]
    speak(proxy, f"GET {UPGRADING} HTTP/1.1", sent, later=FORGED_CALL)
    assert not [call for call in Calendar.calls if "admin" in call]
    protocols = {str(each["Upgrade"]) for each in Calendar.headers_of(UPGRADING)}
    assert protocols <= {"None", "websocket"}
    assert not any(each["HTTP2-Settings"] for each in Calendar.headers_of(UPGRADING))


def test_a_websocket_passes_where_the_proxy_can_end_it(world: World, proxy: Proxy, kind: str) -> None:
    Calendar.calls.clear()
    headers = [f"Authorization: Bearer {world.token()}", "Connection: Upgrade", "Upgrade: WebSocket"]
    received = speak(proxy, f"GET {UPGRADING} HTTP/1.1", headers, later="a frame")
    assert (b" 101 " in received and b"a frame" in received) == (kind in ("caddy", "traefik")), received


@pytest.mark.parametrize(
    ("line", "headers", "tail"),
    [
        ("GET /events HTTP/1.1", [], FORGED_CALL),
        (f"GET {REFUSING} HTTP/1.1", ["Connection: Upgrade", "Upgrade: websocket"], FORGED_CALL),
        ("POST /events HTTP/1.1", ["Expect: 100-continue", "Content-Length: 2"], f"ab{FORGED_CALL}"),
        ("POST /events HTTP/1.1", ["Expect: other", "Content-Length: 2"], f"ab{FORGED_CALL}"),
        ("POST /events HTTP/1.1", ["Content-Length: 5", "Transfer-Encoding: chunked"], f"0\r\n\r\n{FORGED_CALL}"),
        ("POST /events HTTP/1.1", ["Content-Length: 5", "Transfer_Encoding: chunked"], f"0\r\n\r\n{FORGED_CALL}"),
        ("POST /events HTTP/1.1", ["Content-Length: 0", "Content.Length: 500"], FORGED_CALL),
        ("POST /events HTTP/1.1", ["Content-Length: 0", "Content-Length: 500"], FORGED_CALL),
        ("POST /events HTTP/1.1", ["Transfer-Encoding: xchunked"], FORGED_CALL),
        ("POST /events HTTP/1.1", ["Transfer-Encoding : chunked"], f"0\r\n\r\n{FORGED_CALL}"),
        ("POST /events HTTP/1.1", ["Transfer-Encoding: chunked", "Connection: Transfer-Encoding"], FORGED_CALL),
        ("CONNECT /events HTTP/1.1", [], FORGED_CALL),
        (f"CONNECT {API_HOST}:443 HTTP/1.1", [], FORGED_CALL),
        ("GET /events HTTP/1.0", ["Connection: keep-alive"], FORGED_CALL),
        ("PRI * HTTP/2.0", [], f"SM\r\n\r\n{FORGED_CALL}"),
    ],
)  # fmt: skip
def test_later_bytes_are_another_call(world: World, proxy: Proxy, line: str, headers: list[str], tail: str) -> None:
    """The token may read and write events, and nothing names it in the second call."""
    Calendar.calls.clear()
    speak(proxy, line, [f"Authorization: Bearer {world.token(f'{READ} {WRITE}')}", *headers], tail)
    assert not [call for call in Calendar.calls if "admin" in call or call.startswith("CONNECT")]


def test_a_trailer_is_no_header(world: World, proxy: Proxy) -> None:
    headers = ["Transfer-Encoding: chunked", "Trailer: X-Auth-Subject", "Connection: close"]
    tail = "2\r\nab\r\n0\r\nX-Auth-Subject: forged\r\n\r\n"
    token = world.token(f"{READ} {WRITE}")
    received = speak(proxy, "POST /events HTTP/1.1", [f"Authorization: Bearer {token}", *headers], tail)
    assert b" 200 " in received
    assert b"forged" not in received


def test_no_proxy_offers_to_connect_over_http2(proxy: Proxy) -> None:
    """RFC 8441 §3: SETTINGS_ENABLE_CONNECT_PROTOCOL has the identifier 8."""
    with proxy.connect("h2") as connection:
        connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\x00\x00\x00\x04\x00\x00\x00\x00\x00")
        frame = connection.recv(65536)
    length, kind = int.from_bytes(frame[:3], "big"), frame[3]
    assert kind == 4
    pairs = [frame[at : at + 6] for at in range(9, 9 + length, 6)]
    assert not [pair for pair in pairs if pair[:2] == b"\x00\x08" and pair[2:] != b"\x00\x00\x00\x00"]
