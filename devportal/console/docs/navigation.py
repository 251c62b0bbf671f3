"""The way through the docs: the navigation beside a page, and which pages come before and after it."""

from dataclasses import dataclass

from django.urls import reverse

from devportal.console.docs.pages import PAGES, SECTIONS, DocsPage


@dataclass(frozen=True)
class NavLink:
    """A link of the navigation."""

    title: str
    address: str
    is_current: bool = False


def navigation(current: DocsPage | None, address: str = "") -> dict[str, list[NavLink]]:
    """Return the links of each section, for the page at `address`; `current` is None where that is no page to read.

    Of the guides there are those of the current one's group alone.
    """
    links = {
        section: [NavLink(page.title, page.address, page == current) for page in pages if _is_listed(page, current)]
        for section, pages in SECTIONS.items()
    }
    links["Developer API"] += [
        NavLink("Try it", reverse("api_try_it"), is_current=address == reverse("api_try_it")),
        NavLink("OpenAPI document", reverse("openapi")),
    ]
    return links


def _is_listed(page: DocsPage, current: DocsPage | None) -> bool:
    if page.guide is None:
        return True
    return current is not None and current.guide is not None and page.guide.group == current.guide.group


def neighbours(page: DocsPage) -> tuple[DocsPage | None, DocsPage | None]:
    """Return the pages before and after a page, in the order of the navigation; None at its ends."""
    order = list(PAGES.values())
    place = order.index(page)
    return order[place - 1] if place else None, order[place + 1] if place + 1 < len(order) else None
