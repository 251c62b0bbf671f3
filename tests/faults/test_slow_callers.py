"""The service goes on for everyone else while callers send slowly, read slowly, or say nothing."""

import contextlib
import resource
import socket
import sqlite3
import threading
import time
from collections.abc import Iterator

import httpx
import psycopg
import pytest

from core.serving.worker import BODIES, LARGE_BODIES
from tests.clients.person import PASSWORD
from tests.faults.slow_callers import (
    TOKEN_HEAD,
    assert_answers_requests_without_a_body,
    assert_serves,
    post_token,
    slow_callers,
    status,
)
from tests.services.service import SLOW_HASHES, Service, fresh, running

pytestmark = [pytest.mark.slow, pytest.mark.quiet]

SETTINGS = SLOW_HASHES | {"SLOT_WAIT_SECONDS": "1", "FAILURES_PER_MINUTE": "100000"}
ADA = "ada@example.com"
BODY = b"grant_type=refresh_token&refresh_token=none&client_id=nobody"
LENGTH, CHUNKED = f"Content-Length: {len(BODY)}\r\n", "Transfer-Encoding: chunked\r\n"
CLOSE = "Connection: close\r\n"


def chunk(content: bytes) -> bytes:
    """Return a chunk with an extension (RFC 9112 §7.1)."""
    return f"{len(content):x};name=value\r\n".encode() + content + b"\r\n"


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    with running(**SETTINGS) as service:
        service.provision(people=[{"email": ADA, "password": PASSWORD, "given_name": "Ada"}])
        yield service


@pytest.mark.parametrize("drip", [b"", b"x"])
def test_slow_bodies_do_not_delay_others(service: Service, drip: bytes) -> None:
    with slow_callers(service, TOKEN_HEAD + "Content-Length: 100\r\n\r\n", 200, drip):
        assert_serves(service)
        time.sleep(2)
        assert_serves(service)
    assert_serves(service)


def test_beyond_the_limit_of_bodies_requests_without_one_are_answered(service: Service) -> None:
    with slow_callers(service, TOKEN_HEAD + "Content-Length: 100\r\n\r\n", BODIES + 40) as callers:
        refused = callers.ends_soon(2)
        assert (len(refused), set(refused)) == (40, {"HTTP/1.1 503 Service Unavailable"})
        assert post_token(service).status_code == 503
        assert_answers_requests_without_a_body(service)
    time.sleep(1)
    assert_serves(service)


def test_large_uploads_that_stop_leave_smaller_bodies_their_places(service: Service) -> None:
    words = TOKEN_HEAD + "Content-Length: 5000000\r\n\r\n" + "x" * 100_000
    with slow_callers(service, words, LARGE_BODIES + 8) as callers:
        refused = callers.ends_soon(2)
        assert len(refused) == 8
        assert set(refused) <= {"HTTP/1.1 503 Service Unavailable", ""}  # a reset when not all was read
        assert_serves(service)


def test_endless_bodies_do_not_delay_others(service: Service) -> None:
    words = TOKEN_HEAD + "Transfer-Encoding: chunked\r\n\r\n"
    with slow_callers(service, words, 40, b"1\r\nx\r\n"):
        assert_serves(service)
    with slow_callers(service, words, 1) as callers, contextlib.suppress(OSError):
        for _ in range(1000):  # until the service has had enough
            callers.sockets[0].sendall(chunk(bytes(65536)))
        pytest.fail("The service has read 65 MB.")


def test_bodies_that_expect_100_continue_do_not_delay_others(service: Service) -> None:
    words = TOKEN_HEAD + "Content-Length: 100\r\nExpect: 100-continue\r\n\r\n"
    with slow_callers(service, words, 40):
        assert_serves(service)


def test_a_body_beyond_all_limits_is_refused_before_it_comes(service: Service) -> None:
    with slow_callers(service, TOKEN_HEAD + "Content-Length: 50000000\r\n\r\n", 8) as callers:
        assert set(callers.ends(2)) == {"HTTP/1.1 413 Payload Too Large"}


def test_unfinished_headers_and_silent_connections_do_not_delay_others(service: Service) -> None:
    files, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    count = min(5000, most - 500)
    try:
        with (
            slow_callers(service, "", count),
            slow_callers(service, "GET /health/live HTTP/1.1\r\nHost: x\r\n", 40, b"X"),
        ):
            assert_serves(service)
            with slow_callers(service, TOKEN_HEAD + "Content-Length: 100\r\n\r\n", 40):
                assert_serves(service)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, most))
    assert_serves(service)


def test_unread_answers_do_not_delay_others(service: Service) -> None:
    static = "GET /static/admin/js/vendor/xregexp/xregexp.js HTTP/1.1\r\n"
    page = "GET /docs/ HTTP/1.1\r\n"
    host = "Host: localhost:{port}\r\n\r\n"
    with slow_callers(service, (static + host) * 5, 40), slow_callers(service, (page + host) * 5, 40):
        time.sleep(1)
        assert_serves(service)


def test_live_and_discovery_answer_while_all_page_slots_are_stuck(service: Service) -> None:
    if "DATABASE_URL" in service.settings:
        pytest.skip("a lock on the whole database is SQLite's")
    lock = sqlite3.connect(service.home / "db.sqlite3", isolation_level=None)
    lock.execute("BEGIN IMMEDIATE")
    try:
        stuck = [threading.Thread(target=_sign_in, args=(service,)) for _ in range(6)]
        for one in stuck:
            one.start()
        deadline = time.monotonic() + 10
        while (page := httpx.get(f"{service.address}/account/login/", timeout=5)).status_code == 200:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        assert (page.status_code, page.headers["Retry-After"]) == (503, "5")
        assert status(service, "/health/live") == 200
        assert status(service, "/.well-known/openid-configuration") == 200
        assert status(service, "/.well-known/jwks") == 200
    finally:
        lock.execute("ROLLBACK")
        lock.close()
    for one in stuck:
        one.join(10)
    assert_serves(service)


def _sign_in(service: Service) -> None:
    same = "a" * 32
    form = {"login": ADA, "password": PASSWORD, "csrfmiddlewaretoken": same}
    cookies = {"openport_csrf": same}
    headers = {"Origin": service.address}
    httpx.post(f"{service.address}/account/login/", data=form, cookies=cookies, headers=headers, timeout=30)


def test_a_server_that_stops_waits_ten_seconds_for_bodies() -> None:
    with fresh(**SLOW_HASHES) as service:
        service.start()
        with slow_callers(service, TOKEN_HEAD + "Content-Length: 100\r\n\r\n", 8):
            time.sleep(1)
            started = time.monotonic()
            assert service.stop(seconds=20) == 0
            assert time.monotonic() - started < 15


def send_to_token(service: Service, headers: str, *pieces: bytes, seconds: float = 0.0) -> bytes:
    """Send a request to the token endpoint in pieces, and return everything that comes back in three seconds."""
    with socket.create_connection(("127.0.0.1", service.port), timeout=3) as caller:
        caller.sendall(f"{TOKEN_HEAD.format(port=service.port)}{headers}\r\n".encode())
        for piece in pieces:
            time.sleep(seconds)
            caller.sendall(piece)
        received = b""
        with contextlib.suppress(TimeoutError):
            while piece := caller.recv(65536):
                received += piece
        return received


def test_a_request_that_comes_in_pieces_is_answered(service: Service) -> None:
    pieces = [BODY[start : start + 20] for start in range(0, len(BODY), 20)]
    assert b"invalid_client" in send_to_token(service, LENGTH + CLOSE, *pieces, seconds=0.7)
    chunks = [*map(chunk, pieces), b"0\r\n\r\n"]
    assert b"invalid_client" in send_to_token(service, CHUNKED + CLOSE, *chunks, seconds=0.7)


@pytest.mark.parametrize("lengths", [CHUNKED + LENGTH, LENGTH + CHUNKED, CHUNKED + "Content-Length: 3\r\n"])
def test_chunks_count_if_a_length_is_sent_too_and_the_connection_ends(service: Service, lengths: str) -> None:
    """RFC 9112 §6.3: what follows must not be read as another request."""
    following = b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n"
    received = send_to_token(service, lengths, chunk(BODY) + b"0\r\n\r\n" + following)
    assert b"invalid_client" in received
    assert received.count(b"HTTP/1.1 ") == 1


@pytest.mark.parametrize("broken", [b"zz\r\n", b"-1\r\n", b"ffffffffffffffffff\r\n", b"3\r\nabcdef\r\n"])
def test_a_connection_ends_with_a_malformed_chunk(service: Service, broken: bytes) -> None:
    following = b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n"
    received = send_to_token(service, CHUNKED, chunk(b"client_id=nobody"), broken + b"0\r\n\r\n" + following)
    assert received.startswith(b"HTTP/1.1 400 ")
    assert received.count(b"HTTP/1.1 ") == 1


@pytest.mark.parametrize("announced", ["Content-Length: 100\r\n", CHUNKED])
def test_endpoints_that_read_no_body_do_not_wait_for_one(service: Service, announced: str) -> None:
    lines = (
        "GET /v1/me", "GET /account/login/", "HEAD /account/login/", "OPTIONS /connect/token", "POST /connect/userinfo",
        "DELETE /connect/forward-auth/none", "POST /connect/forward-auth/none/events/1", "POST /.well-known/jwks",
        "POST /health/live",
    )  # fmt: skip
    for line in lines:
        with socket.create_connection(("127.0.0.1", service.port), timeout=3) as caller:
            caller.sendall(f"{line} HTTP/1.1\r\nHost: localhost:{service.port}\r\n{announced}\r\n".encode())
            assert b"\r\nconnection: close\r\n" in caller.recv(65536)


@pytest.mark.postgres
def test_many_requests_at_once_share_a_few_database_connections(service: Service) -> None:
    """A slot keeps its connection, and there are four; the timer of the embedded environment has a separate one."""
    for _ in range(5):
        asking = [threading.Thread(target=post_token, args=(service,)) for _ in range(40)]
        for one in asking:
            one.start()
        for one in asking:
            one.join()
    with psycopg.connect(service.settings["DATABASE_URL"]) as database:
        row = database.execute("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()").fetchone()
    assert row is not None
    assert 4 <= row[0] - 1 <= 6
