"""The OpenAPI document of an API, as its page shows it."""

import html
import json
import threading
from typing import Any

import pytest
from django.test import Client as Browser

from core.outbound import Answer
from core.outbound.targets import Code, OutboundRefused
from devportal.docs import openapi
from tests.factories import make_api

pytestmark = pytest.mark.django_db
URL, PAGE = "https://calendar.example.com/openapi.json", "/docs/apis/calendar"
DOCUMENT: dict[str, Any] = {
    "openapi": "3.1.0",
    "paths": {
        "/events": {
            "get": {
                "summary": "List events",
                "description": "<script>alert(1)</script> Newest first.",
                "security": [{"oauth": ["calendar.read"]}],
                "parameters": [{"$ref": "#/components/parameters/since"}],
                "responses": {"200": {"description": "The events."}, "403": {"$ref": "#/components/responses/none"}},
            }
        }
    },
    "components": {
        "parameters": {"since": {"name": "since", "in": "query", "required": True, "description": "A day."}}
    },
}


class Host:
    """What the host of the document responds with, and how often it was asked."""

    def __init__(self) -> None:
        self.text, self.status, self.calls = json.dumps(DOCUMENT), 200, 0
        self.refusal: OutboundRefused | None = None

    def fetch(self, url: str) -> Answer:
        assert url == URL
        self.calls += 1
        if self.refusal:
            raise self.refusal
        return Answer(url, self.status, "application/json", self.text.encode("utf-8", "surrogatepass"))


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Host:
    make_api(openapi_url=URL)
    openapi.forget()
    host = Host()
    monkeypatch.setattr(openapi, "fetch", host.fetch)
    return host


def open_page(browser: Browser) -> str:
    """Open the page after the document was read."""
    browser.get(PAGE)
    for thread in threading.enumerate():
        if thread.name == "openapi-document":
            thread.join()
    response = browser.get(PAGE)
    assert response.status_code == 200
    return response.content.decode()


def test_the_page_shows_the_endpoints_as_text(host: Host, client: Browser) -> None:
    page = open_page(client)
    assert "<code>GET /events</code>" in page
    for said in ("List events", "calendar.read", "<code>since</code>", "A day.", "The events."):
        assert said in page
    assert "<script>alert" not in page
    assert "<script>alert(1)</script>" in html.unescape(page)
    assert "example.com" not in client.get(PAGE)["Content-Security-Policy"]


def test_a_document_is_read_once(host: Host, client: Browser) -> None:
    for _ in range(3):
        open_page(client)
    assert host.calls == 1


def test_an_old_document_is_read_again_and_stays_if_that_fails(
    host: Host, client: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_page(client)
    monkeypatch.setattr(openapi, "MAX_AGE", -1)
    host.refusal = OutboundRefused(Code.TIMEOUT)
    assert "List events" in open_page(client)
    assert host.calls > 1


def test_markdown_links_the_document_only(host: Host, client: Browser) -> None:
    open_page(client)
    text = client.get(f"{PAGE}.md").content.decode()
    assert URL in text
    assert "List events" not in text


@pytest.mark.parametrize(
    "text",
    [
        "", "openapi: 3.1.0\npaths: {}", "[]", "null", '"x"', "{", "[" * 100_000, '{"paths": []}',
        '{"paths": {"/x": 1}}', '{"paths": {"/x": {"get": []}}}',
        '{"paths": {"/x": {"get": {"responses": [], "security": 5, "parameters": {}}}}}',
        '{"paths": {"/x": {"get": {"parameters": [1, {"$ref": 5}, {"$ref": "#/paths/~"}], "summary": {"a": 1}}}}}',
        '{"paths": {"\\ud800": {"get": {"summary": "\\ud800"}}}}',
        json.dumps({"paths": {f"/{number}": {"get": {"summary": "x" * 9000}} for number in range(500)}}),
    ],
    ids=lambda text: text[:40],
)  # fmt: skip
def test_an_odd_document_breaks_no_page(text: str, host: Host, client: Browser) -> None:
    host.text = text
    page = open_page(client)
    assert f'href="{URL}"' in page
    assert page.count("x" * 10) < openapi.MOST_OPERATIONS * openapi.LONGEST_TEXT


@pytest.mark.parametrize("code", [Code.PRIVATE_ADDRESS, Code.TIMEOUT, Code.URL])
def test_a_document_that_can_not_be_fetched_is_linked(code: Code, host: Host, client: Browser) -> None:
    host.refusal = OutboundRefused(code)
    page = open_page(client)
    assert f'href="{URL}"' in page
    assert "endpoints" not in page


def test_another_status_than_200_shows_nothing(host: Host, client: Browser) -> None:
    host.status = 404
    assert "List events" not in open_page(client)


def test_references_dont_multiply_a_text_without_end() -> None:
    references = [{"$ref": "#/a"}] * 4000
    paths = {
        "/one": {"get": {"summary": "First"}},
        "/many": {"parameters": references, **{method: {} for method in openapi.METHODS}},
    }
    text = json.dumps({"a": {"name": "x" * 2000, "description": "y" * 2000}, "paths": paths})
    assert [operation.summary for operation in openapi.parse(text)] == ["First"]
