"""The text of each page as everybody may read it: with placeholders, without its frame. For search and Markdown."""

import re
from collections.abc import Callable
from functools import cache
from typing import Any
from urllib.parse import urlsplit

from bs4 import BeautifulSoup
from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.core.signals import setting_changed
from django.http import HttpRequest

from devportal.console.docs.highlighting import without_colours
from devportal.console.docs.pages import PAGES
from devportal.console.docs.views import docs_page

# What leads around on a page, or needs a person or a script, and is no part of its text.
_FRAME = ".contents, .anchor, .onward, .docs__markdown, .languages, form, button"
_MAIN = re.compile(r"<main\b[^>]*>(.*)</main>", re.DOTALL)
_SHOWN = frozenset({"AUTH_URL", "BASE_URL", "ISSUER", "SERVICE_NAME"})


@cache
def main_html(name: str) -> str:
    """Return the main column of a page as HTML, by the page's name. Rendered once in a process."""
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
    """Have `forget` called when a setting that every page shows is changed, as tests do."""

    def changed(*, setting: str, **kwargs: Any) -> None:
        if setting in _SHOWN:
            forget()

    setting_changed.connect(changed, weak=False)


forget_with_settings(main_html.cache_clear)
