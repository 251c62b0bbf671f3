"""What each stage of a request lets through, and what it answers beyond that."""

import hashlib
import io
import json
import threading
import time
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from django.core.cache import caches
from django.db import connection, connections, transaction
from django.http import HttpResponse, StreamingHttpResponse

from core.http.error_pages import UNREADABLE_COOKIES, ServiceBusy
from core.serving import buffers
from core.serving.application import BoundedApplication
from core.serving.buffers import BodyReceiver, ResponseBuffer
from core.serving.errors import HTTPError
from core.serving.slots import SlotPool, lend_slot

MEGABYTE = 1024 * 1024


class Gate(io.RawIOBase):
    """A body that comes when the gate is opened."""

    def __init__(self) -> None:
        self.opened = threading.Event()

    def read(self, size: int = -1) -> bytes:
        self.opened.wait(10)
        return b"x" * size


def bounded(application: Any, **own: Any) -> BoundedApplication:
    limits = {"most": 4, "most_large": 1, "most_bytes": 5 * MEGABYTE} | own
    slots, page_slots = (SlotPool(1, most_waiting=1, seconds=0.3) for _ in range(2))
    received, sent = BodyReceiver(**limits), ResponseBuffer(1)
    return BoundedApplication(application, bodies=received, slots=slots, page_slots=page_slots, answers=sent)


def ask(
    application: BoundedApplication, path: str = "/", source: Any = None, **environ: str
) -> tuple[str, dict[str, str], Iterable[bytes]]:
    said: list[Any] = []
    given: dict[str, Any] = {"PATH_INFO": path, "REMOTE_ADDR": "192.0.2.1", "REQUEST_METHOD": "POST"}
    given |= {"wsgi.input": source or io.BytesIO()} | environ
    body = application(given, lambda status, headers: said.extend([status, dict(headers)]))
    return said[-2], said[-1], body


def answer(response: Any) -> Any:
    """Return an application that always answers the same."""

    def application(environ: dict[str, Any], start_response: Any) -> Any:
        start_response("200 OK", [])
        return response() if callable(response) else response

    return application


def held(gate: threading.Event, *paths: str) -> Any:
    """Return an application that answers at these paths when the gate is opened, and at others at once."""

    def application(environ: dict[str, Any], start_response: Any) -> Any:
        if environ["PATH_INFO"] in paths:
            gate.wait(10)
        start_response("200 OK", [])
        return HttpResponse()

    return application


@pytest.mark.parametrize("is_chunked", [False, True])
@pytest.mark.parametrize(
    "length",
    [
        0,
        1,
        buffers.PIECE_BYTES,
        buffers.PIECE_BYTES + 1,
        buffers.IN_MEMORY_BYTES,
        buffers.IN_MEMORY_BYTES + 1,
        5 * MEGABYTE,
    ],
)
def test_a_body_arrives_whole_with_its_length(length: int, is_chunked: bool) -> None:
    sent = bytes(number % 251 for number in range(length))
    got: list[Any] = []

    def application(environ: dict[str, Any], start_response: Any) -> Any:
        got.extend([environ["CONTENT_LENGTH"], hashlib.sha256(environ["wsgi.input"].read()).digest()])
        return answer(HttpResponse())(environ, start_response)

    announced = {"HTTP_TRANSFER_ENCODING": "Chunked"} if is_chunked else {"CONTENT_LENGTH": str(length)}
    status, _, _ = ask(bounded(application), source=io.BytesIO(sent), **announced)
    assert status == "200 OK"
    assert got == [str(length), hashlib.sha256(sent).digest()]


@pytest.mark.parametrize(
    ("announced", "expected"),
    [("-1", "400"), ("1_0", "400"), ("٣", "400"), ("5242881", "413"), ("9" * 5000, "413"), ("7", "400")],
)
def test_an_invalid_too_large_or_unreached_content_length_is_rejected(announced: str, expected: str) -> None:
    source = io.BytesIO(b"short")
    status, headers, _ = ask(bounded(answer(HttpResponse())), source=source, CONTENT_LENGTH=announced)
    assert status.startswith(expected)
    assert headers["Connection"] == "close"


@pytest.mark.parametrize(
    ("coding", "length", "expected"),
    [("chunked", 5 * MEGABYTE + 1, "413"), ("gzip, chunked", 9, "400"), ("", 9, "400")],
)
def test_a_chunked_body_that_is_too_large_or_coded_otherwise_is_rejected(
    coding: str, length: int, expected: str
) -> None:
    source = io.BytesIO(bytes(length + 100))
    status, headers, _ = ask(bounded(answer(HttpResponse())), source=source, HTTP_TRANSFER_ENCODING=coding)
    assert status.startswith(expected)
    assert headers["Connection"] == "close"
    assert source.tell() <= 5 * MEGABYTE + 1


def test_an_empty_body_that_is_not_read_keeps_the_connection_open() -> None:
    _, headers, _ = ask(bounded(answer(HttpResponse())), "/v1/me", REQUEST_METHOD="GET", CONTENT_LENGTH="0")
    assert "Connection" not in headers


@pytest.mark.parametrize(
    ("sent", "is_marked"), [({"HTTP_COOKIE": ""}, True), ({"HTTP_COOKIE": "a=1"}, False), ({}, False)]
)
def test_cookies_that_are_there_and_empty_are_marked(sent: dict[str, str], is_marked: bool) -> None:
    marked = []

    def application(environ: dict[str, Any], start_response: Any) -> Any:
        marked.append(UNREADABLE_COOKIES in environ)
        return answer(HttpResponse())(environ, start_response)

    ask(bounded(application), **sent)
    assert marked == [is_marked]


@pytest.mark.parametrize(("length", "most"), [(10, 4), (2 * MEGABYTE, 1)])
def test_the_number_of_bodies_received_at_once_is_limited(length: int, most: int) -> None:
    gate = Gate()
    application = bounded(answer(HttpResponse()))
    body: dict[str, Any] = {"CONTENT_LENGTH": str(length), "source": gate}
    waiting = [threading.Thread(target=ask, args=(application,), kwargs=body) for _ in range(most)]
    for one in waiting:
        one.start()
    time.sleep(0.1)
    status, headers, _ = ask(application, **body)
    assert (status, headers["Retry-After"]) == ("503 Service Unavailable", "5")
    assert ask(application)[0] == "200 OK"
    gate.opened.set()
    for one in waiting:
        one.join()
    assert ask(application, **body)[0] == "200 OK"


def test_requests_wait_briefly_for_a_slot_and_others_are_answered() -> None:
    gate = threading.Event()
    bound = bounded(held(gate, "/v1/stuck"))
    stuck = threading.Thread(target=ask, args=(bound, "/v1/stuck"))
    stuck.start()
    time.sleep(0.1)
    assert ask(bound, "/health/live")[0] == "200 OK"
    started = time.monotonic()
    status, headers, _ = ask(bound, "/v1/me")
    assert (status, headers["Retry-After"]) == ("503 Service Unavailable", "5")
    assert 0.2 < time.monotonic() - started < 2
    assert "Connection" not in headers
    second = threading.Thread(target=ask, args=(bound, "/v1/me"))
    second.start()
    time.sleep(0.1)
    started = time.monotonic()
    assert ask(bound, "/v1/me")[0].startswith("503")  # one waits already: this one does not
    assert time.monotonic() - started < 0.15
    gate.set()
    stuck.join()
    second.join()
    assert ask(bound, "/v1/me")[0] == "200 OK"


def test_pages_and_endpoints_of_programs_do_not_wait_for_each_other() -> None:
    gate = threading.Event()
    for stuck_at, free in (("/account/stuck", "/v1/me"), ("/v1/stuck", "/account/")):
        bound = bounded(held(gate, stuck_at))
        stuck = threading.Thread(target=ask, args=(bound, stuck_at))
        stuck.start()
        time.sleep(0.1)
        assert ask(bound, free)[0] == "200 OK"
        assert ask(bound, stuck_at)[0].startswith("503")
        gate.set()
        stuck.join()
        gate.clear()


def test_a_slot_is_lent_while_the_database_is_not_used() -> None:
    gate = threading.Event()
    connected = []

    def application(environ: dict[str, Any], start_response: Any) -> Any:
        connected.append(id(connections["default"]))
        if environ["PATH_INFO"] == "/lends":
            with lend_slot():
                gate.wait(10)
            connected.append(id(connections["default"]))
            connection.validate_thread_sharing()
        return answer(HttpResponse())(environ, start_response)

    bound = bounded(application)
    lending = threading.Thread(target=ask, args=(bound, "/lends"))
    lending.start()
    time.sleep(0.1)
    assert ask(bound, "/account/")[0] == "200 OK"
    gate.set()
    lending.join()
    assert len(set(connected)) == 1
    assert len(connected) == 3


def test_a_request_that_lent_its_slot_and_gets_none_back_gets_503() -> None:
    gate = threading.Event()
    asked = []

    def application(environ: dict[str, Any], start_response: Any) -> Any:
        asked.append(environ["PATH_INFO"])
        if environ["PATH_INFO"] == "/lends":
            with lend_slot():
                while len(asked) < 2:
                    time.sleep(0.01)
        return held(gate, "/stuck")(environ, start_response)

    bound = bounded(application)
    stuck = threading.Thread(target=ask, args=(bound, "/stuck"))
    threading.Timer(0.1, stuck.start).start()
    with pytest.raises(ServiceBusy):
        ask(bound, "/lends")
    gate.set()
    stuck.join()
    assert ask(bound, "/account/")[0] == "200 OK"


@pytest.mark.django_db(transaction=True)
def test_a_slot_is_kept_inside_a_transaction() -> None:
    bound: Any = None

    def application(environ: dict[str, Any], start_response: Any) -> Any:
        if environ["PATH_INFO"] == "/lends":
            with transaction.atomic(), lend_slot():
                assert ask(bound, "/account/")[0].startswith("503")
        return answer(HttpResponse())(environ, start_response)

    bound = bounded(application)
    asking = threading.Thread(target=ask, args=(bound, "/lends"))
    asking.start()
    asking.join()
    assert ask(bound, "/account/")[0] == "200 OK"


def test_the_connection_belongs_to_the_slot_and_not_to_the_thread() -> None:
    used = []

    def application(environ: dict[str, Any], start_response: Any) -> Any:
        used.append((id(connections["default"]), id(caches["default"])))
        connection.validate_thread_sharing()
        return answer(HttpResponse())(environ, start_response)

    bound = bounded(application)
    own = connections["default"]
    for _ in range(5):
        thread = threading.Thread(target=ask, args=(bound,))
        thread.start()
        thread.join()
    assert len(set(used)) == 1
    assert used[0][0] != id(own)


def test_a_slot_is_free_again_after_an_error() -> None:
    def application(environ: dict[str, Any], start_response: Any) -> Any:
        raise RuntimeError

    bound = bounded(application)
    for _ in range(3):
        with pytest.raises(RuntimeError):
            ask(bound)


def pieces(total: int) -> Iterator[bytes]:
    for _ in range(total // 1000):
        yield b"x" * 1000


def test_an_answer_that_streams_leaves_its_slot_whole() -> None:
    """However long an answer is, a slow reader holds no slot; the number of answers that need a file is limited."""
    long = buffers.IN_MEMORY_BYTES * 3 // 1000 * 1000
    bound = bounded(answer(lambda: StreamingHttpResponse(pieces(long))))
    _, _, first = ask(bound)
    reading = iter(first)
    assert len(next(reading)) == buffers.PIECE_BYTES
    assert ask(bound)[0].startswith("503")  # only one long answer at once
    short = bounded(answer(lambda: StreamingHttpResponse(pieces(5000))))
    assert [b"".join(ask(short)[2]) for _ in range(3)] == [b"x" * 5000] * 3
    assert sum(map(len, reading)) == long - buffers.PIECE_BYTES
    first.close()  # type: ignore[attr-defined]
    assert sum(map(len, ask(bound)[2])) == long


def test_a_response_is_closed_when_its_content_is_taken() -> None:
    response = HttpResponse(b"text")
    assert list(ask(bounded(answer(response)))[2]) == [b"text"]
    assert response.closed


@pytest.mark.parametrize(
    ("path", "busy", "refused"),
    [
        ("/v1/me", {"code": "upstream_unavailable"}, {"code": "invalid_request"}),
        ("/connect/token", "temporarily_unavailable", "invalid_request"),
        ("/connect/revoke", "temporarily_unavailable", "invalid_request"),
        ("/account/", None, None),
        ("/v10", None, None),
    ],
)
def test_a_rejection_has_the_format_of_its_endpoint(path: str, busy: Any, refused: Any) -> None:
    for status, expected in ((503, busy), (413, refused)):
        line, headers, body = HTTPError(status).answer(path)
        assert line.startswith(str(status))
        given = dict(headers)
        assert given["Content-Length"] == str(len(body))
        assert ("Retry-After" in given) == (status == 503)
        assert given.get("Access-Control-Allow-Origin") == (None if expected is None else "*")
        if expected is None:
            assert given["Content-Type"].startswith("text/plain")
        elif isinstance(expected, dict):
            assert json.loads(body)["error"]["code"] == expected["code"]
        else:
            assert json.loads(body)["error"] == expected
