"""Connections to public hosts end with the seconds of a request, and lead to nobody but the name in the certificate."""

import socket
import time
from typing import Any

import httpcore
import pytest

from core.outbound import fetching
from tests.security.outbound_rig import NAME, OK, PUBLIC, SHORT, URL, Rig, assert_refused, repeated
from tests.services import pages

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
def test_a_trickling_response_times_out(first: bytes, piece: bytes, rig: Rig) -> None:
    rig.site.script("/", repeated(piece, first=first, pause=0.05))
    with rig.hurry():
        assert_refused(URL, "timeout", "did not send a complete response")


@pytest.mark.parametrize("first", [b"", OK, OK + b"Content-Length: 10\r\n\r\nhalf"], ids=["at all", "headers", "body"])
def test_a_missing_response_times_out(first: bytes, rig: Rig) -> None:
    rig.site.script("/", repeated(b"", first=first, pause=SHORT))
    with rig.hurry():
        assert_refused(URL, "timeout", "did not send a complete response")


def test_a_missing_tls_handshake_times_out(rig: Rig) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:  # the system takes connections, and nobody reads
        rig.lead_to(listener.getsockname()[1])
        with rig.hurry():
            assert_refused(URL, "timeout", "did not send a complete response")


def test_a_connection_attempt_times_out(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    def swallow(address: str, port: int, seconds: float) -> httpcore.NetworkStream:
        given.append(seconds)
        time.sleep(seconds)
        raise httpcore.ConnectTimeout

    given: list[float] = []
    monkeypatch.setattr(fetching, "dial", swallow)
    rig.names.set(NAME, "A", PUBLIC, "93.184.216.35")
    with rig.hurry():
        assert_refused(URL, "timeout", "did not send a complete response")
    assert len(given) == 2  # a first address that is dead leaves time for the second one
    assert sum(given) <= SHORT


# --- Connections and certificates ---


def test_a_refused_connection_has_its_own_code(rig: Rig) -> None:
    rig.roads.clear()
    assert_refused(URL, "unreachable", "no connection on port 443")


def test_a_closed_connection_has_its_own_code(rig: Rig) -> None:
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
def test_an_invalid_certificate_is_rejected_with_the_reason(
    names: tuple[str, ...], options: dict[str, Any], word: str, rig: Rig
) -> None:
    with pages.serve(rig.authority.server_context(*names, **options)) as site:
        site.set("/", "hello")
        rig.lead_to(site.port)
        assert_refused(URL, "certificate", word)
        assert site.requests == []


def test_a_certificate_of_an_untrusted_issuer_is_rejected(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SSL_CERT_FILE")
    assert_refused(URL, "certificate", "unable to get local issuer")
