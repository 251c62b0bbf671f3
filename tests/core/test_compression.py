"""Which answers are compressed, and what of them changes by it."""

import gzip
from typing import Any

import pytest
from django.http import FileResponse, HttpResponse, StreamingHttpResponse
from django.middleware.gzip import GZipMiddleware
from django.test import Client as Browser
from django.test import RequestFactory

from core.http.headers import PageHeadersMiddleware

WORDS = b"All work and no play. " * 100
ASKS = {"Accept-Encoding": "gzip, br"}


def answer(response: Any, method: str = "GET", **headers: str) -> Any:
    request = RequestFactory().generic(method, "/", headers={**ASKS, **headers})
    return PageHeadersMiddleware(lambda _: response)(request)


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/", "/account/login/", "/docs/", "/nothing"])
def test_a_page_is_compressed_for_clients_that_accept_it(path: str) -> None:
    browser = Browser()
    plain, small = browser.get(path), browser.get(path, headers=ASKS)
    assert "Content-Encoding" not in plain
    assert small["Content-Encoding"] == "gzip"
    assert int(small["Content-Length"]) == len(small.content) < len(plain.content) / 2
    for response in (plain, small):
        assert "Accept-Encoding" in response["Vary"]
    assert b"</html>" in gzip.decompress(small.content)
    assert browser.head(path, headers=ASKS)["Content-Encoding"] == "gzip"


def test_lengths_say_little() -> None:
    assert len({len(answer(HttpResponse(WORDS)).content) for _ in range(50)}) > 10


def test_two_pages_hold_no_common_csrf_token(db: None) -> None:
    browser = Browser()
    tokens = {browser.get("/account/login/").context["csrf_token"] for _ in range(3)}
    assert len({str(token) for token in tokens}) == 3


def test_a_strong_etag_becomes_a_weak_one() -> None:
    response = answer(HttpResponse(WORDS, headers={"ETag": '"a"'}))
    assert (response["Content-Encoding"], response["ETag"]) == ("gzip", 'W/"a"')


@pytest.mark.parametrize("kind", ["image/webp", "application/zip", "font/woff2", ""])
def test_bodies_that_would_not_shrink_are_not_compressed(kind: str) -> None:
    response = answer(HttpResponse(WORDS, headers={"Content-Type": kind}))
    assert response.content == WORDS
    assert "Content-Encoding" not in response


def test_encoded_short_and_304_answers_are_not_compressed() -> None:
    assert answer(HttpResponse(WORDS, headers={"Content-Encoding": "br"}))["Content-Encoding"] == "br"
    assert "Content-Encoding" not in answer(HttpResponse(b"short"))
    assert "Content-Encoding" not in answer(HttpResponse(status=304))


def test_streamed_answers_are_sent_piece_by_piece() -> None:
    made = []

    def lines() -> Any:
        for line in ("a\n", "b\n"):
            made.append(line)
            yield line

    response = answer(StreamingHttpResponse(lines(), content_type="text/csv"))
    assert "Content-Encoding" not in response
    first = next(iter(response.streaming_content))
    assert (first, made) == (b"a\n", ["a\n"])
    assert "Content-Encoding" not in answer(FileResponse([WORDS], content_type="text/html"))


@pytest.mark.django_db
@pytest.mark.parametrize(
    "path", ["/connect/token", "/connect/userinfo", "/v1/me", "/health/ready", "/static/css/base.css"]
)
def test_endpoints_of_programs_and_static_files_are_not_compressed_here(path: str, monkeypatch: Any) -> None:
    def fail(*_: Any) -> None:
        raise AssertionError

    monkeypatch.setattr(GZipMiddleware, "process_response", fail)
    assert Browser().get(path, headers=ASKS).status_code < 500
