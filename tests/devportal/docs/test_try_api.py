"""/docs/api/?api=…: a call of a declared API as code, with its scope, and never sent by the service."""

import http.server
import json
import re
import shlex
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from bs4 import BeautifulSoup
from django.test import Client as Browser

from devportal.docs import openapi
from devportal.docs.call_code import call_as_code
from devportal.docs.try_api import METHODS, ApiCall
from oidc.apis.registry import ApiSnapshot, reload_registry
from oidc.models import Api
from tests.factories import make_api

PATH = "/docs/api/"
RULES = (("GET", "/events*", "calendar.read"), ("*", "/events*", "calendar.write"), ("PURGE", "/all", "calendar.write"))
pytestmark = pytest.mark.django_db


@pytest.fixture
def calendar() -> Api:
    return make_api(name="Orbit <Calendar>", rules=RULES)


def page_of(browser: Browser, **query: str) -> BeautifulSoup:
    response = browser.get(PATH, {"api": "calendar"} | query)
    assert response.status_code == 200
    return BeautifulSoup(response.content, "html.parser")


def code_of(page: BeautifulSoup) -> dict[str, str]:
    return {str(block["id"]): block.get_text() for block in page.select(".try-it__code pre")}


def test_the_choice_of_apis_needs_another_api(client: Browser) -> None:
    assert b'<nav aria-label="API">' not in client.get(PATH).content
    make_api()
    choice = BeautifulSoup(client.get(PATH).content, "html.parser").select("nav[aria-label=API] a")
    assert [(link.get_text(), link["href"]) for link in choice] == [
        ("Openport account API", PATH),
        ("Calendar", f"{PATH}?api=calendar"),
    ]
    assert choice[0].has_attr("aria-current")


def test_the_api_at_v1_keeps_its_page(client: Browser, calendar: Api) -> None:
    page = client.get(f"{PATH}?api=account&endpoint=read_my_plan")
    assert page.context["operation"].path == "/v1/me/plan"
    assert client.post(f"{PATH}?api=account", {"source": "pasted", "credential": "x"}).context["outcome"]


def test_the_call_is_shown_in_five_languages(client: Browser, calendar: Api) -> None:
    code = code_of(page_of(client, method="DELETE", path="/events/7?notify=1"))
    assert len(code) == 5
    for text in code.values():
        assert "https://calendar.example.com/events/7?notify=1" in text
        assert "DELETE" in text
        assert "API_KEY" in text


def test_the_page_says_that_the_service_does_not_send_the_request(client: Browser, calendar: Api) -> None:
    page = page_of(client)
    assert "This service does not send the request to the API" in page.get_text()
    assert page.select_one("form[method=post] [name=credential]") is None
    assert client.post(f"{PATH}?api=calendar", {"source": "pasted", "credential": "x"}).status_code == 405


@pytest.mark.parametrize(
    ("method", "path", "scope"),
    [
        ("GET", "/events/7", "calendar.read"),
        ("HEAD", "/events", "calendar.read"),
        ("GET", "/events?limit=2", "calendar.read"),
        ("POST", "/events", "calendar.write"),
        ("PURGE", "/all", "calendar.write"),
        ("GET", "/%65vents", "calendar.read"),
        ("GET", "//events", ""),
        ("GET", "/events%2f7", ""),
        ("GET", "/other", ""),
    ],
)
def test_the_rules_say_which_scope_the_call_needs(
    method: str, path: str, scope: str, client: Browser, calendar: Api
) -> None:
    page = page_of(client, method=method, path=path)
    text = " ".join(page.get_text().split())
    assert (f"this request needs {scope}." in text) == bool(scope)
    assert ("do not mention this request" in text) == (not scope)
    assert calendar.identifier in text
    assert ("after app review" in text) == (scope == "calendar.write")


def test_calls_of_the_rules_are_offered_as_they_are_sent_and_the_first_is_shown(client: Browser) -> None:
    make_api(rules=[("GET", "/caf%C3%A9", "calendar.read"), ("PURGE", "/all", "calendar.write")])
    page = page_of(client)
    offered = [link.get_text(strip=True) for link in page.select("nav[aria-label=Requests] a")]
    assert offered == ["GET /caf%C3%A9", "PURGE /all"]
    assert "GET /caf%C3%A9" in page.select_one("#request").get_text()  # type: ignore[union-attr]
    assert "this request needs" in page.get_text()


def test_operations_of_the_openapi_document_are_offered(
    client: Browser, calendar: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = {"summary": "<i>One</i>", "security": [{"oauth": ["calendar.share"]}]}
    paths = {"/shares/{id}": {"put": named}, "no path": {"get": {}}, "/a b": {"get": {}}, "/events": {"get": {}}}
    document = openapi.parse(json.dumps({"paths": paths}))
    monkeypatch.setattr(openapi, "operations_at", lambda url: document)
    calendar.openapi_url = "https://calendar.example.com/openapi.json"
    calendar.save()
    reload_registry()
    page = page_of(client)
    offered = page.select("nav[aria-label=Requests] a")
    assert [link.get_text(" ", strip=True) for link in offered] == [
        "PUT /shares/{id} <i>One</i>", "GET /events", "PURGE /all"
    ]  # fmt: skip
    page = BeautifulSoup(client.get(PATH + str(offered[0]["href"])).content, "html.parser")
    text = " ".join(page.get_text().split())
    assert "Its OpenAPI document names calendar.share" in text
    assert "Replace the parts in braces" in text
    assert "The request has no body" in text


@pytest.mark.parametrize(
    ("identifier", "path", "url"),
    [
        ("https://a.example", "/x?y=/z", "https://a.example/x?y=/z"),
        ("https://a.example/", "/x", "https://a.example/x"),
        ("https://a.example/cal", "/x", "https://a.example/cal/x"),
        ("https://a.example/cal", "/cal/x", "https://a.example/cal/x"),
        ("https://a.example/cal", "/cal?x=1", "https://a.example/cal?x=1"),
        ("https://a.example/cal", "/calendar", "https://a.example/cal/calendar"),
        ("https://a.example:8443/cal?v=2", "/x", "https://a.example:8443/cal/x"),
        ("https://a.example", "//b.example/x", "https://a.example//b.example/x"),
    ],
)
def test_the_identifier_is_the_base_of_the_url(identifier: str, path: str, url: str) -> None:
    assert ApiCall(ApiSnapshot("a", "A", identifier, ()), path=path).url == url


def test_rules_count_with_the_path_of_the_identifier(client: Browser) -> None:
    make_api(identifier="https://a.example/cal", rules=[("GET", "/cal/events", "calendar.read")])
    for path in ("/cal/events", "/events"):
        page = page_of(client, method="GET", path=path)
        assert "this request needs" in page.get_text()
        assert "https://a.example/cal/events" in code_of(page)["code-curl"]


@pytest.mark.parametrize("slug", ["none", "Calendar", "%00"])
def test_an_unknown_api_has_no_page(slug: str, client: Browser, calendar: Api) -> None:
    assert client.get(f"{PATH}?api={slug}").status_code in (400, 404)


def test_an_api_that_is_turned_off_has_no_page(client: Browser, calendar: Api) -> None:
    calendar.enabled = False
    calendar.save()
    reload_registry()
    assert client.get(f"{PATH}?api=calendar").status_code == 404
    assert b"Calendar" not in client.get(PATH).content


@pytest.mark.parametrize("path", [
    "", "events", "https://evil.example/", "/a b", "/ä", "/a\nb", "/#x", '/"x', "/`id`", "/a/../b", "/" + "x" * 500,
])  # fmt: skip
def test_a_path_that_no_url_has_is_rejected(path: str, client: Browser, calendar: Api) -> None:
    page = page_of(client, method="GET", path=path)
    assert page.select_one("#try_path[aria-invalid]")
    assert not page.select(".try-it__code")


@pytest.mark.parametrize("query", [{"method": "get"}, {"method": "PURGE"}, {"method": "'\nX: y"}, {}])
def test_a_method_that_is_not_offered_is_rejected(query: dict[str, str], client: Browser) -> None:
    make_api()
    assert "declares no rules" in page_of(client).get_text()
    page = page_of(client, path="/events", **query)
    assert "Choose one of the methods" in page.get_text()
    assert not page.select(".try-it__code")


def test_names_are_escaped(client: Browser, calendar: Api) -> None:
    page = client.get(f"{PATH}?api=calendar").content.decode()
    assert "Orbit &lt;Calendar&gt;" in page
    assert "<Calendar>" not in page
    assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:", page, re.IGNORECASE)


def test_every_allowed_character_stays_inside_its_quotes(client: Browser, calendar: Api) -> None:
    path = "/a-._~!$&'()*+,;=:@/%20?x=$HOME&y='$(id)'{z}"
    page = page_of(client, method="GET", path=path)
    code = code_of(page)
    assert len(code) == 5
    assert shlex.split(code["code-curl"].replace("\\\n", ""))[-1] == f"https://calendar.example.com{path}"


@pytest.fixture
def echo() -> Iterator[tuple[str, list[tuple[str, ...]]]]:
    """Yield the URL of a server, and the method, path, credential and ETag of each request to it."""
    received: list[tuple[str, ...]] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def __getattr__(self, name: str) -> Any:
            if not name.startswith("do_"):
                raise AttributeError(name)
            return self.answer

        def answer(self) -> None:
            sent = self.headers.get("Authorization", ""), self.headers.get("If-None-Match", "")
            received.append((self.command, self.path, *sent))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *args: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}", received
    server.shutdown()
    server.server_close()


_RUN = {
    "curl": ("bash", "call.sh"),
    "python": ("python3", "call.py"),
    "javascript": ("node", "call.mjs"),
    "go": ("go", "call.go"),
    "java": ("java", "Call.java"),
}


@pytest.mark.slow
def test_each_language_sends_the_method_the_path_and_the_headers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, echo: tuple[str, list[tuple[str, ...]]]
) -> None:
    base, received = echo
    monkeypatch.setenv("API_KEY", "token-of-a-test")
    path = "/a!$&'()*+,;=:@%20?" + urlencode({"x": "$HOME `id`"})
    etag = '"x$y`z"'
    ran = set()
    for method in (*METHODS, "PURGE"):
        for block in call_as_code(base + path, {"If-None-Match": etag}, method):
            program, file = _RUN[block["name"]]
            if shutil.which(program) is None or (program in ("go", "java") and method not in ("POST", "HEAD")):
                continue  # two methods are enough for the languages that are compiled first
            (tmp_path / file).write_text(block["code"])
            command = [program, "run", file] if program == "go" else [program, file]
            received.clear()
            done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
            assert done.returncode == 0, done.stderr
            assert received == [(method, path, "Bearer token-of-a-test", etag)], block["name"]
            assert "204" in done.stdout
            ran.add(block["name"])
    assert {"curl", "python"} <= ran
