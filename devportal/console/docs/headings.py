"""The headings of a page: each gets an id and a link to itself, and together they are the page's contents."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from django.utils.html import strip_tags
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import slugify

# The pages are our own templates, in which headings hold no other headings; code is escaped.
_HEADING = re.compile(r"<h(?P<level>[23])(?P<attributes>(?:\s[^>]*)?)>(?P<content>.*?)</h(?P=level)>", re.DOTALL)
_ID = re.compile(r'\sid="([^"]*)"')


@dataclass(frozen=True)
class Heading:
    """A heading: `level` is 2 or 3, `anchor` its id, `title` its text as safe HTML without elements."""

    level: int
    anchor: str
    title: SafeString


def with_anchors(html: str) -> tuple[SafeString, list[Heading]]:
    """Return a page's HTML, in which each h2 and h3 has an id and a link to itself, and its headings in their order."""
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
    """Return `wanted`, with a number behind it if it is taken."""
    number, anchor = 1, wanted
    while anchor in taken:
        number += 1
        anchor = f"{wanted}-{number}"
    return anchor
