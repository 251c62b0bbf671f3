"""Open every page of the admin: every link of every page, and URLs to which no page links."""

import html
import re
from dataclasses import dataclass
from urllib.parse import parse_qsl, urljoin, urlsplit

from django.contrib import admin
from django.test import Client as Browser

_LINK = re.compile(r'(?:href|hx-get)="([^"#]+)')
# More pages than the admin has. If a crawl finds more, it goes in a circle.
MOST_PAGES = 1000


@dataclass(frozen=True)
class Page:
    url: str
    status: int
    text: str


def unlinked() -> list[str]:
    """Return the URLs of every registered model for one of its rows, whether or not a page links to them."""
    found = ["/admin/", "/admin/search/?s=a&page=x", "/admin/password_change/", "/admin/jsi18n/"]
    for model, page in admin.site._registry.items():
        base = f"/admin/{model._meta.app_label}/{model._meta.model_name}/"
        found += [base, f"{base}?q=a", f"{base}?q=a@example.com", f"{base}?q=prj_x", f"{base}add/"]
        row = model._default_manager.order_by("-pk").first()
        pk = row.pk if row else 1
        found += [f"{base}{pk}/{end}" for end in ("change/", "history/", "delete/")]
        found += [f"{base}{pk}/do/{act.name}/" for act in page.row_actions]  # type: ignore[attr-defined]
        found += [f"{base}do/{act.name}/" for act in page.list_actions]  # type: ignore[attr-defined]
        for field in model._meta.fields:
            if field.remote_field:
                source = f"app_label={model._meta.app_label}&model_name={model._meta.model_name}"
                found.append(f"/admin/autocomplete/?{source}&field_name={field.name}&term=")
    return found


def _parts(url: str) -> set[tuple[str, str, str]]:
    """Return the path alone, and with each parameter, except the one with the filters of the list to return to."""
    split = urlsplit(url)
    query = parse_qsl(split.query, keep_blank_values=True)
    return {(split.path, "", "")} | {(split.path, *pair) for pair in query if pair[0] != "_changelist_filters"}


def crawl(browser: Browser) -> list[Page]:
    """GET every admin page that can be found, and each value of each filter once, but not all their combinations."""
    waiting: list[str] = unlinked()
    seen: set[tuple[str, str, str]] = set()
    pages: list[Page] = []
    while waiting:
        url = waiting.pop(0)
        if seen >= _parts(url):
            continue
        seen |= _parts(url)
        assert len(pages) < MOST_PAGES, "the walk goes on and on"
        response = browser.get(url)
        text = "" if response.streaming else response.content.decode()
        pages.append(Page(url, response.status_code, text))
        links = [urljoin(url, html.unescape(link)) for link in _LINK.findall(text)]
        if "Location" in response:
            links.append(urljoin(url, response["Location"]))
        for link in links:
            parts = urlsplit(link)
            if parts.path.startswith("/admin/"):
                waiting.append(parts._replace(scheme="", netloc="", fragment="").geturl())
    return pages
