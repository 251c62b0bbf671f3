"""The docs in sections, split at headings and table rows, and the search page."""

import threading
from collections.abc import Iterator
from functools import lru_cache

from bs4 import BeautifulSoup, Tag
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from core.serving.worker_start import at_worker_start
from devportal.docs.pages import PAGES, DocsPage
from devportal.docs.rendering import forget_with_settings, main_html
from devportal.docs.search.ranking import Index, Section, clean, marked

# Other words that people type to find a section, by the name of the page and its anchor.
_KEYWORDS = {
    ("errors", "authorization-invalid_request"): "redirect_uri_mismatch redirect uri url mismatch not registered",
    ("logout", ""): "logout end session rp-initiated",
    ("revocation", ""): "revoke",
    ("tokens", "refresh"): "rotation renew rotate refresh token",
    ("authorization", "parameters"): "pkce code_challenge code_verifier code_challenge_method nonce state",
    ("authorization", "more"): "acr mfa 2fa passkey webauthn step-up",
    ("authorization", "prompt"): "prompt",
    ("authorization", "scopes"): "scopes",
    ("plans", "entitlements"): "entitlements",
    ("discovery", "cors"): "cors cross origin fetch browser",
    ("discovery", "keys"): "jwks signature verify kid rotation",
    ("limits", "api"): "rate limit 429 throttling",
    ("discovery", ""): "well-known openid-configuration metadata issuer",
    ("overview", "words"): "user id sub subject",
    ("tokens", "id-token"): "id token claims jwt verify validate",
}

# Seconds. Building the index takes more than half a second of processor time, which would delay the start.
PRELOAD_AFTER = 20


@lru_cache(maxsize=1)
def docs_index() -> Index:
    """Return the index of the docs. It is built at first use, once per process."""
    return Index([section for page in PAGES.values() for section in sections_of(page)])


@at_worker_start
def preload() -> None:
    """Build the index shortly after a worker's start, so that it delays neither the first requests nor a search."""
    timer = threading.Timer(PRELOAD_AFTER, docs_index)
    timer.name, timer.daemon = "docs-index", True
    timer.start()


def sections_of(page: DocsPage) -> Iterator[Section]:
    """Yield the sections of a page: the text before its first heading, under each heading, and rows with an id."""
    soup = BeautifulSoup(main_html(page.name), "html.parser")
    for row in soup.select("tr[id]"):
        cells = [cell.get_text(" ") for cell in row.find_all(["td", "th"])]
        yield _section(page, str(row["id"]), cells[0], " ".join(cells[1:]))
        row.decompose()
    for left_out in soup.select("pre, figcaption, thead"):
        left_out.decompose()
    for block in soup.select("p, li, td, th, dt, dd"):
        block.append(" ")
    anchor, title, texts = "", page.title, [page.summary, " "]
    for element in soup.descendants:
        if isinstance(element, Tag):
            if element.name in ("h2", "h3"):
                yield _section(page, anchor, title, "".join(texts))
                anchor, title, texts = str(element.get("id", "")), element.get_text(), []
        elif not any(parent.name in ("h1", "h2", "h3") for parent in element.parents):
            texts.append(str(element))
    yield _section(page, anchor, title, "".join(texts))


def _section(page: DocsPage, anchor: str, title: str, text: str) -> Section:
    address = f"{page.address}#{anchor}" if anchor else page.address
    title, text = " ".join(title.split()), " ".join(text.split())
    return Section(page.title, title, address, text, _KEYWORDS.get((page.name, anchor), ""))


forget_with_settings(docs_index.cache_clear)


MOST = 20


@require_safe
def docs_search(request: HttpRequest) -> HttpResponse:
    """GET /docs/search?q=…: the best matching sections, with the words of the query marked."""
    query = clean(request.GET.get("q", ""))
    found = docs_index().search(query, MOST + 1) if query else []
    hits = [{"section": section, "pieces": marked(section.text, query)} for section in found[:MOST]]
    told = {"page": {"title": "Search"}, "query": query, "hits": hits, "has_more": len(found) > MOST}
    return render(request, "docs/search.html", told)
