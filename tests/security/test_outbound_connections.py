"""Connections to public hosts end with the seconds of a request, and lead to nobody but the name in the certificate."""

import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpcore
import pytest

from core import outbound
from core.outbound import connections
from tests.security.outbound_rig import NAME, OK, PUBLIC, SHORT, URL, Rig, assert_refused, build, repeated
from tests.services import pages


@pytest.fixture
def rig(monkeypatch: pytest.MonkeyPatch, settings: Any, tmp_path: Path) -> Iterator[Rig]:
    yield from build(monkeypatch, settings, tmp_path)


# --- Time ---


@pytest.mark.parametrize(
    ("first", "piece"),
    [
        (b"", b"H"),
        (OK + b"X-Slow: ", b"x"),
        (OK + b"Content-Length: 60000\r\n\r\n", b"x"),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    ],
    ids=["the status line", "a header", "the body", "chunks", "interim answers"],
)
def test_an_answer_that_trickles_ends_with_the_seconds(first: bytes, piece: bytes, rig: Rig) -> None:
    rig.site.script("/", repeated(piece, first=first, pause=0.05))
    with rig.hurry():
        assert_refused(URL, "timeout", "did not send a complete response")


@pytest.mark.parametrize("first", [b"", OK, OK + b"Content-Length: 10\r\n\r\nhalf"], ids=["at all", "headers", "body"])
def test_an_answer_that_does_not_come_ends_with_the_seconds(first: bytes, rig: Rig) -> None:
    rig.site.script("/", repeated(b"", first=first, pause=SHORT))
    with rig.hurry():
        assert_refused(URL, "timeout", "did not send a complete response")


def test_a_host_that_never_begins_tls_ends_with_the_seconds(rig: Rig) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:  # the system takes connections, and nobody reads
        rig.lead_to(listener.getsockname()[1])
        with rig.hurry():
            assert_refused(URL, "timeout", "did not send a complete response")


def test_a_host_that_takes_no_connection_ends_with_the_seconds(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    def swallow(address: str, port: int, seconds: float) -> httpcore.NetworkStream:
        given.append(seconds)
        time.sleep(seconds)
        raise httpcore.ConnectTimeout

    given: list[float] = []
    monkeypatch.setattr(connections, "dial", swallow)
    rig.names.set(NAME, "A", PUBLIC, "93.184.216.35")
    with rig.hurry():
        assert_refused(URL, "timeout", "did not send a complete response")
    assert len(given) == 2  # a first address that is dead leaves time for the second one
    assert sum(given) <= SHORT


def test_a_whole_request_has_five_seconds() -> None:
    assert outbound.SECONDS == 5


# --- Connections and certificates ---


def test_a_host_that_refuses_connections_is_told_apart(rig: Rig) -> None:
    rig.roads.clear()
    assert_refused(URL, "unreachable", "no connection on port 443")


def test_a_host_that_hangs_up_is_told_apart(rig: Rig) -> None:
    with pages.serve() as plain:  # no TLS here
        rig.lead_to(plain.port)
        assert_refused(URL, "tls", "TLS")


@pytest.mark.parametrize(
    ("names", "options", "word"),
    [
        (("other.test",), {}, "Hostname mismatch"),
        (("*.shop.test",), {}, "Hostname mismatch"),
        ((PUBLIC,), {}, "Hostname mismatch"),
        ((NAME,), {"self_signed": True}, "self-signed certificate"),
        ((NAME,), {"days": -1}, "certificate has expired"),
    ],
    ids=["of another name", "of names below", "of the address", "self-signed", "expired"],
)
def test_a_certificate_that_is_not_valid_is_refused_with_its_reason(
    names: tuple[str, ...], options: dict[str, Any], word: str, rig: Rig
) -> None:
    with pages.serve(rig.authority.server_context(*names, **options)) as site:
        site.set("/", "hello")
        rig.lead_to(site.port)
        assert_refused(URL, "certificate", word)
        assert site.requests == []


def test_a_certificate_of_nobody_who_is_trusted_is_refused(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SSL_CERT_FILE")
    assert_refused(URL, "certificate", "unable to get local issuer")
