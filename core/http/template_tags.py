"""Template tags and filters of all pages: links to other hosts, icons and places where long words may break.

This built-in tag replaces Django's, so that the pages of installed packages have correct links too
(docs/operations.md#hosts).

This is a built-in template tag. It writes a reference and stores the name on the request; `{% icon_sprite %}`, at the
end of templates/base.html, draws each used icon once. In templates without a request (mails, separate forms), the tag
writes the complete drawing instead.
"""

import functools
import re
from datetime import UTC, datetime
from importlib import resources
from typing import Any
from xml.etree import ElementTree
from zipfile import ZipFile

from django.http import HttpRequest
from django.template import Library
from django.template.base import Parser, Token
from django.template.context import Context
from django.template.defaulttags import URLNode
from django.template.defaulttags import url as parse_url
from django.utils.html import conditional_escape, format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from core import time_zones
from core.http import split_hosts

register = Library()


class HostURLNode(URLNode):
    """Django's node, which also writes the host before the path if needed."""

    def render(self, context: Context) -> Any:
        path = super().render(context)
        request = context.get("request")
        if self.asvar:
            context[self.asvar] = split_hosts.link(context[self.asvar], request) if context[self.asvar] else ""
            return path
        return split_hosts.link(path, request)


@register.tag
def url(parser: Parser, token: Token) -> URLNode:
    """Parse the tag as Django does."""
    node = parse_url(parser, token)
    return HostURLNode(node.view_name, node.args, node.kwargs, node.asvar)


@register.simple_tag(takes_context=True)
def on_its_host(context: Context, path: str) -> str:
    """Return a path as `{% url %}` would, for error pages, which do not use URL names."""
    return split_hosts.link(path, context.get("request"))


_NOTED = "_icons"
_SVG = "{http://www.w3.org/2000/svg}"
# Attributes that all drawings of the package share; a symbol carries them once for all references.
_LINES = mark_safe(
    'viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" '
    'stroke-linejoin="round"'
)


@functools.cache
def _shapes(name: str) -> SafeString:
    """Return the content of the icon's `svg` element; raises LookupError if the package has no such icon."""
    with resources.files("lucide").joinpath("lucide.zip").open("rb") as file, ZipFile(file) as icons:
        try:
            root = ElementTree.fromstring(icons.read(f"{name}.svg"))  # noqa: S314 (a file of the package)
        except KeyError:
            raise LookupError(f"The package lucide has no icon {name!r}") from None
    for shape in root.iter():
        shape.tag = shape.tag.removeprefix(_SVG)
    drawn = "".join(ElementTree.tostring(shape, encoding="unicode").strip() for shape in root)
    return mark_safe(drawn)  # noqa: S308 (the XML serializer escapes)


@register.simple_tag(takes_context=True)
def icon(context: Context, name: str, css: str = "") -> SafeString:
    """Return a decorative icon, hidden from screen readers because text beside it says the same.

    `css` holds additional classes.
    """
    shapes = _shapes(name)
    classes = f"icon {css}".strip()
    request = context.get("request")
    if request is None:
        return format_html('<svg class="{}" {} aria-hidden="true">{}</svg>', classes, _LINES, shapes)
    noted = request.__dict__.setdefault(_NOTED, {})
    noted[name] = shapes
    return format_html('<svg class="{}" aria-hidden="true"><use href="#i-{}"/></svg>', classes, name)


@register.simple_tag(takes_context=True)
def icon_sprite(context: Context) -> SafeString:
    """Return the drawings of all icons that the page refers to, or nothing if there are none."""
    noted = getattr(context.get("request"), _NOTED, None)
    if not noted:
        return SafeString("")
    symbols = format_html_join(
        "", '<symbol id="i-{}" {}>{}</symbol>', ((name, _LINES, noted[name]) for name in sorted(noted))
    )
    return format_html('<svg aria-hidden="true" hidden>{}</svg>', symbols)


@register.simple_tag(takes_context=True)
def error_in_title(context: Context) -> str:
    """Return the beginning of the title of a page with a form that has errors or a summary of errors, or "".

    A tag, because templates log the whole context if they use a variable that a page does not have.
    """
    forms = (context.get("form"), context.get("webauthn_form"))
    return "Error: " if context.get("summary") or any(getattr(form, "errors", None) for form in forms) else ""


# A position after a slash, but not between the two of "https://".
_AFTER_SLASH = re.compile(r"(?<=/)(?=[^/])")


@register.filter
def breakable(address: str) -> SafeString:
    """Return a URL with a possible line break after each slash; copied text contains only the URL."""
    escaped = conditional_escape(address)
    return mark_safe(_AFTER_SLASH.sub("<wbr>", escaped))  # noqa: S308 (escaped before)


@register.simple_tag(takes_context=True)
def moment(context: Context, at: datetime, in_sentence: bool | str = False, seconds: bool | str = False) -> SafeString:
    """Return a time in the reader's zone, with UTC as its tooltip; in UTC if the zone is not known.

    time.js replaces the latter by the local time. `in_sentence` always writes the date, `seconds` is for logs.
    """
    return moment_in(context.get("request"), at, in_sentence=bool(in_sentence), seconds=bool(seconds))


def moment_in(
    request: HttpRequest | None, at: datetime, *, in_sentence: bool = False, seconds: bool = False
) -> SafeString:
    """Return what the tag `moment` writes."""
    zone, machine = time_zones.zone_of_reader(request), f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
    utc = time_zones.in_utc(at, seconds=seconds)
    if zone is None:
        form = "date" if in_sentence else ""
        form = f"{form} seconds".strip() if seconds else form
        return format_html('<time datetime="{}" data-local="{}">{}</time>', machine, form, utc)
    text = time_zones.in_zone(at, zone, in_sentence=in_sentence, seconds=seconds)
    return format_html('<time datetime="{}" title="{}">{}</time>', machine, utc, text)


@register.simple_tag(takes_context=True)
def mail_moment(context: Context, at: datetime) -> str:
    """Return a time in an email; `zone` is the name of its reader's zone, or a function that finds it."""
    zone = context.get("zone") or ""
    return time_zones.in_mail(at, time_zones.find_zone(zone() if callable(zone) else zone))
