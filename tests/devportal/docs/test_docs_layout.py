"""What frames a page of the docs: its contents, the way on, code in colour; and what it weighs."""

import gzip

import pytest
from bs4 import BeautifulSoup
from django.test import Client as Browser

from devportal.docs.pages import PAGES, neighbours
from devportal.docs.rendering import highlight, with_anchors
from tests.clients.terminal import Code

HEAVIEST = 60 * 1024  # bytes of a page, compressed
CODE = 'from x import y\n\n# <b>note</b> & "more"\ndef f(a: int = 5) -> str:\n    return f"{a}\\n"  \n'


def soup_of(path: str, browser: Browser) -> BeautifulSoup:
    answer = browser.get(path)
    assert answer.status_code == 200
    return BeautifulSoup(answer.content, "html.parser")


@pytest.mark.parametrize("name", PAGES)
def test_each_page_is_small_and_has_a_description_anchors_and_contents(name: str, client: Browser) -> None:
    page = PAGES[name]
    soup = soup_of(page.address, client)
    assert len(gzip.compress(client.get(page.address).content)) < HEAVIEST
    assert 20 < len(page.summary) < 160
    assert page.summary.endswith(".")
    assert soup.select_one("meta[name=description]")["content"] == page.summary  # type: ignore[index]
    assert soup.select_one("link[rel=alternate]")["href"] == page.markdown_address  # type: ignore[index]
    headings = soup.select("main h2, main h3")
    anchors = [str(heading["id"]) for heading in headings]
    assert len(anchors) == len(set(anchors))
    for heading in headings:
        link = heading.select_one("a.anchor")
        assert link is not None
        assert link["href"] == f"#{heading['id']}"
        assert link["aria-label"]
    for contents in soup.select(".contents"):
        assert [str(link["href"])[1:] for link in contents.select("a")] == anchors
    assert len(soup.select(".contents")) == (2 if len(headings) > 1 else 0)


def test_sign_in_returns_to_the_docs_page(signed_in: Browser) -> None:
    path, header = "/docs/search?q=token", "header a[href='/account/login/?next=/docs/search%3Fq%3Dtoken']"
    assert soup_of(path, Browser()).select_one(header)
    assert not soup_of(path, signed_in).select_one(header)


def test_headings_get_free_ids_and_safe_labels() -> None:
    page, headings = with_anchors(
        '<p id="same"></p><h2>Same</h2><h3 class="x">A &amp; "B" <code>c</code></h3><h2>Same</h2>'
    )
    assert [heading.anchor for heading in headings] == ["same-2", "a-amp-b-c", "same-3"]
    soup = BeautifulSoup(page, "html.parser")
    assert soup.select_one("h3 > .anchor")["aria-label"] == 'Link to “A & "B" c”'  # type: ignore[index]
    assert soup.select_one("h3")["class"] == ["x"]  # type: ignore[index]
    assert headings[1].title == 'A &amp; "B" c'


def test_previous_and_next_follow_the_navigation(client: Browser) -> None:
    order = list(PAGES.values())
    assert neighbours(order[0]) == (None, order[1])
    assert neighbours(order[-1]) == (order[-2], None)
    soup = soup_of(order[1].address, client)
    assert soup.select_one("[rel=prev]")["href"] == order[0].address  # type: ignore[index]
    assert soup.select_one("[rel=next]")["href"] == order[2].address  # type: ignore[index]


@pytest.mark.parametrize("language", ["python", "html", "none"])
@pytest.mark.parametrize(
    "code", [CODE, "", "\n\nx\n\n", "a\r\nb", '{"a": [1, null]}', "<script>&amp;</script>", "\x0b😀\u202e"]
)
def test_highlighting_changes_no_character(language: str, code: str) -> None:
    marked = highlight(code, language)
    assert "<script" not in marked
    assert "".join(BeautifulSoup(f"<i>{marked}</i>", "html.parser").strings) == code


def test_copied_code_is_unchanged(client: Browser) -> None:
    page = client.get("/docs/guides/flask").content.decode()
    assert "hl-keyword" in page
    code = next(block.code for block in Code(page).blocks if block.file == "app.py")
    compile(code, "app.py", "exec")
