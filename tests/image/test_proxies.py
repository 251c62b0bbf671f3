"""The proxies of deploy/ do what docs/operations.md#proxies asks of a proxy."""

import contextlib
import http.client
import json
import re
import socket
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler
from typing import Any, ClassVar

import httpx
import pytest

from tests.clients.app import answering
from tests.services import keeper, proxies
from tests.services.proxies import HOSTS, Proxy

pytestmark = pytest.mark.proxy

KINDS: dict[str, Callable[[int], contextlib.AbstractContextManager[Proxy]]] = {
    "caddy": proxies.caddy,
    "nginx": proxies.nginx,
}
CANARY = "canary-of-a-credential"
GONE = "/gone"


class Echo(BaseHTTPRequestHandler):
    """Answers with what it was sent, and leads on with a code, as an authorization answer does."""

    protocol_version = "HTTP/1.1"

    seen: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.seen.append(self.path)
        if GONE in self.requestline:
            self.close_connection = True  # without an answer
            return
        length = int(self.headers.get("Content-Length", 0))
        try:
            received = len(self.rfile.read(length))
        except ConnectionError:  # the proxy has refused what follows
            return
        # `path` has one slash where the request line has two.
        seen = {"target": self.requestline.split()[1], "received": received, "headers": dict(self.headers)}
        body = json.dumps(seen).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Location", f"https://app.example.com/callback?code={CANARY}")
        self.send_header("Set-Cookie", f"openport_session={CANARY}")
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET  # noqa: N815  (the library's name)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  (the library's name)
        """Print nothing."""


@pytest.fixture(scope="module", params=sorted(KINDS))
def proxy(request: pytest.FixtureRequest) -> Iterator[Proxy]:
    with answering(Echo) as upstream, KINDS[request.param](upstream) as running:
        yield running


@pytest.fixture
def caller(proxy: Proxy) -> Iterator[httpx.Client]:
    with httpx.Client(transport=proxy.transport(), base_url=proxy.address("auth"), timeout=20) as client:
        yield client


def test_every_host_leads_to_the_service_by_its_name(proxy: Proxy, caller: httpx.Client) -> None:
    for name, host in HOSTS.items():
        headers = caller.get(proxy.address(name)).json()["headers"]
        assert headers["Host"] in (host, f"{host}:{proxy.https}")
        assert headers["X-Forwarded-Proto"] == "https"


def test_forwarding_headers_of_strangers_are_dropped(caller: httpx.Client) -> None:
    claimed = {"X-Forwarded-For": "203.0.113.9", "X-Forwarded-Proto": "http", "X-Request-ID": "chosen-by-a-stranger"}
    headers = caller.get("/", headers=claimed).json()["headers"]
    assert headers["X-Forwarded-For"] == "127.0.0.1"
    assert headers["X-Forwarded-Proto"] == "https"
    assert headers["X-Request-Id" if "X-Request-Id" in headers else "X-Request-ID"] not in claimed.values()


def test_headers_with_underscores_are_dropped(caller: httpx.Client) -> None:
    """Servers turn hyphens into underscores, so that X_Forwarded_For would count as X-Forwarded-For."""
    forged = {"X_Forwarded_For": "203.0.113.9", "X-Forwarded_For": "203.0.113.9", "X_Request_ID": "chosen"}
    headers = caller.get("/", headers=forged).json()["headers"]
    assert not [name for name in headers if "_" in name]
    assert headers["X-Forwarded-For"] == "127.0.0.1"


OWN = (
    "__Host-openport_session=v1",
    "__Host-openport_csrf=v2",
    "__Host-openport_accounts=x.y",
    "__Host-openport_zone=America/Argentina/Buenos_Aires",
    "openport_known=a.1.b|c.2.d",
    "openport_primary=1",
)


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        ("; ".join(OWN), OWN),
        (";".join(reversed(OWN)), OWN),
        (f'a=\xf8; {OWN[0]}; b=\xc3\xb8; {OWN[1]}; _ga=GA1; quoted="x"', OWN[:2]),
        (f"openport_known=\xf8; {OWN[0]}", OWN[:1]),
        (f"{OWN[0]}; openport_known=a\xf8", OWN[:1]),
        (f"x__Host-openport_session=evil; y=openport_known=evil; {OWN[1]}", OWN[1:2]),
        ("a=\xf8; b=2", None),
        ("openport_known=\xf8", None),
        ("", None),
    ],
)
def test_only_cookies_of_the_service_are_passed_on(sent: str, expected: tuple[str, ...] | None, proxy: Proxy) -> None:
    head = f"GET / HTTP/1.1\r\nHost: {HOSTS['auth']}\r\nCookie: {sent}\r\nConnection: close\r\n\r\n"
    received = ask(proxy, head.encode("latin-1"))["headers"].get("Cookie")
    if expected is None:
        assert received is None  # not empty: the service would take it for one that can't be read
    else:
        assert sorted(filter(None, re.split(" *; *", received))) == sorted(expected)


def test_cookies_of_http_2_arrive_in_one_header(proxy: Proxy) -> None:
    """RFC 9113 §8.2.3: each cookie may come in a separate header."""
    fields = [item for one in ("a=\xf8", *OWN) for item in ("--header", b"Cookie: " + one.encode("latin-1"))]
    there = ["--cacert", str(proxy.authority), "--resolve", f"{HOSTS['auth']}:{proxy.https}:127.0.0.1"]
    with proxy.connect("h2") as connection:
        assert connection.selected_alpn_protocol() == "h2"
    command = ["curl", "--silent", "--http2", *there, *fields, proxy.address("auth")]
    received = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)["headers"]["Cookie"]
    assert sorted(filter(None, re.split(" *; *", received))) == sorted(OWN)


@pytest.mark.parametrize("target", ["//.well-known/openid-configuration", "/a%2Fb//c?d=%2F&d=//", "/v1/../v1/me"])
def test_paths_arrive_as_they_were_sent(proxy: Proxy, target: str) -> None:
    head = f"GET {target} HTTP/1.1\r\nHost: {HOSTS['auth']}\r\nConnection: close\r\n\r\n"
    assert ask(proxy, head.encode())["target"] == target


def test_the_largest_form_passes_and_more_does_not(caller: httpx.Client) -> None:
    largest = 2 * 5 * 1024 * 1024 + 256 * 1024
    assert caller.post("/account/profile", content=bytes(largest)).json()["received"] == largest
    with contextlib.suppress(httpx.WriteError):  # the answer may come before all is sent
        assert caller.post("/account/profile", content=bytes(12 * 1024 * 1024)).status_code in (413, 502)


def test_slow_bodies_wait_in_the_proxy(proxy: Proxy, caller: httpx.Client) -> None:
    """The service gets a request once its body is there, and others meanwhile."""
    Echo.seen.clear()
    head = f"POST /slow HTTP/1.1\r\nHost: {HOSTS['auth']}\r\nContent-Length: 100\r\nConnection: close\r\n\r\n"
    with contextlib.ExitStack() as open_ones:
        connections = [open_ones.enter_context(connected(proxy)) for _ in range(40)]
        for connection in connections:
            connection.sendall(head.encode() + b"x" * 50)
        time.sleep(1)
        assert caller.post("/other", content=b"x").json()["received"] == 1
        assert Echo.seen == ["/other"]
        for connection in connections:
            connection.sendall(b"x" * 50)
            answer = b"".join(iter(lambda one=connection: one.recv(65536), b""))  # type: ignore[misc]
            assert json.loads(answer.partition(b"\r\n\r\n")[2])["received"] == 100
    assert Echo.seen.count("/slow") == 40


def test_plain_http_is_sent_on(proxy: Proxy) -> None:
    answer = httpx.get(f"http://127.0.0.1:{proxy.http}/account/login/?next=/", headers={"Host": HOSTS["auth"]})
    assert answer.status_code in (301, 308)
    assert answer.headers["Location"].startswith(f"https://{HOSTS['auth']}")


def test_an_unknown_host_gets_no_certificate(proxy: Proxy) -> None:
    context = ssl.create_default_context(cafile=str(proxy.authority))
    context.check_hostname = False
    with socket.create_connection(("127.0.0.1", proxy.https)) as plain, pytest.raises(ssl.SSLError):
        context.wrap_socket(plain, server_hostname="stranger.localhost")


def test_no_log_holds_a_query_or_a_credential(proxy: Proxy, caller: httpx.Client) -> None:
    for path, status in (("/console/playground/callback", 200), (GONE, 502)):
        url = f"{proxy.address('auth')}{path}?code={CANARY}"
        headers = {"Authorization": f"Bearer {CANARY}", "Cookie": f"s={CANARY}", "Referer": url}
        assert caller.get(url, headers=headers).status_code == status
        assert lines_soon(proxy, path)
    assert CANARY not in proxy.logged()


# The formats of the service's own errors (docs/operations.md#slow-callers).
FORMATS = {
    "/v1": "api",
    "/v1/me": "api",
    "/hooks/leaked-credentials": "api",
    "/connect/forward-auth/calendar": "api",
    "/connect/token": "oauth",
    "/connect/userinfo": "oauth",
    "/connect/revoke": "oauth",
    "/connect/introspect": "oauth",
    "/.well-known/openid-configuration": "oauth",
    "//.well-known/openid-configuration": "oauth",
    "/.well-known/oauth-authorization-server/a": "oauth",
    "/.well-known/oauth-protected-resource": "oauth",
    "/.well-known/jwks": "oauth",
    "/.well-known/security.txt": "page",
    "/v12": "page",
    "/connect/tokens": "page",
    "/connect/authorize": "page",
    "/account/v1/me": "page",
    "/": "page",
}
CODES = {("api", 429): "rate_limited", ("api", 413): "invalid_request", ("oauth", 413): "invalid_request"}
DEFAULTS = {"api": "upstream_unavailable", "oauth": "temporarily_unavailable"}


def check_error(connection: ssl.SSLSocket, path: str, status: int) -> None:
    """The response is an error of the proxy itself, in the format of the path."""
    answer = http.client.HTTPResponse(connection)
    answer.begin()
    form, text = FORMATS[path], answer.read().decode()
    assert answer.status == status
    assert answer.getheader("Retry-After") == (None if status < 429 else "5")
    assert answer.getheader("Cache-Control") == "no-store"
    assert answer.getheader("X-Request-ID")
    assert answer.getheader("Content-Type") == ("text/html; charset=utf-8" if form == "page" else "application/json")
    if form == "page":
        assert text.startswith("<!doctype html>")
        assert f"<title>Error {status}</title>" in text
        return
    error = json.loads(text)["error"]
    assert (error["code"] if form == "api" else error) == CODES.get((form, status), DEFAULTS[form])
    assert answer.getheader("Access-Control-Allow-Origin") == "*"


@pytest.mark.parametrize("path", FORMATS)
def test_errors_of_the_proxy_have_the_format_of_the_endpoint(path: str, proxy: Proxy) -> None:
    with connected(proxy) as connection:
        connection.sendall(f"GET {path}?at={GONE} HTTP/1.1\r\nHost: {HOSTS['auth']}\r\n\r\n".encode())
        check_error(connection, path, 502)


def test_caddy_waits_for_a_service_that_restarts_and_sends_nothing_twice() -> None:
    """Only a request that reached no server may be sent again."""
    port = keeper.free_port()
    with (
        proxies.caddy(port) as proxy,
        httpx.Client(transport=proxy.transport(), base_url=proxy.address("auth"), timeout=20) as client,
        ThreadPoolExecutor(1) as pool,
    ):
        waiting = pool.submit(client.post, "/connect/token", content=b"x")
        time.sleep(1)
        with answering(Echo, port):
            assert waiting.result().json()["received"] == 1
            Echo.seen.clear()
            assert client.get(f"/account/?at={GONE}").status_code == 502
            assert len(Echo.seen) == 1


@pytest.mark.parametrize("path", ["/v1/me", "/connect/token", "/account/v1/me"])
def test_bodies_that_are_too_large_get_an_error_of_the_endpoint(path: str, proxy: Proxy) -> None:
    head = f"POST {path} HTTP/1.1\r\nHost: {HOSTS['auth']}\r\nContent-Length: {12 * 2**20}\r\n\r\n"
    with connected(proxy) as connection:
        connection.sendall(head.encode())
        check_error(connection, path, 413)


def test_nginx_uses_the_format_for_its_limits_and_time_outs() -> None:
    changes = {"proxy_read_timeout 60s": "proxy_read_timeout 100ms", "rate=100r/s": "rate=1r/m", "burst=200": "burst=2"}
    with socket.create_server(("127.0.0.1", 0)) as silent, proxies.nginx(silent.getsockname()[1], changes) as proxy:
        for status in (504, 429):
            for path in ("/v1/me", "/connect/token", "/"):
                with connected(proxy) as connection:
                    head = f"POST {path} HTTP/1.1\r\nHost: {HOSTS['auth']}\r\nContent-Length: 0\r\n\r\n"
                    connection.sendall(head.encode())
                    check_error(connection, path, status)


@contextlib.contextmanager
def nginx_caller(changes: dict[str, str]) -> Iterator[tuple[Proxy, httpx.Client]]:
    """Yield nginx with changes, and a client."""
    with (
        answering(Echo) as upstream,
        proxies.nginx(upstream, changes) as proxy,
        httpx.Client(transport=proxy.transport(), timeout=20) as client,
    ):
        yield proxy, client


def test_nginx_refuses_headers_that_are_too_large() -> None:
    with nginx_caller({}) as (proxy, client):
        answer = client.get(f"{proxy.address('api')}/v1/me", headers={"X-Large": "a" * 20_000})
    assert (answer.status_code, answer.json()["error"]["code"]) == (431, "invalid_request")


@pytest.mark.parametrize(
    ("request_line", "host", "status"),
    [
        ("GARBAGE", "auth.localhost", 400),
        (f"GET /v1/{'a' * 20_000} HTTP/1.1", "auth.localhost", 414),
        ("GET /v1/me HTTP/1.1", "", 400),
        ("GET /v1/me HTTP/1.1", "stranger.localhost", 421),
        ("TRACE /v1/me HTTP/1.1", "auth.localhost", 405),
    ],
)
def test_nginx_refuses_what_it_cannot_read(request_line: str, host: str, status: int) -> None:
    with nginx_caller({}) as (proxy, _):
        with connected(proxy) as connection:
            connection.sendall(f"{request_line}\r\nHost: {host}\r\n\r\n".encode())
            answer = http.client.HTTPResponse(connection)
            answer.begin()
            assert answer.status == status
            assert b"nginx/" not in answer.read()
        assert "/v1/me" not in (proxy.home / "access-log").read_text()


@pytest.mark.parametrize(("network", "status"), [("10.0.0.0/8", 403), ("127.0.0.0/8", 200)])
def test_nginx_restricts_the_admin_to_networks(network: str, status: int) -> None:
    with nginx_caller({"default 1;": "default 0;", "# 10.0.0.0/8 1;": f"{network} 1;"}) as (proxy, client):
        statuses = {name: client.get(f"{proxy.address(name)}/admin/").status_code for name in HOSTS}
    assert statuses == {"auth": 200, "api": 200, "admin": status}


def test_certbot_can_prove_names_through_nginx() -> None:
    with nginx_caller({}) as (proxy, _):
        folder = proxy.home / ".well-known" / "acme-challenge"
        folder.mkdir(parents=True)
        (folder / "token").write_text("proof")
        url = f"http://127.0.0.1:{proxy.http}/.well-known/acme-challenge/token"
        assert httpx.get(url, headers={"Host": HOSTS["auth"]}).text == "proof"


@pytest.mark.parametrize("main", [*proxies.DEBIAN, None])
def test_the_files_start_where_the_docs_put_them(main: int | None) -> None:
    """Both are in /etc/nginx/conf.d/, which the untouched nginx.conf includes."""
    assert proxies.why_not_in_nginx(main) == ""


@contextlib.contextmanager
def connected(proxy: Proxy) -> Iterator[ssl.SSLSocket]:
    """Yield a connection to the host for sign-in."""
    context = ssl.create_default_context(cafile=str(proxy.authority))
    with (
        socket.create_connection(("127.0.0.1", proxy.https)) as plain,
        context.wrap_socket(plain, server_hostname=HOSTS["auth"]) as connection,
    ):
        yield connection


def ask(proxy: Proxy, request: bytes) -> Any:
    """Send a request as it is, and return what the echo received."""
    with connected(proxy) as connection:
        connection.sendall(request)
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    return json.loads(answer.partition(b"\r\n\r\n")[2])


def lines_soon(proxy: Proxy, word: str) -> list[str]:
    """Return the lines of the logs with this word; they are written after the answer."""
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        if found := [line for line in proxy.logged().splitlines() if word in line]:
            return found
        time.sleep(0.02)
    return []
