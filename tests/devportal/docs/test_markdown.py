"""The docs for programs: each page as Markdown, and llms.txt; every link in them leads somewhere."""

import re
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.test import Client as Browser

from devportal.docs import errors
from devportal.docs.pages import PAGES
from devportal.docs.rendering import page_as_markdown

LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")


def text_of(path: str, browser: Browser) -> str:
    answer = browser.get(path)
    assert answer.status_code == 200
    return answer.content.decode()


@pytest.mark.parametrize("name", PAGES)
def test_every_page_is_available_as_markdown(
    name: str, client: Browser, django_assert_num_queries: Any, db: None
) -> None:
    page = PAGES[name]
    with django_assert_num_queries(0):
        answer = client.get(page.markdown_address)
    text = answer.content.decode()
    assert answer["Content-Type"] == "text/markdown; charset=utf-8"
    assert answer["Cache-Control"] == "public, max-age=300"
    assert not answer.cookies
    assert text.startswith("# ")
    assert text.count("```") % 2 == 0
    outside = re.sub(r"```.*?```|`[^`]*`", "", text, flags=re.DOTALL)
    assert not re.search(r"</?(a|p|div|span|table|button|form|pre)\b", outside)
    for frame in ("On this page", "View as Markdown", "Copy\n", "Previous"):
        assert frame not in outside


@pytest.mark.parametrize("name", PAGES)
def test_every_link_in_the_markdown_is_absolute_and_works(name: str, signed_in: Browser, settings: Any) -> None:
    outside = re.sub(r"```.*?```|`[^`]*`", "", page_as_markdown(name), flags=re.DOTALL)
    found = LINK.findall(outside)
    assert found or "](" not in outside
    for address in found:
        parts = urlsplit(address)
        assert parts.scheme in ("http", "https"), address
        if address.startswith(settings.AUTH_URL):
            assert signed_in.get(f"{parts.path}?{parts.query}", follow=True).status_code == 200, address


def test_code_names_its_language_and_tables_are_tables() -> None:
    flask = page_as_markdown("guide_flask")
    assert "`app.py`:\n\n```python\nimport os\n" in flask
    assert "```bash\n" in flask
    assert "YOUR_CLIENT_ID" in flask
    listed = page_as_markdown("errors")
    assert "| Code | Status | Cause | What to do |" in listed
    for code in errors.TOKEN_HELP:
        assert f"| `{code}` |" in listed
    assert "Bearer &lt;credential>" in listed


def test_the_markdown_contains_no_clients_ids(signed_in: Browser) -> None:
    path = f"{PAGES['guide_flask'].markdown_address}?client=x&language=curl"
    assert text_of(path, signed_in) == page_as_markdown("guide_flask")
    assert signed_in.get(path)["Cache-Control"].startswith("public")


def test_addresses_are_those_of_the_settings(settings: Any, client: Browser) -> None:
    page_as_markdown("tokens")
    settings.AUTH_URL = settings.BASE_URL = "https://login.lantern.example"
    settings.SERVICE_NAME = "Lantern"
    settings.ALLOWED_HOSTS = ["*"]
    assert "POST https://login.lantern.example/connect/token" in page_as_markdown("tokens")
    assert text_of("/llms.txt", client).startswith("# Lantern for developers\n\n> ")


def test_llms_txt_lists_every_page_with_a_line(client: Browser, settings: Any) -> None:
    answer = client.get("/llms.txt")
    text = answer.content.decode()
    assert answer["Content-Type"] == "text/plain; charset=utf-8"
    for page in PAGES.values():
        assert f"- [{page.title}]({settings.AUTH_URL}{page.markdown_address}): {page.summary}\n" in text
    for address in LINK.findall(text):
        assert client.get(urlsplit(address).path).status_code == 200, address


@pytest.mark.parametrize("path", ["/docs/none.md", "/docs/index", "/docs/errors.md/"])
def test_unknown_pages_are_404(path: str, client: Browser, db: None) -> None:
    assert client.get(path).status_code == 404
