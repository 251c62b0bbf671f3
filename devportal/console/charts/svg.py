"""Elements of SVG, built by name and escaped by the serializer."""

from typing import Any
from xml.etree.ElementTree import Element, SubElement, tostring

from django.utils.safestring import SafeString


def element(parent: Element | None, tag: str, text: str = "", **attributes: Any) -> Element:
    """Return a new element; `class_` and underscores stand for what Python's names can't say."""
    named = {_attribute(name): str(value) for name, value in attributes.items()}
    made = Element(tag, named) if parent is None else SubElement(parent, tag, named)
    made.text = text or None
    return made


def _attribute(name: str) -> str:
    # SVG has names of both kinds: viewBox, patternUnits as they are, text-anchor and aria-labelledby with a hyphen.
    return name.rstrip("_").replace("_", "-")


def format_number(value: float) -> str:
    """Return a measure with as many digits as can be seen."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def markup(svg: Element) -> SafeString:
    """Return an element as HTML: escaped by the serializer, whatever its texts hold."""
    return SafeString(tostring(svg, encoding="unicode"))
