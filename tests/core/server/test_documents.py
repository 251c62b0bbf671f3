"""Documents of which the server keeps a copy (core/serving/documents.py)."""

import contextlib
import gzip
import io
import json
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.signals import request_finished, request_started
from django.db import close_old_connections

from core.serving.application import BoundedApplication, UTF8Handler
from core.serving.buffers import BodyReceiver, ResponseBuffer
from core.serving.documents import document_paths
from oidc.tokens import signing_keys
from tests.factories import make_account

DISCOVERY, JWKS = "/.well-known/openid-configuration", "/.well-known/jwks"
PATHS = (
    DISCOVERY,
    f"/{DISCOVERY}",
    "/.well-known/oauth-authorization-server",
    "/.well-known/oauth-protected-resource",
    JWKS,
)
pytestmark = pytest.mark.django_db


class Server:
    """The bounded application, and how often Django was asked."""

    def __init__(self) -> None:
        self.asked = 0
        handler = UTF8Handler()

        def django(environ: Any, start_response: Any) -> Any:
            self.asked += 1
            return handler(environ, start_response)

        # The test's own connection stays: no slot takes its place.
        pools: Any = [SimpleNamespace(without=contextlib.nullcontext) for _ in range(2)]
        bodies = BodyReceiver(most=1, most_large=1, most_bytes=1000)
        self._application = BoundedApplication(
            django, bodies=bodies, slots=pools[0], page_slots=pools[1], answers=ResponseBuffer(1)
        )

    def get(self, path: str, method: str = "GET", query: str = "", **headers: str) -> SimpleNamespace:
        environ = {
            "REQUEST_METHOD": method, "SCRIPT_NAME": "", "PATH_INFO": path, "QUERY_STRING": query,
            "SERVER_NAME": "localhost", "SERVER_PORT": "8000", "SERVER_PROTOCOL": "HTTP/1.1",
            "REMOTE_ADDR": "127.0.0.1", "HTTP_HOST": "localhost:8000", "wsgi.url_scheme": "http",
            "wsgi.input": io.BytesIO(), "wsgi.errors": sys.stderr,
        } | headers  # fmt: skip
        answer = SimpleNamespace()

        def start(status: str, sent: list[tuple[str, str]], *rest: Any) -> None:
            answer.status, answer.headers = int(status[:3]), dict(sent)
            assert len(answer.headers) == len(sent)

        answer.body = b"".join(self._application(environ, start))
        return answer


@pytest.fixture
def server() -> Iterator[Server]:
    signing_keys.reload_keyring()
    # They would close the connection that the test's transaction is on.
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield Server()
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@pytest.mark.parametrize("path", PATHS)
def test_the_copy_is_djangos_answer_but_for_the_request_id(server: Server, path: str) -> None:
    first, second = server.get(path), server.get(path)
    assert server.asked == 1
    assert first.status == second.status == 200
    assert first.body == second.body
    ids = first.headers.pop("X-Request-ID"), second.headers.pop("X-Request-ID")
    assert ids[0] != ids[1]
    assert first.headers == second.headers
    assert second.headers["Access-Control-Allow-Origin"] == "*"


def test_these_are_all_documents() -> None:
    assert document_paths() == set(PATHS)


def test_a_new_key_is_published_at_once(server: Server) -> None:
    before = json.loads(server.get(JWKS).body)["keys"]
    signing_keys.publish_next_key(make_account().pk)
    signing_keys.reload_keyring()
    after = json.loads(server.get(JWKS).body)["keys"]
    assert len(after) == len(before) + 1
    assert json.loads(server.get(JWKS).body)["keys"] == after
    assert server.asked == 2


def test_it_is_compressed_for_clients_that_accept_it(server: Server) -> None:
    plain = server.get(DISCOVERY)
    for _ in range(2):
        small = server.get(DISCOVERY, HTTP_ACCEPT_ENCODING="gzip, br")
        assert gzip.decompress(small.body) == plain.body
        assert small.headers["Content-Encoding"] == "gzip"
        assert small.headers["Vary"] == "Accept-Encoding"
    assert "Content-Encoding" not in server.get(DISCOVERY).headers
    assert server.asked == 2


@pytest.mark.parametrize("encodings", ["", "gzip"])
def test_a_client_with_a_current_copy_gets_304(server: Server, encodings: str) -> None:
    tag = server.get(JWKS, HTTP_ACCEPT_ENCODING=encodings).headers["ETag"]
    again = server.get(JWKS, HTTP_ACCEPT_ENCODING=encodings, HTTP_IF_NONE_MATCH=tag)
    assert (again.status, again.body) == (304, b"")
    assert server.get(JWKS, HTTP_ACCEPT_ENCODING=encodings, HTTP_IF_NONE_MATCH='"other"').status == 200


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"HTTP_HOST": "elsewhere.example.com"}, 400),
        ({"method": "POST"}, 405),
        ({"method": "HEAD"}, 200),
        ({"method": "OPTIONS", "HTTP_ACCESS_CONTROL_REQUEST_METHOD": "GET", "HTTP_ORIGIN": "https://a.example"}, 204),
        ({"query": "a=b"}, 200),
    ],
)
def test_unusual_requests_go_to_django(server: Server, change: dict[str, str], status: int) -> None:
    server.get(DISCOVERY)
    for asked in (2, 3):
        assert server.get(DISCOVERY, **change).status == status
        assert server.asked == asked


def test_a_proxys_scheme_counts(server: Server, settings: Any) -> None:
    settings.TRUSTED_PROXIES = ["127.0.0.1/32"]
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    settings.SECURE_SSL_REDIRECT = True
    server = Server()
    assert server.get(JWKS, HTTP_X_FORWARDED_PROTO="https").status == 200
    assert server.get(JWKS, HTTP_X_FORWARDED_PROTO="http").status == 301
    assert server.get(JWKS, HTTP_X_FORWARDED_PROTO="http").status == 301
    assert server.get(JWKS, HTTP_X_FORWARDED_PROTO="https").status == 200


def test_a_proxys_request_id_is_taken_and_anyone_elses_is_not(server: Server, settings: Any) -> None:
    server.get(JWKS)
    given = "given-by-someone"
    assert server.get(JWKS, HTTP_X_REQUEST_ID=given).headers["X-Request-ID"] != given
    settings.TRUSTED_PROXIES = ["127.0.0.1/32"]
    for _ in range(2):
        assert server.get(JWKS, HTTP_X_REQUEST_ID=given).headers["X-Request-ID"] == given


def test_without_keys_there_is_no_copy(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    server.get(JWKS)

    def fail() -> Any:
        raise signing_keys.NoSigningKey

    with monkeypatch.context() as patch:
        patch.setattr(signing_keys, "current_keyring", fail)
        assert [server.get(JWKS).status for _ in range(2)] == [503, 503]
    assert server.get(JWKS).status == 200


def test_copies_are_bounded(server: Server, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.ALLOWED_HOSTS = ["*"]
    monkeypatch.setattr("core.serving.documents.MOST_COPIES", 3)
    for number in range(6):
        server.get(DISCOVERY, HTTP_HOST=f"host{number}.example.com")
    assert len(server._application._documents._copies) <= 3


def test_metrics_count_the_first_response_and_copies(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    def count(*args: Any) -> None:
        seen.append(args[:3])

    monkeypatch.setattr("core.telemetry.metrics.request_answered", count)
    for _ in range(3):
        server.get(DISCOVERY)
    assert seen == [("discovery", "GET", 200)] * 3
