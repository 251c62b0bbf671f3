"""`{% icon "name" %}`: an icon of the package lucide, drawn from one sprite at the end of the page.

A builtin of the templates. The tag writes a reference and notes the name on the request; `{% icon_sprite %}`, the last
thing in templates/base.html, writes each noted icon once. A template without a request (a mail, a form on its own) gets
the whole drawing in place of the reference.
"""

import functools
from importlib import resources
from xml.etree import ElementTree
from zipfile import ZipFile

from django.template import Library
from django.template.context import Context
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

register = Library()

_NOTED = "_icons"
_SVG = "{http://www.w3.org/2000/svg}"
# How the package draws; a symbol has it once, for all references to it.
_LINES = mark_safe(
    'viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" '
    'stroke-linejoin="round"'
)


@functools.cache
def _shapes(name: str) -> SafeString:
    """Return what is inside of the icon's `svg`; raises LookupError for a name that the package has not."""
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
    """Return a decorative icon, which readers of the screen skip: words beside it say the same; `css`: more classes."""
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
    """Return the drawings that the page refers to, each once; nothing where it refers to none."""
    noted = getattr(context.get("request"), _NOTED, None)
    if not noted:
        return SafeString("")
    symbols = format_html_join(
        "", '<symbol id="i-{}" {}>{}</symbol>', ((name, _LINES, noted[name]) for name in sorted(noted))
    )
    return format_html('<svg aria-hidden="true" hidden>{}</svg>', symbols)
