"""Content-Type and Accept: no value breaks a page, no matter who sends it, even before anything is read."""

import functools
import io
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from django.test import RequestFactory

from core.serving.application import UTF8Handler

# Codecs that are no text, that refuse to be lenient, and none at all.
NAMES = "hex base64 zlib idna punycode utf-16 utf-7 undefined rot13 unicode_escape nonsense \x00 \xe9"
CHARSETS = NAMES.split(" ")
TYPES = [
    *(f"text/plain; charset={charset}" for charset in CHARSETS),
    *(f"text/plain; a*={charset}''%41%ff" for charset in CHARSETS),
    *(f"multipart/form-data; boundary=x; charset={charset}" for charset in CHARSETS),
    "application/x-www-form-urlencoded; charset=hex",
    "text/plain; a*0*=hex''a; a*1=b",
    "text/plain; a" + "=b; a" * 3000,
]
PARTS = [
    part.format(charset).encode("latin-1")
    for charset in CHARSETS
    for part in ("name=\"a\"; filename*={0}''%41%ff", "name*={0}''%41%ff")
]


@pytest.fixture(autouse=True)
def the_tests_own_connection() -> Iterator[None]:
    """Leave the connection open: between requests Django drops one that is inside of a transaction, as a test's is."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@functools.cache
def _handler() -> UTF8Handler:
    return UTF8Handler()


def status(
    path: str, method: str, content_type: str, body: bytes = b"a=%ff", query: str = "q=%C3%A4", **headers: str
) -> int:
    """Return the status that the application as it is served answers."""
    environ = RequestFactory()._base_environ(  # type: ignore[attr-defined]
        PATH_INFO=path, REQUEST_METHOD=method, CONTENT_TYPE=content_type, QUERY_STRING=query, CONTENT_LENGTH=len(body)
    )
    environ |= headers
    environ["wsgi.input"] = io.BytesIO(body)
    found: list[str] = []

    def start(status: str, headers: Any, exc_info: Any = None) -> Any:
        found.append(status)

    answer: Any = _handler()(environ, start)
    b"".join(answer)
    return int(found[0][:3])


@pytest.mark.parametrize(
    "path", ["/console/", "/account/login/", "/connect/token", "/connect/consent", "/v1/me", "/.well-known/jwks"]
)
def test_no_content_type_breaks_a_page(path: str, db: None) -> None:
    for content_type in TYPES:
        for method in ("GET", "POST"):
            assert status(path, method, content_type) < 500, (method, content_type)


@pytest.mark.parametrize(
    ("path", "method", "expected"),
    [
        ("/nowhere", "GET", 404),
        ("/connect/nowhere", "GET", 404),
        ("/connect/dismiss", "GET", 405),
        ("/v1/me", "GET", 401),
    ],
)
def test_no_accept_header_breaks_a_page(path: str, method: str, expected: int, db: None) -> None:
    for charset in CHARSETS:
        for accept in (f"text/html; a*={charset}''%41%ff", f"text/html; q*={charset}''1, */*", "text/html; q=nan", ";"):
            assert status(path, method, "", HTTP_ACCEPT=accept) == expected, accept


def test_no_part_of_a_multipart_form_breaks_a_page(db: None) -> None:
    for part in PARTS:
        body = b"--x\r\nContent-Disposition: form-data; " + part + b"\r\n\r\n\xff\r\n--x--\r\n"
        assert status("/account/login/", "POST", "multipart/form-data; boundary=x", body) < 500, part


def test_too_many_parameters_are_rejected_with_a_charset_too(db: None) -> None:
    assert status("/console/", "GET", "text/plain; charset=utf-8", query="a=b&" * 2000) < 500
