"""Search of the docs."""

import re
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product

from bs4 import BeautifulSoup, Tag
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe
from lunr.builder import Builder
from lunr.index import Index as LunrIndex
from lunr.query import QueryPresence

from core.limits import usage
from core.limits.middleware import MINUTE
from core.limits.usage import Rate, RateLimited, hit
from core.serving.worker_start import at_worker_start
from core.settings_changes import forget_with_settings
from devportal.docs.pages import DocsPage, all_pages, listed_apis
from devportal.docs.rendering import main_html
from oidc.apis.registry import ApiSnapshot

# Longer queries are cut.
LONGEST_QUERY = 100  # characters
MOST_WORDS = 8
_WORD = re.compile(r"[^\W_]+(?:_[^\W_]+)*")
# Words that are too frequent to distinguish pages.
_NOISE = frozenset(
    {
        "a", "an", "and", "are", "as", "at", "be", "by", "do", "for", "from", "how", "i", "in", "is", "it",
        "my", "of", "on", "or", "the", "this", "to", "what", "when", "with",
    }
)  # fmt: skip
# Words that people use, and the words that the docs use.
_SAME = {
    "webhook": "events",
    "webhooks": "events",
    "uri": "url",
    "uris": "url",
    "login": "signin",
    "logon": "signin",
    "logout": "signout",
    "logoff": "signout",
    "signup": "register",
    "jwks": "keys",
    "mfa": "factors",
    "2fa": "factors",
    "ratelimit": "limits",
    "throttling": "limits",
    "throttled": "limits",
    "quota": "limits",
    "429": "limits",
    "picture": "photo",
    "avatar": "photo",
    "callback": "redirect",
    "mail": "email",
    "ttl": "lifetimes",
    "expiry": "lifetimes",
    "lifetime": "lifetimes",
    "swagger": "openapi",
    "desktop": "installed",
    "native": "installed",
    "spa": "browser",
}
_TWO_IN_ONE = re.compile(r"\b(sign|log)[ -](in|out|up|on|off)\b")
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]+")


def clean(query: str) -> str:
    """Return a query on one line, without control characters, and cut to LONGEST_QUERY characters."""
    return " ".join(_CONTROLS.sub(" ", query).split())[:LONGEST_QUERY].strip()


def words_of(text: str) -> list[str]:
    """Return the words of a text in the form in which they are compared.

    A name with underscores, such as an error code, counts as a word, and so do its parts.
    """
    found: list[str] = []
    joined = _TWO_IN_ONE.sub(r"\1\2", text.casefold().replace("e-mail", "email"))
    for word in _WORD.findall(joined):
        parts = word.split("_") if "_" in word else []
        found += [_form_of(one) for one in (word, *parts)]
    return found


def query_words(query: str) -> list[str]:
    """Return the different words of a query; a name with underscores is one word, without its parts."""
    joined = _TWO_IN_ONE.sub(r"\1\2", query.casefold().replace("e-mail", "email"))
    words = [_form_of(word) for word in _WORD.findall(joined)]
    telling = [word for word in words if word not in _NOISE] or words
    return list(dict.fromkeys(telling))[:MOST_WORDS]


def _form_of(word: str) -> str:
    word = _SAME.get(word, word)
    if "_" in word or len(word) < 4 or word.endswith("ss"):
        return word
    return word.removesuffix("s")


# BM25: how quickly repetitions of a word stop counting, and how much long sections are penalized.
_SATURATION, _LENGTH = 1.2, 0.1
# The weight of a word in each field of a section, and the additional weight of an exact match.
_WEIGHTS = {"text": 1, "page": 2, "title": 4, "keywords": 30}
_EXACT_WEIGHT = 10
_SHORTEST_PREFIX = 2
# Comparing all words with a longer one takes tens of milliseconds, and nobody means a word of the docs by it.
_TYPO_LENGTHS = range(4, 21)


@dataclass(frozen=True)
class Section:
    """A part of a page. `title` is its heading, `page` the page's title, `keywords` other names for it."""

    page: str
    title: str
    address: str
    text: str
    keywords: str = ""


@dataclass
class Index:
    """A searchable index of sections."""

    sections: Sequence[Section]
    _index: LunrIndex = field(init=False)

    def __post_init__(self) -> None:
        builder = Builder()
        builder.ref("number")
        builder.k1(_SATURATION)
        builder.b(_LENGTH)
        for name, weight in _WEIGHTS.items():
            builder.field(name, boost=weight)
        for number, section in enumerate(self.sections):
            words = {name: " ".join(words_of(getattr(section, name))) for name in _WEIGHTS}
            builder.add({"number": str(number)} | words)
        self._index = builder.build()

    def search(self, query: str, most: int) -> list[Section]:
        """Return the sections with all words of a query, best first. If there are none, return those with any word."""
        words = query_words(query)
        for presence, has_typos in product((QueryPresence.REQUIRED, QueryPresence.OPTIONAL), (False, True)):
            if found := self._find(words, presence, has_typos=has_typos):
                return [self.sections[int(one["ref"])] for one in found[:most]]
        return []

    def _find(self, words: list[str], presence: QueryPresence, *, has_typos: bool) -> list[dict[str, str]]:
        query = self._index.create_query()
        for word in words:
            query.term(word, boost=_EXACT_WEIGHT)
            if has_typos and len(word) in _TYPO_LENGTHS:
                query.term(word, presence=presence, edit_distance=1)
            elif word is words[-1] and len(word) >= _SHORTEST_PREFIX:  # the person may still be typing it
                query.term(word, presence=presence, wildcard=query.WILDCARD_TRAILING)
            else:
                query.term(word, presence=presence)
        return list(self._index.query(query)) if words else []


def marked(text: str, query: str, around: int = 90) -> list[tuple[str, bool]]:
    """Return an excerpt of a text around the first words of a query, in pieces that say whether they are matches."""
    wanted = query_words(query)
    pieces: list[tuple[str, bool]] = []
    words = text.split(" ")
    hits = [any(_is_meant(form, wanted) for form in words_of(word)) for word in words]
    first = hits.index(True) if True in hits else 0
    begin = end = first
    length = 0
    while begin > 0 and length < around // 2:
        begin -= 1
        length += len(words[begin]) + 1
    while end < len(words) and length < around * 2:
        length += len(words[end]) + 1
        end += 1
    if begin:
        pieces.append(("… ", False))
    pieces += [
        piece
        for word, hit in zip(words[begin:end], hits[begin:end], strict=True)
        for piece in ((word, hit), (" ", False))
    ]
    if end < len(words):
        pieces.append(("…", False))
    return pieces


def _is_meant(word: str, wanted: list[str]) -> bool:
    return any(word == one or (len(one) >= _SHORTEST_PREFIX and word.startswith(one)) for one in wanted)


# Other words that people type to find a section, by the name of the page and its anchor.
_KEYWORDS = {
    ("errors", "authorization-invalid_request"): "redirect_uri_mismatch redirect uri url mismatch not registered",
    ("logout", ""): "logout end session rp-initiated",
    ("revocation", ""): "revoke",
    ("tokens", "refresh"): "rotation renew rotate refresh token",
    ("authorization", "parameters"): "pkce code_challenge code_verifier code_challenge_method nonce state",
    ("authorization", "more"): "acr mfa 2fa passkey webauthn step-up",
    ("authorization", "prompt"): "prompt",
    ("authorization", "scopes"): "scopes permissions",
    ("guide_mobile", ""): "mobile ios iphone android flutter react native appauth",
    ("guide_mobile", "association"): "universal links app links apple-app-site-association assetlinks",
    ("guide_mobile", "react-native"): "react native expo",
    ("guide_applications", "pkce"): "sso self-hosted application",
    ("web_app", "next"): "rotate client secret rotation",
    ("plans", "entitlements"): "entitlements",
    ("guide_aspnet", ""): "asp.net dotnet .net c# blazor",
    ("guide_laravel", ""): "laravel php",
    ("guide_symfony", ""): "symfony php",
    ("discovery", "cors"): "cors cross origin fetch browser",
    ("discovery", "keys"): "jwks signature verify kid rotation",
    ("limits", "api"): "rate limit 429 throttling",
    ("discovery", ""): "well-known openid-configuration metadata issuer",
    ("overview", "words"): "user id sub subject",
    ("tokens", "id-token"): "id token claims jwt verify validate",
    ("tokens", "clocks"): "clock skew leeway tolerance ntp iat exp",
    ("testing", "ci"): "ci continuous integration github actions playwright automated tests",
    ("testing", "live"): "test accounts test users sandbox staging",
    ("testing", "without-a-person"): "client_credentials machine to machine m2m service account",
    ("deprecation", ""): "sunset breaking changes versioning compatibility",
    ("changelog", ""): "atom rss feed release notes",
}

# Seconds. Building the index takes more than half a second of processor time, which would delay the start.
PRELOAD_AFTER = 20


_building = threading.Lock()


def docs_index() -> Index:
    """Return the index of the docs. It is built at first use in a process, and again after an API changed.

    Searches at the same moment wait for one of them, which builds it.
    """
    apis = listed_apis()
    with _building:
        return _kept_index(apis)


@lru_cache(maxsize=1)
def _kept_index(apis: tuple[ApiSnapshot, ...]) -> Index:
    return Index([section for page in all_pages().values() for section in sections_of(page)])


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


forget_with_settings(_kept_index.cache_clear)


MOST = 20
MOST_SUGGESTIONS = 3


def suggestions(request: HttpRequest) -> list[Section]:
    """Return sections for the last part of a URL that does not exist, none if the client searches too often."""
    query = clean(request.path.rstrip("/").rpartition("/")[2].removesuffix(".md"))
    try:
        _count_search(request)
    except RateLimited:
        return []
    return docs_index().search(query, MOST_SUGGESTIONS)


def _count_search(request: HttpRequest) -> None:
    hit(Rate("search of the docs", settings.DOCS_SEARCHES_PER_MINUTE, MINUTE), usage.address(request))


@require_safe
def docs_search(request: HttpRequest) -> HttpResponse:
    """GET /docs/search?q=…: the best matching sections, with the words of the query marked. Raises RateLimited."""
    query = clean(request.GET.get("q", ""))
    if query:
        _count_search(request)
    found = docs_index().search(query, MOST + 1) if query else []
    hits = [{"section": section, "pieces": marked(section.text, query)} for section in found[:MOST]]
    context = {"page": {"title": "Search"}, "query": query, "hits": hits, "has_more": len(found) > MOST}
    return render(request, "docs/search.html", context)
