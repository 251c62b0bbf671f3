"""Content-Type, Accept and raw bytes in URLs: no value breaks a page, even before anything is read."""

import functools
import io
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from django.test import RequestFactory

from core.serving.application import UTF8Handler, UTF8Request
from oidc.values.parameters import read_query

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


def as_wsgi(text: str) -> str:
    """Return text as a server hands over its UTF-8 (PEP 3333)."""
    return text.encode().decode("latin-1")


def test_raw_utf_8_in_a_query_is_read_like_encoded_text() -> None:
    sent = as_wsgi("state=ø&b=%C3%A4+c%26d&e=[~'\"]&f=日本")
    request = UTF8Request(RequestFactory()._base_environ(QUERY_STRING=sent))  # type: ignore[attr-defined]
    assert request.META["QUERY_STRING"] == "state=%C3%B8&b=%C3%A4+c%26d&e=[~'\"]&f=%E6%97%A5%E6%9C%AC"
    expected = {"state": "ø", "b": "ä c&d", "e": "[~'\"]", "f": "日本"}
    assert request.GET.dict() == read_query(request).values == expected


@pytest.mark.parametrize(
    ("path", "query", "expected"),
    [
        ("/account/login/", "next=/ø", 200),
        ("/account/ø/", "", 404),
        ("/connect/ø", "ø=ø", 404),
        ("/v1/me", "ø=日本", 401),
        ("/connect/authorize", "state=ø", 400),
    ],
)
def test_raw_utf_8_in_a_url_breaks_nothing(path: str, query: str, expected: int, db: None) -> None:
    assert status(as_wsgi(path), "GET", "", query=as_wsgi(query)) == expected


def test_raw_bytes_in_a_query_that_are_no_utf_8_are_rejected(db: None) -> None:
    for path in ("/account/login/", "/docs/"):
        assert status(path, "GET", "", query="q=\xf8") == status(path, "GET", "", query="q=%F8") == 400
    assert status("/\xf8", "GET", "", query="") == 404
