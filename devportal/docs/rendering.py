"""Rendering of the docs: highlighted code, headings with anchors, placeholders, and pages as Markdown."""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import urljoin, urlsplit

from bs4 import BeautifulSoup, Tag
from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import escape, strip_tags
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import slugify
from django.views.decorators.http import require_safe
from markdownify import ATX, MarkdownConverter
from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, Keyword, Literal, Name, Number, Operator, String, Token
from pygments.util import ClassNotFound

from core.settings_changes import forget_with_settings
from devportal.docs.pages import INDEX, DocsPage, all_pages, all_sections, listed_apis
from devportal.docs.views import docs_page
from oidc.apis.registry import ApiSnapshot

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
# The endpoints of an API are left out too: its OpenAPI document, which the page links, is for programs.
_FRAME = ".docs__endpoints, .contents, .anchor, .onward, .docs__markdown, .languages, form, button"
_MAIN = re.compile(r"<main\b[^>]*>(.*)</main>", re.DOTALL)


# Pages that the process keeps as HTML and as Markdown. Pages that mention APIs change with them, so each
# entry belongs to the APIs of its time.
MOST_KEPT = 256


def main_html(name: str) -> str:
    """Return the main column of a page as HTML. Raises KeyError for an unknown page.

    It is rendered once per process, and again when an API changed.
    """
    return kept_html(name, listed_apis())


@lru_cache(maxsize=MOST_KEPT)
def kept_html(name: str, apis: tuple[ApiSnapshot, ...]) -> str:
    """Render the main column of a page; `apis` are the ones that it may show."""
    page = all_pages()[name]
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


forget_with_settings(kept_html.cache_clear)


class _Converter(MarkdownConverter):
    """Converter that writes definition lists as lists, and escapes HTML and the borders of table cells."""

    def escape(self, text: str, parent_tags: set[str]) -> str:
        escaped: str = super().escape(text, parent_tags)  # type: ignore[misc]
        escaped = escaped.replace("<", "&lt;")
        return escaped.replace("|", "\\|") if parent_tags & {"td", "th"} else escaped

    def convert_dt(self, element: Tag, text: str, parent_tags: set[str]) -> str:
        return f"\n- **{text.strip()}**: "

    def convert_dd(self, element: Tag, text: str, parent_tags: set[str]) -> str:
        return " ".join(text.split()) + "\n"

    def convert_dl(self, element: Tag, text: str, parent_tags: set[str]) -> str:
        lines = re.sub(r"\n{2,}", "\n", text).strip()
        return f"\n\n{lines}\n\n"


def _language_of(pre: Tag) -> str:
    language = str(pre.get("data-language", ""))
    return "" if language == "text" else language


def page_as_markdown(name: str) -> str:
    """Return a page as Markdown, with absolute URLs in its links. Raises KeyError for an unknown page."""
    return _kept_markdown(name, listed_apis())


@lru_cache(maxsize=MOST_KEPT)
def _kept_markdown(name: str, apis: tuple[ApiSnapshot, ...]) -> str:
    pages = all_pages()
    page, by_path = pages[name], {each.address: each for each in pages.values()}
    soup = BeautifulSoup(main_html(name), "html.parser")
    for link in soup.find_all("a", href=True):
        _lead_on(page, link, by_path)
    for link in soup.select(".choices > li > a"):
        link.insert_after(": ")
    for figure in soup.select("figure.snippet"):
        _say_file_name(soup, figure)
    converter = _Converter(
        heading_style=ATX,
        bullets="-",
        code_language_callback=_language_of,
        escape_underscores=False,
        escape_asterisks=False,
        table_infer_header=True,
    )
    text = re.sub(r"[ \t]+\n", "\n", converter.convert_soup(soup))
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def _say_file_name(soup: BeautifulSoup, figure: Tag) -> None:
    """Put the file name before a block of code, and drop the rest of its header."""
    head, code = figure.find("figcaption"), figure.find("pre")
    if isinstance(head, Tag):
        head.decompose()
    if isinstance(code, Tag) and code.get("data-file"):
        line = soup.new_tag("p")
        name = soup.new_tag("code")
        name.string = str(code["data-file"])
        line.append(name)
        line.append(":")
        figure.insert(0, line)


def _lead_on(page: DocsPage, link: Tag, by_path: Mapping[str, DocsPage]) -> None:
    """Make a link absolute. Links to other pages of the docs lead to their Markdown, which has no anchors."""
    whole = urljoin(f"{settings.AUTH_URL}{page.address}", str(link["href"]))
    parts = urlsplit(whole)
    target = by_path.get(parts.path) if whole.startswith(f"{settings.AUTH_URL}/") else None
    if target == page and parts.fragment:
        link.unwrap()
    elif target and not parts.query:
        link["href"] = f"{settings.AUTH_URL}{target.markdown_address}"
    else:
        link["href"] = whole


def render_llms_txt() -> str:
    """Return the content of llms.txt: title, summary, and a link with a description for each page."""
    service = settings.SERVICE_NAME
    lines = [
        f"# {service} for developers",
        "",
        f"> Sign-in with {service} accounts (OpenID Connect, authorization code flow with PKCE) and a developer API.",
        "",
        f"Issuer: {settings.ISSUER} (including its last slash). API: {settings.BASE_URL}/v1. "
        "Code examples use YOUR_CLIENT_ID in place of a client id.",
    ]
    for section, pages in all_sections().items():
        lines += ["", f"## {section}", ""]
        lines += [f"- [{page.title}]({settings.AUTH_URL}{page.markdown_address}): {page.summary}" for page in pages]
        if section == "Developer API":
            description = "every endpoint, response and error of the API."
            lines.append(f"- [OpenAPI document]({settings.BASE_URL}{reverse('openapi')}): {description}")
    return "\n".join([*lines, ""])


forget_with_settings(_kept_markdown.cache_clear)


# They contain no personal data, but a deployment may change them.
MAX_AGE = 300  # seconds


@require_safe
def page_markdown(request: HttpRequest, path: str) -> HttpResponse:
    """GET /docs/….md: a page as Markdown (RFC 7763), with placeholders in its code; the overview is called index."""
    page = next((page for page in all_pages().values() if (page.path or INDEX) == path), None)
    if page is None:
        raise Http404
    return _public(page_as_markdown(page.name), "text/markdown")


@require_safe
def llms_txt(request: HttpRequest) -> HttpResponse:
    """GET /llms.txt: the pages of the docs, with a line for each."""
    return _public(render_llms_txt(), "text/plain")


def _public(text: str, content_type: str) -> HttpResponse:
    response = HttpResponse(text, content_type=f"{content_type}; charset=utf-8")
    response["Cache-Control"] = f"public, max-age={MAX_AGE}"
    return response
