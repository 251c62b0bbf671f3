"""The docs for programs: each page as Markdown, and the index llms.txt."""

import re
from functools import cache
from urllib.parse import urljoin, urlsplit

from bs4 import BeautifulSoup, Tag
from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_safe
from markdownify import ATX, MarkdownConverter

from devportal.docs.pages import INDEX, PAGES, SECTIONS, DocsPage
from devportal.docs.rendering import forget_with_settings, main_html


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


@cache
def page_as_markdown(name: str) -> str:
    """Return a page as Markdown, with absolute URLs in its links."""
    page = PAGES[name]
    soup = BeautifulSoup(main_html(name), "html.parser")
    for link in soup.find_all("a", href=True):
        _lead_on(page, link)
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


def _lead_on(page: DocsPage, link: Tag) -> None:
    """Make a link absolute. Links to other pages of the docs lead to their Markdown, which has no anchors."""
    whole = urljoin(f"{settings.AUTH_URL}{page.address}", str(link["href"]))
    parts = urlsplit(whole)
    target = _pages_by_path().get(parts.path) if whole.startswith(f"{settings.AUTH_URL}/") else None
    if target == page and parts.fragment:
        link.unwrap()
    elif target and not parts.query:
        link["href"] = f"{settings.AUTH_URL}{target.markdown_address}"
    else:
        link["href"] = whole


@cache
def _pages_by_path() -> dict[str, DocsPage]:
    return {page.address: page for page in PAGES.values()}


def render_llms_txt() -> str:
    """Return the content of llms.txt: title, summary, and a link with a description for each page."""
    service = settings.SERVICE_NAME
    lines = [
        f"# {service} for developers",
        "",
        f"> Sign-in with {service} accounts (OpenID Connect, authorization code flow with PKCE) and a developer API.",
        "",
        f"Issuer: {settings.ISSUER} (its last slash belongs to it). API: {settings.BASE_URL}/v1. "
        "Code shows YOUR_CLIENT_ID in the place of a client id.",
    ]
    for section, pages in SECTIONS.items():
        lines += ["", f"## {section}", ""]
        lines += [f"- [{page.title}]({settings.AUTH_URL}{page.markdown_address}): {page.summary}" for page in pages]
        if section == "Developer API":
            description = "every endpoint, answer and error of the API."
            lines.append(f"- [OpenAPI document]({settings.BASE_URL}{reverse('openapi')}): {description}")
    return "\n".join([*lines, ""])


forget_with_settings(page_as_markdown.cache_clear)


# They contain no personal data, but a deployment may change them.
MAX_AGE = 300  # seconds


@require_safe
def page_markdown(request: HttpRequest, path: str) -> HttpResponse:
    """GET /docs/….md: a page as Markdown (RFC 7763), with placeholders in its code; the overview is called index."""
    page = next((page for page in PAGES.values() if (page.path or INDEX) == path), None)
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
