"""`{{ address|breakable }}`, a builtin of the templates: an address that breaks after its slashes where room ends."""

import re

from django.template import Library
from django.utils.html import conditional_escape
from django.utils.safestring import SafeString, mark_safe

register = Library()

# A place after a slash, but not between the two of "https://".
_AFTER_SLASH = re.compile(r"(?<=/)(?=[^/])")


@register.filter
def breakable(address: str) -> SafeString:
    """Return an address with a place to break after each slash; what is copied from the page is the address alone."""
    escaped = conditional_escape(address)
    return mark_safe(_AFTER_SLASH.sub("<wbr>", escaped))  # noqa: S308 (escaped before)
