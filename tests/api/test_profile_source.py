"""Profiles from the operator's own service: what it may answer, and what callers see when it does not."""

import itertools
import json
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from unittest import mock

import httpx
import pytest

from accounts.models import Account
from accounts.profile import sources
from accounts.profile.sources import HttpProfiles, HttpSource
from tests.api.calls import ME, PLAN, call, refusal
from tests.api.conftest import Key

GOOD = {"name": "Ada King", "given_name": "Ada", "family_name": "King", "picture": "https://img.example/a.png"}
DOWN = (502, "upstream_unavailable")
Answer = Callable[[httpx.Request], httpx.Response]


def use(answer: Answer) -> None:
    """Have profiles come from `answer`."""
    source = HttpSource("https://people.example/lookup", "s3cret-token", httpx.MockTransport(answer))
    sources._sources = sources._Sources(HttpProfiles(source))


def says(**changes: Any) -> Answer:
    return lambda request: httpx.Response(200, json=GOOD | changes)


# --- What it is asked, and what becomes of a good answer ---


def test_it_is_asked_by_post_with_the_address(key: Key) -> None:
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, json=GOOD)

    use(answer)
    body = call(ME, key.raw).json()
    assert {name: body[name] for name in GOOD} == GOOD
    (request,) = seen
    assert (request.method, str(request.url)) == ("POST", "https://people.example/lookup")
    assert json.loads(request.content) == {"email": key.owner.email}
    assert request.headers["Authorization"] == "Bearer s3cret-token"
    assert key.raw not in str(request.headers)


def test_the_address_and_its_proof_stay_ours(key: Key) -> None:
    use(says(email="mallory@example.com", email_verified=False, id="other", sub="other"))
    body = call(ME, key.raw).json()
    assert (body["email"], body["email_verified"]) == (key.owner.email, True)
    assert body["id"] == key.row.subject.sub
    assert set(body) == {"id", "email", "email_verified", *GOOD}


@pytest.mark.parametrize("changes", [{"family_name": None}, {"picture": None}, {"name": ""}, {"name": "\ud800"}])
def test_fields_that_may_be_null_or_unusual(changes: dict[str, Any], key: Key) -> None:
    use(lambda request: httpx.Response(200, content=json.dumps(GOOD | changes)))
    response = call(ME, key.raw)
    assert response.status_code == 200
    assert {name: response.json()[name] for name in changes} == changes


def test_absent_fields_are_null(key: Key) -> None:
    use(lambda request: httpx.Response(200, json={"name": "A", "given_name": "A"}))
    body = call(ME, key.raw).json()
    assert (body["family_name"], body["picture"]) == (None, None)


def test_nothing_is_kept(key: Key) -> None:
    answers = itertools.count()
    use(lambda request: httpx.Response(200, json=GOOD | {"name": f"Name {next(answers)}"}))
    responses = [call(ME, key.raw) for _ in range(3)]
    assert [response.json()["name"] for response in responses] == ["Name 0", "Name 1", "Name 2"]
    assert {response["Cache-Control"] for response in responses} == {"no-store"}


# --- Failures ---

NONSENSE: list[Any] = [
    b"",
    b"null",
    b"[]",
    b'"text"',
    b"{",
    b"<html>",
    b"\xff\xfe",
    b"NaN",
    b"{}",
    b'{"name": "A"}',
    b"[" * 60_000,
    b'{"a":' * 12_000,
    b"1" * 10_000,
    b" " * 70_000 + b"{}",
    json.dumps(GOOD | {"name": None}).encode(),
    json.dumps(GOOD | {"name": 7}).encode(),
    json.dumps(GOOD | {"name": ["Ada"]}).encode(),
    json.dumps(GOOD | {"given_name": None}).encode(),
    json.dumps(GOOD | {"family_name": False}).encode(),
    json.dumps(GOOD | {"family_name": {}}).encode(),
    json.dumps(GOOD | {"picture": 1}).encode(),
    json.dumps(GOOD | {"picture": "http://img.example/a.png"}).encode(),
    json.dumps(GOOD | {"picture": "javascript:alert(1)"}).encode(),
]


def test_nonsense(key: Key) -> None:
    for body in NONSENSE:
        use(lambda request, body=body: httpx.Response(200, content=body))  # type: ignore[misc]
        response = call(ME, key.raw)
        assert refusal(response) == DOWN, body[:40]
        assert response["Cache-Control"] == "no-store"


def test_another_status(key: Key) -> None:
    headers = {"Location": "http://169.254.169.254/"}
    for status in (201, 204, 301, 302, 304, 400, 401, 404, 429, 500, 503):
        use(lambda request, status=status: httpx.Response(status, json=GOOD, headers=headers))  # type: ignore[misc]
        assert refusal(call(ME, key.raw)) == DOWN, status


def test_no_answer(key: Key) -> None:
    errors = [httpx.ConnectError, httpx.ReadTimeout, httpx.RemoteProtocolError, httpx.ReadError, httpx.PoolTimeout]
    for error in errors:
        use(mock.Mock(side_effect=error("secret.internal:8443")))
        response = call(ME, key.raw)
        assert refusal(response) == DOWN, error
        assert "internal:8443" not in response.content.decode()


def test_it_is_counted_against_the_caller_and_in_its_usage(key: Key, count: Any) -> None:
    use(lambda request: httpx.Response(500))
    assert call(ME, key.raw)["RateLimit-Remaining"] == "599"
    ((field, _),) = next(count.drain())[2].counts.items()
    assert "|me|502|upstream_unavailable|" in field


def test_the_plan_does_not_ask_it(key: Key) -> None:
    use(lambda request: httpx.Response(500))
    assert call(PLAN, key.raw).status_code == 200


def test_the_log_names_no_person(key: Key, caplog: pytest.LogCaptureFixture) -> None:
    use(lambda request: httpx.Response(500))
    call(ME, key.raw)
    assert "people.example" in caplog.text
    assert key.owner.email not in caplog.text
    assert "s3cret-token" not in caplog.text


# --- The breaker ---


def test_after_failures_in_a_row_it_is_left_alone(key: Key, monkeypatch: pytest.MonkeyPatch) -> None:
    moment, asked, well = 1000.0, 0, False

    def answer(request: httpx.Request) -> httpx.Response:
        nonlocal asked
        asked += 1
        return httpx.Response(200, json=GOOD) if well else httpx.Response(503)

    use(answer)
    monkeypatch.setattr(sources, "time", type("Time", (), {"monotonic": staticmethod(lambda: moment)}))
    assert [refusal(call(ME, key.raw)) for _ in range(20)] == [DOWN] * 20
    assert asked == sources.BREAKER_FAILURES
    moment += sources.BREAKER_PAUSE_SECONDS
    assert [refusal(call(ME, key.raw)) for _ in range(3)] == [DOWN] * 3
    assert asked == sources.BREAKER_FAILURES + 1  # one tries, for all
    moment, well = moment + sources.BREAKER_PAUSE_SECONDS, True
    assert [call(ME, key.raw).status_code for _ in range(3)] == [200] * 3
    well = False
    # Whole again: five more may fail.
    for _ in range(10):
        call(ME, key.raw)
    assert asked == 2 * sources.BREAKER_FAILURES + 4


def test_failures_between_successes_open_nothing(key: Key) -> None:
    answers = itertools.cycle([500, 500, 200, 500])
    use(lambda request: httpx.Response(next(answers), json=GOOD))
    statuses = [call(ME, key.raw).status_code for _ in range(24)]
    assert statuses == [502, 502, 200, 502] * 6


# --- A server that is slow ---


@contextmanager
def slow_server(behave: Callable[[Any], None]) -> Iterator[str]:
    """Yield the address of a server whose answers are `behave`'s."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            try:
                behave(self)
            except OSError:
                self.close_connection = True

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  (the library's name)
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


def answer_well(handler: Any) -> None:
    body = json.dumps(GOOD).encode()
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def silent(handler: Any) -> None:
    time.sleep(6)


def dripping_headers(handler: Any) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    for _ in range(80):
        handler.wfile.write(b"x")
        time.sleep(0.1)


def dripping_body(handler: Any) -> None:
    handler.send_response(200)
    handler.end_headers()
    for _ in range(80):
        handler.wfile.write(b" ")
        time.sleep(0.1)


def late_and_stalling(handler: Any) -> None:
    time.sleep(1.5)
    handler.send_response(200)
    handler.end_headers()
    handler.wfile.write(b"{")
    time.sleep(5)


@pytest.mark.slow
@pytest.mark.parametrize("behave", [silent, dripping_headers, dripping_body, late_and_stalling])
def test_it_has_two_seconds_in_all(behave: Callable[[Any], None], key: Key) -> None:
    with slow_server(behave) as url:
        sources._sources = sources._Sources(HttpProfiles(HttpSource(url, "")))
        started = time.monotonic()
        assert refusal(call(ME, key.raw)) == DOWN
        assert 1.5 <= time.monotonic() - started <= 2.5


def test_it_recovers_from_answers_that_never_end(person: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "BUDGET_SECONDS", 0.3)
    monkeypatch.setattr(sources, "BREAKER_PAUSE_SECONDS", 0.1)
    stuck = itertools.count()

    def behave(handler: Any) -> None:
        dripping_headers(handler) if next(stuck) < 8 else answer_well(handler)

    with slow_server(behave) as url:
        source = HttpSource(url, "")
        for _ in range(8):
            with pytest.raises(sources.SourceFailed):
                source.ask(person)
            time.sleep(0.11)
        monkeypatch.setattr(sources, "BUDGET_SECONDS", 20.0)
        assert source.ask(person) == GOOD


@pytest.mark.parametrize("behave", [silent, dripping_headers])
def test_a_late_call_ends_no_other(
    behave: Callable[[Any], None], person: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    late, arrived, release = threading.Event(), threading.Semaphore(0), threading.Event()

    def answer(handler: Any) -> None:
        if late.is_set():
            return behave(handler)
        arrived.release()
        release.wait(20)
        return answer_well(handler)

    monkeypatch.setattr(sources, "BUDGET_SECONDS", 20.0)
    with slow_server(answer) as url, ThreadPoolExecutor(3) as threads:
        source = HttpSource(url, "")
        healthy = [threads.submit(source.ask, person) for _ in range(3)]
        assert all(arrived.acquire(timeout=20) for _ in healthy)
        late.set()
        monkeypatch.setattr(sources, "BUDGET_SECONDS", 0.2)
        for _ in range(sources.BREAKER_FAILURES - 1):
            with pytest.raises(sources.SourceFailed):
                source.ask(person)
        late.clear()
        release.set()
        assert [each.result() for each in healthy] == [GOOD] * 3
        monkeypatch.setattr(sources, "BUDGET_SECONDS", 20.0)
        assert source.ask(person) == GOOD


def test_connections_are_used_again(person: Account) -> None:
    callers = set()

    def answer(handler: Any) -> None:
        callers.add(handler.client_address)
        answer_well(handler)

    with slow_server(answer) as url:
        source = HttpSource(url, "")
        assert [source.ask(person) for _ in range(3)] == [GOOD] * 3
    assert len(callers) == 1
