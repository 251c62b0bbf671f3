"""Rendering of the docs: highlighted code, headings with anchors, and pages with placeholders."""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any
from urllib.parse import urlsplit

from bs4 import BeautifulSoup
from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.core.signals import setting_changed
from django.http import HttpRequest
from django.utils.html import escape, strip_tags
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import slugify
from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, Keyword, Literal, Name, Number, Operator, String, Token
from pygments.util import ClassNotFound

from devportal.docs.pages import PAGES
from devportal.docs.views import docs_page

# A regular expression is enough: headings in our templates are never nested, and code is escaped.
_HEADING = re.compile(r"<h(?P<level>[23])(?P<attributes>(?:\s[^>]*)?)>(?P<content>.*?)</h(?P=level)>", re.DOTALL)
_ID = re.compile(r'\sid="([^"]*)"')


@dataclass(frozen=True)
class Heading:
    """A heading: `level` is 2 or 3, `anchor` its id, `title` its text as safe HTML without elements."""

    level: int
    anchor: str
    title: SafeString


def with_anchors(html: str) -> tuple[SafeString, list[Heading]]:
    """Return a page's HTML, with an id and a link on each h2 and h3, and the list of these headings."""
    taken = set(_ID.findall(html))
    headings: list[Heading] = []

    def anchored(found: re.Match[str]) -> str:
        level, attributes, content = found["level"], found["attributes"], found["content"]
        title = " ".join(strip_tags(content).split())
        if given := _ID.search(attributes):
            anchor = given[1]
        else:
            anchor = _free(slugify(title) or "section", taken)
            taken.add(anchor)
            attributes += f' id="{anchor}"'
        headings.append(Heading(int(level), anchor, mark_safe(title)))  # noqa: S308 (of escaped HTML)
        label = title.replace('"', "&quot;")
        link = (
            f'<a class="anchor" href="#{anchor}" aria-label="Link to “{label}”"><span aria-hidden="true">#</span></a>'
        )
        return f"<h{level}{attributes}>{content} {link}</h{level}>"

    return mark_safe(_HEADING.sub(anchored, html)), headings  # noqa: S308 (a rendered template)


def _free(wanted: str, taken: Iterable[str]) -> str:
    """Return `wanted`, with a number appended if it is taken."""
    number, anchor = 1, wanted
    while anchor in taken:
        number += 1
        anchor = f"{wanted}-{number}"
    return anchor


# Longer code is not highlighted, because that would delay the page.
LONGEST = 50_000  # characters
# The CSS class of each kind of token. The nearest ancestor counts, and kinds without one stay plain.
# static/css/pages/docs.css has their colours.
_CLASSES: dict[Any, str] = {
    Comment: "hl-comment",
    Comment.Preproc: "hl-keyword",
    Keyword: "hl-keyword",
    Keyword.Constant: "hl-number",
    Operator.Word: "hl-keyword",
    String: "hl-string",
    Literal: "hl-string",
    Number: "hl-number",
    Name.Attribute: "hl-name",
    Name.Builtin: "hl-name",
    Name.Class: "hl-name",
    Name.Decorator: "hl-name",
    Name.Function: "hl-name",
    Name.Tag: "hl-keyword",
    Name.Variable: "hl-variable",
    Name.Variable.Magic: "",
    Name.Builtin.Pseudo: "hl-variable",
}


_is_off: ContextVar[bool] = ContextVar("highlighting_is_off", default=False)


@contextmanager
def without_colours() -> Iterator[None]:
    """Turn off highlighting in this context. Search and Markdown don't need it, and it costs time and memory."""
    token = _is_off.set(True)
    try:
        yield
    finally:
        _is_off.reset(token)


def highlight(code: str, language: str, *, keep: bool = False) -> SafeString:
    """Return escaped HTML of `code`, highlighted if Pygments knows the language.

    With `keep` the result is cached in the process. Don't use it for code that is shown once, such as tokens.
    """
    if _is_off.get():
        return escape(code)
    return kept(code, language) if keep else _highlight(code, language)


def _highlight(code: str, language: str) -> SafeString:
    try:
        lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return escape(code)
    if len(code) > LONGEST:
        return escape(code)
    tokens = list(lexer.get_tokens(code))
    if "".join(text for _, text in tokens) != code:  # some lexers turn \r\n into \n
        return escape(code)
    return mark_safe("".join(_marked(class_, text) for class_, text in _runs(tokens)))  # noqa: S308 (escaped in _marked)


# This cache lives as long as the process. Tests check that it never contains data of a call.
kept = lru_cache(maxsize=512)(_highlight)


def _runs(tokens: list[tuple[Any, str]]) -> list[tuple[str, str]]:
    """Return class and text of each run of tokens with the same class, so that they share an element."""
    runs: list[tuple[str, str]] = []
    for kind, text in tokens:
        class_ = _class_of(kind)
        if runs and (runs[-1][0] == class_ or not text.strip()):
            class_, before = runs.pop()
            text = before + text
        runs.append((class_, text))
    return runs


def _class_of(kind: Any) -> str:
    while kind is not Token:
        if kind in _CLASSES:
            return _CLASSES[kind]
        kind = kind.parent
    return ""


def _marked(class_: str, text: str) -> str:
    return f'<span class="{class_}">{escape(text)}</span>' if class_ else escape(text)


# Parts of a page that are not its text: navigation, and elements that need a person or a script.
_FRAME = ".contents, .anchor, .onward, .docs__markdown, .languages, form, button"
_MAIN = re.compile(r"<main\b[^>]*>(.*)</main>", re.DOTALL)
_SHOWN = frozenset({"AUTH_URL", "BASE_URL", "ISSUER", "SERVICE_NAME"})


@cache
def main_html(name: str) -> str:
    """Return the main column of a page as HTML. It is rendered once per process."""
    page = PAGES[name]
    with without_colours():
        html = docs_page(_request_of_nobody(page.address), page).content.decode()
    main = _MAIN.search(html)
    if main is None:
        raise LookupError(f"The page {name} has no main column.")
    soup = BeautifulSoup(main[1], "html.parser")
    for element in soup.select(_FRAME):
        element.decompose()
    return soup.decode_contents()


def _request_of_nobody(path: str) -> HttpRequest:
    address = urlsplit(settings.AUTH_URL)
    request = HttpRequest()
    request.method = "GET"
    request.path = request.path_info = path
    request.META |= {"HTTP_HOST": address.netloc, "wsgi.url_scheme": address.scheme}
    request.user = AnonymousUser()
    return request


def forget_with_settings(forget: Callable[[], None]) -> None:
    """Call `forget` when a setting changes that every page shows. Only tests change settings."""

    def changed(*, setting: str, **kwargs: Any) -> None:
        if setting in _SHOWN:
            forget()

    setting_changed.connect(changed, weak=False)


forget_with_settings(main_html.cache_clear)
