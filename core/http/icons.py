"""`{% icon "name" %}`: an icon of the package lucide, drawn from one sprite at the end of the page.

This is a built-in template tag. It writes a reference and stores the name on the request; `{% icon_sprite %}`, at the
end of templates/base.html, draws each used icon once. In templates without a request (mails, separate forms), the tag
writes the complete drawing instead.
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
