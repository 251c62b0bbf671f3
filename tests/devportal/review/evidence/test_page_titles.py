"""Titles of pages that someone outside wrote: what is read of them, and that nothing in them takes long."""

import time

import pytest

from devportal.review.evidence.page_checks import MAX_TITLE_LENGTH, read_title


def title_of(text: str, content_type: str = "text/html") -> str:
    return read_title(text.encode(), content_type)


@pytest.mark.parametrize(
    ("page", "title"),
    [
        ("<html><head><title>Orbit Notes</title></head><body>", "Orbit Notes"),
        ("<TITLE lang=en>\n  Orbit\n  Notes </TITLE >", "Orbit Notes"),
        ("<title>Orbit &amp; Notes &#169; &hellip;</title>", "Orbit & Notes © …"),
        ("<title>First</title><title>Second</title>", "First"),
        (f"<style>{'a { color: red } ' * 2000}</style><title>Late</title>", "Late"),
        ("<title>Never ended", "Never ended"),
        ("<title></title>", ""),
        ("<titles>No title</titles>", ""),
        ("", ""),
    ],
)
def test_the_first_title_of_the_page_is_read(page: str, title: str) -> None:
    assert title_of(page) == title


@pytest.mark.parametrize(
    ("body", "content_type", "title"),
    [
        ("<title>Привет</title>".encode("cp1251"), "text/html; charset=windows-1251", "Привет"),
        ('<meta charset="shift_jis"><title>日本</title>'.encode("shift_jis"), "text/html", "日本"),
        ("<title>Grüße</title>".encode("latin-1"), 'text/html; charset="iso-8859-1"', "Grüße"),
        *(("<title>Grüße</title>".encode(), f"text/html; charset={name}", "Grüße") for name in ("", "zlib", "idna")),
        (b"<title>\xff\xfe broken</title>", "text/html; charset=utf-8", "\ufffd\ufffd broken"),
    ],
)
def test_the_encoding_is_the_one_that_the_page_declares(body: bytes, content_type: str, title: str) -> None:
    assert read_title(body, content_type) == title


def test_nothing_turns_hides_or_ends_the_line_that_it_is_shown_in() -> None:
    hostile = "Safe\u202e kcatta \u2066x\u2069\u200b\u200f\x00\x07\x1b[31m\u2028next\r\nline\ufeff\U000e0041 end"
    shown = title_of(f"<title>{hostile}</title>")
    assert shown == "Safe kcatta x [31m next line end"
    assert title_of("<title>a&#8238;b&#0;c&#xd800;d&#x1b;e</title>").isprintable()


def test_a_title_is_cut() -> None:
    assert title_of(f"<title>{'x' * 50_000}</title>") == "x" * MAX_TITLE_LENGTH


@pytest.mark.parametrize("unit", ["<", "<a ", "<!--", "</", "<title", "<title ", "<title>", "&", "&#", "charset="])
@pytest.mark.parametrize("before", ["", "<title>", "<meta charset=punycode>a-"])
def test_no_page_takes_long(unit: str, before: str) -> None:
    body = f"{before}{unit * 70_000}".encode()
    started = time.process_time()
    assert len(read_title(body, "text/html")) <= MAX_TITLE_LENGTH
    assert time.process_time() - started < 2
