"""/docs/search: what people type finds the section that answers it, and bad input harms nothing."""

import time
from typing import Any
from urllib.parse import quote

import pytest
from bs4 import BeautifulSoup
from django.test import Client as Browser
from django.test import override_settings

from devportal.docs import search
from devportal.docs.search import LONGEST_QUERY, Index, Section, clean, docs_index, marked
from tests.at_once import at_once

# What someone types, and the address of the section that comes first.
FIRST = {
    "invalid_grant": "/docs/errors#token-invalid_grant",
    "insufficient_scope": "/docs/errors#api-insufficient_scope",
    "access_denied": "/docs/errors#authorization-access_denied",
    "redirect uri mismatch": "/docs/errors#authorization-invalid_request",
    "pkce": "/docs/sign-in/authorization#parameters",
    "code_challenge": "/docs/sign-in/authorization#parameters",
    "logout": "/docs/sign-in/sign-out",
    "refresh": "/docs/sign-in/tokens#refresh",
    "id token": "/docs/sign-in/tokens#id-token",
    "cors": "/docs/sign-in/discovery#cors",
    "rate limit": "/docs/limits#api",
    "passkey": "/docs/sign-in/authorization#more",
    "scopes": "/docs/sign-in/authorization#scopes",
    "api key": "/docs/quick-start/api-key",
    "revoke": "/docs/sign-in/revocation",
    "userinfo": "/docs/sign-in/userinfo",
    "entitlements": "/docs/plans#entitlements",
    "client_credentials": "/docs/testing#without-a-person",
    "sunset": "/docs/deprecation",
    "atom feed": "/docs/changelog",
    "webhook": "/docs/sign-in/events#event-types",
    "sid": "/docs/sign-in/events#sessions",
    "ios": "/docs/guides/mobile",
    "android": "/docs/guides/mobile",
    "mobile app": "/docs/guides/mobile",
    "flutter": "/docs/guides/mobile",
    "react native": "/docs/guides/mobile#react-native",
    "universal links": "/docs/guides/mobile#association",
    "grafana": "/docs/guides/applications#grafana",
    "laravel": "/docs/guides/laravel",
    "asp.net": "/docs/guides/aspnet",
    "rotate secret": "/docs/quick-start/web-app#next",
}


@pytest.mark.parametrize(("query", "address"), FIRST.items())
def test_the_right_section_comes_first(query: str, address: str) -> None:
    found = docs_index().search(query, 5)
    assert found
    assert found[0].address == address, [one.address for one in found]


@pytest.mark.parametrize(
    ("path", "address"),
    [
        ("/docs/scopes", "/docs/sign-in/authorization#scopes"),
        ("/docs/ios/", "/docs/guides/mobile"),
        ("/docs/guides/webhooks.md", "/docs/sign-in/events#event-types"),
    ],
)
def test_a_missing_page_leads_to_similar_ones(path: str, address: str, client: Browser) -> None:
    page = client.get(path)
    assert page.status_code == 404
    assert BeautifulSoup(page.content, "html.parser").select("main li a")[0]["href"] == address


@pytest.mark.parametrize("path", ["/docs/x" + "y" * 5000, "/docs/%E2%80%AE<b>", "/docs/the"])
def test_odd_missing_pages_are_answered(path: str, client: Browser) -> None:
    page = client.get(path)
    assert page.status_code == 404
    assert b"<b>" not in page.content


def test_too_many_missing_pages_are_answered_without_suggestions(client: Browser) -> None:
    with override_settings(DOCS_SEARCHES_PER_MINUTE=0):
        page = client.get("/docs/scopes")
    assert page.status_code == 404
    assert b"Similar pages" not in page.content


@pytest.mark.parametrize(("query", "address"), [("insuf", "api-insufficient_scope"), ("invalid_gr", "invalid_grant")])
def test_the_last_word_can_be_incomplete(query: str, address: str) -> None:
    assert any(one.address.endswith(address) for one in docs_index().search(query, 3))


def test_sections_with_all_words_hide_the_others() -> None:
    index = Index([Section("A", "One", "/1", "red boat"), Section("A", "Two", "/2", "red tree")])
    assert [one.address for one in index.search("red boat", 5)] == ["/1"]
    assert {one.address for one in index.search("red garden", 5)} == {"/1", "/2"}
    assert index.search("the", 5) == index.search("", 5) == []


def test_a_heading_counts_more_than_text() -> None:
    index = Index([Section("A", "One", "/1", "lamp lamp lamp"), Section("A", "Lamp", "/2", "it gives light")])
    assert [one.address for one in index.search("lamp", 5)] == ["/2", "/1"]


def test_words_are_marked_and_text_is_escaped(client: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    index = Index([Section("<b>A", "One", "/docs/errors", "a <script> with a lamp in it")])
    monkeypatch.setattr("devportal.docs.search.docs_index", lambda: index)
    page = client.get("/docs/search?q=lamp").content.decode()
    assert "<mark>lamp</mark>" in page
    assert "&lt;script&gt;" in page
    assert "&lt;b&gt;A" in page
    assert marked("one two lamp", "lamp") == [
        ("one", False), (" ", False), ("two", False), (" ", False), ("lamp", True), (" ", False),
    ]  # fmt: skip


def test_hits_are_links_to_their_anchors(client: Browser, django_assert_num_queries: Any, db: None) -> None:
    with django_assert_num_queries(0):
        answer = client.get("/docs/search?q=invalid_grant")
    hits = BeautifulSoup(answer.content, "html.parser").select(".hits a")
    assert hits[0]["href"] == "/docs/errors#token-invalid_grant"
    assert BeautifulSoup(answer.content, "html.parser").select_one("input[name=q]")["value"] == "invalid_grant"  # type: ignore[index]


@pytest.mark.parametrize(
    "query",
    [
        "", "%00", "%ff%fe", "a" * 5000, "%E2%80%AE", "<script>alert(1)</script>", "* .+?( [", "the",
        " ".join("abcdefghijklmnop"),
    ],
)  # fmt: skip
def test_odd_queries_are_answered(query: str, client: Browser) -> None:
    sent = query if "%" in query or "&" in query else quote(query)
    answer = client.get(f"/docs/search?q={sent}")
    assert answer.status_code in (200, 400)
    assert b"<script>alert" not in answer.content


def test_invisible_characters_are_removed_from_queries() -> None:
    assert clean("\x00 in\tvalid\u202e_grant\n ") == "in valid _grant"
    assert len(clean("x" * 5000)) == LONGEST_QUERY


@pytest.mark.parametrize(
    ("query", "is_found"),
    [("refrsh", True), ("redierct", True), ("secrat", True), ("closing", False), ("rfrsh", False)],
)
def test_a_typo_is_one_letter_or_two_that_changed_places(query: str, is_found: bool) -> None:
    index = Index([Section("A", "One", "/1", "refresh redirect secret crossing")])
    assert bool(index.search(query, 5)) == is_found


def test_a_long_unknown_word_is_not_compared_with_all_words(monkeypatch: pytest.MonkeyPatch) -> None:
    index = docs_index()
    compared: list[int] = []
    real = index._index.query

    def query(wanted: Any) -> Any:
        compared.extend(len(clause.term) for clause in wanted.clauses if clause.edit_distance)
        return real(wanted)

    monkeypatch.setattr(index._index, "query", query)
    assert index.search("parameterrs " + "x" * 80, 5)
    assert max(compared) == len("parameterr")


def test_searches_at_the_same_moment_build_one_index(monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[int] = []

    def build(sections: list[Section]) -> Index:
        built.append(1)
        time.sleep(0.05)
        return index

    index = docs_index()
    monkeypatch.setattr(search, "all_pages", dict)
    monkeypatch.setattr(search, "listed_apis", tuple)
    monkeypatch.setattr(search, "Index", build)
    search._kept_index.cache_clear()
    try:
        at_once(4, lambda number: docs_index())
    finally:
        search._kept_index.cache_clear()
    assert len(built) == 1


def test_every_section_has_an_anchor_that_is_there(client: Browser) -> None:
    pages: dict[str, set[str]] = {}
    for section in docs_index().sections:
        path, _, anchor = section.address.partition("#")
        if path not in pages:
            soup = BeautifulSoup(client.get(path).content, "html.parser")
            pages[path] = {str(element["id"]) for element in soup.select("[id]")}
        assert not anchor or anchor in pages[path], section.address
