"""What a public host may answer to a request of the service: redirects, size and encodings."""

import gzip
import time
import zlib
from io import BufferedIOBase
from typing import Any

import pytest

from core import outbound
from core.outbound.limits import MAX_BYTES, MAX_HEADER_BYTES, MAX_REDIRECTS, MAX_WIRE_BYTES
from tests.security.outbound_rig import NAME, OK, PUBLIC, SHORT, URL, Rig, assert_refused, repeated, written

# --- Redirects ---


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_on_the_same_host_are_followed(status: int, rig: Rig) -> None:
    for path in ("/there", "/?a=1", "/a"):
        rig.site.set(path, "here")
    for location in ("/there", "there", "?a=1", URL + "there", f"//{NAME}:443/there", "HTTPS://Shop.Test/a"):
        rig.site.redirect("/", location, status=status)
        answer = outbound.fetch(URL)
        assert (answer.text, answer.url.startswith(URL)) == ("here", True), location


# Locations that are refused, by a word of the refusal.
ELSEWHERE = {
    "another host": ("https://other.test/", "https://www.shop.test/", "//other.test/", "https://inner.test/"),
    "https://": ("http://shop.test/", "ftp://shop.test/", "file:///etc/passwd"),
    "IP address": (
        "https://127.0.0.1/", "https://169.254.169.254/latest/meta-data/", "https://[::1]/", "https://2130706433/",
        f"https://{PUBLIC}/",
    ),
    "characters": ("https://[", "https://shop.test\\.other.test/"),
    "443": ("https://shop.test:8443/",),
    "user name": ("https://shop.test@other.test/",),
    "not public": ("https://a.localhost/",),
    "domain name": ("https://localhost/",),
    "service itself": ("https://id.example.org/",),
}  # fmt: skip


def test_a_redirect_to_another_host_is_rejected(rig: Rig, settings: Any) -> None:
    settings.AUTH_URL = "https://id.example.org"
    rig.names.set("inner.test", "A", "10.0.0.1")
    for word, locations in ELSEWHERE.items():
        for location in locations:
            rig.site.redirect("/", location)
            assert_refused(URL, "redirect", word)
    count = sum(map(len, ELSEWHERE.values()))
    assert (rig.dialled, len(rig.names.questions)) == ([(PUBLIC, 443)] * count, 2 * count)


def test_the_number_of_redirects_is_limited(rig: Rig) -> None:
    for number in range(MAX_REDIRECTS + 1):
        rig.site.redirect(f"/{number}", f"/{number + 1}")
    rig.site.set(f"/{MAX_REDIRECTS + 1}", "too far")
    assert outbound.fetch(URL + "1").text == "too far"
    assert_refused(URL + "0", "redirects", "more than 3 times")


def test_redirect_loops_end(rig: Rig) -> None:
    rig.site.redirect("/", "/")
    assert_refused(URL, "redirects", "more than 3 times")
    assert len(rig.site.requests) == MAX_REDIRECTS + 1


def test_a_redirect_without_location_is_a_response(rig: Rig) -> None:
    rig.site.set("/", "lost", status=302)
    assert (outbound.fetch(URL).status, outbound.fetch(URL).text) == (302, "lost")


def test_all_redirects_share_one_timeout(rig: Rig) -> None:
    def slowly(out: BufferedIOBase) -> None:
        time.sleep(SHORT * 0.45)
        out.write(b"HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n")

    rig.site.script("/", slowly)
    with rig.hurry():
        assert_refused(URL, "timeout", "did not send a complete response")


# --- Size ---


def test_a_body_of_the_maximum_size_is_read(rig: Rig) -> None:
    rig.site.set("/", b"x" * MAX_BYTES)
    assert len(outbound.fetch(URL).body) == MAX_BYTES


def test_a_body_with_a_larger_content_length_is_not_read(rig: Rig) -> None:
    rig.site.script("/", written(OK + b"Content-Length: %d\r\n\r\n" % (MAX_BYTES + 1)))
    assert_refused(URL, "too_large", "larger than 64 KB")


@pytest.mark.parametrize(
    ("first", "piece"),
    [(b"\r\n", b"x" * 8192), (b"Transfer-Encoding: chunked\r\n\r\n", b"2000\r\n" + b"x" * 8192 + b"\r\n")],
    ids=["until the end of the connection", "in chunks"],
)
def test_a_body_that_exceeds_its_content_length_is_rejected(first: bytes, piece: bytes, rig: Rig) -> None:
    rig.site.script("/", repeated(piece, first=OK + first))
    assert_refused(URL, "too_large", "larger than 64 KB")


def test_one_byte_above_the_maximum_is_rejected_without_content_length(rig: Rig) -> None:
    rig.site.script("/", written(OK + b"\r\n" + b"x" * (MAX_BYTES + 1)))
    assert_refused(URL, "too_large", "larger than 64 KB")


def test_chunk_metadata_is_limited(rig: Rig) -> None:
    piece = b"1;" + b"x" * 4000 + b"\r\nx\r\n"
    rig.site.script("/", repeated(piece, first=OK + b"Transfer-Encoding: chunked\r\n\r\n"))
    assert MAX_WIRE_BYTES < 65_536 * 4000  # what 64 KB in such chunks would be
    assert_refused(URL, "too_large", "larger than 64 KB")


@pytest.mark.parametrize(
    "first",
    [OK + b"X-Long: ", OK, b"HTTP/1.1 200 ", b""],
    ids=["one header", "many headers", "the status line", "no status line"],
)
def test_endless_headers_are_rejected(first: bytes, rig: Rig) -> None:
    piece = b"X-Many: " + b"x" * 1000 + b"\r\n" if first == OK else b"x" * 1000
    rig.site.script("/", repeated(piece, first=first))
    with pytest.raises(outbound.OutboundRefused) as caught:
        outbound.fetch(URL)
    assert caught.value.code in ("headers_too_large", "bad_answer")


def test_endless_interim_responses_are_rejected(rig: Rig) -> None:
    rig.site.script("/", repeated(b"HTTP/1.1 103 Early Hints\r\nLink: </>\r\n\r\n"))
    assert_refused(URL, "headers_too_large", "headers")


def test_headers_below_the_limit_are_accepted(rig: Rig) -> None:
    many = b"".join(b"X-%d: %s\r\n" % (number, b"x" * 500) for number in range(40))
    assert 20_000 < len(many) < MAX_HEADER_BYTES
    rig.site.script("/", written(OK + many + b"Content-Length: 2\r\n\r\nok"))
    assert outbound.fetch(URL).text == "ok"


# --- Encodings ---


@pytest.mark.parametrize("encoding", ["gzip", "GZIP", "deflate", "br", "zstd", "compress", "identity, gzip", "x-gzip"])
def test_a_compressed_response_is_rejected_without_decompressing(encoding: str, rig: Rig) -> None:
    bomb = gzip.compress(zlib.compress(bytes(20_000_000)))
    assert len(bomb) < MAX_BYTES
    rig.site.set("/", bomb, headers={"Content-Encoding": encoding})
    assert_refused(URL, "encoded", "compressed")


def test_a_second_header_can_not_hide_an_encoding(rig: Rig) -> None:
    whole = OK + b"Content-Encoding: identity\r\nContent-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx"
    rig.site.script("/", written(whole))
    assert_refused(URL, "encoded", "compressed")


def test_an_undeclared_compressed_body_is_not_decompressed(rig: Rig) -> None:
    bomb = gzip.compress(bytes(20_000_000))
    rig.site.set("/", bomb, headers={"Content-Encoding": "identity"})
    assert outbound.fetch(URL).body == bomb


@pytest.mark.parametrize(
    "whole",
    [
        b"nothing of HTTP\r\n\r\n",
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"",
        b"HTTP/1.1 200 OK\r\n",
        b"HTTP/1.1 999999 OK\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n",
        OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n",
        OK + b"Transfer-Encoding: gzip\r\n\r\n",
        OK + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nx",
        OK + b"Content-Length: -1\r\n\r\n",
        OK + b"Content-Length: %s\r\n\r\n" % (b"9" * 5000),
        OK + b"Not a header\r\n\r\n",
        OK + b"X: \x00\r\n\r\n",
    ],
)
def test_responses_that_are_not_http_are_rejected(whole: bytes, rig: Rig) -> None:
    rig.site.script("/", written(whole))
    assert_refused(URL, "bad_answer", "HTTP")


@pytest.mark.parametrize(
    "whole",
    [
        OK + b"Content-Length: 100\r\n\r\nhalf of it",
        OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\nfive\r\nhello\r\n",
    ],
    ids=["by length", "by chunks", "a chunk that is none"],
)
def test_a_truncated_body_is_rejected(whole: bytes, rig: Rig) -> None:
    rig.site.script("/", written(whole))
    assert_refused(URL, "incomplete", "before it was complete")
