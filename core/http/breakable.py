"""`{{ url|breakable }}`, a built-in template filter: lets a URL wrap after its slashes."""

import re

from django.template import Library
from django.utils.html import conditional_escape
from django.utils.safestring import SafeString, mark_safe

register = Library()

# A position after a slash, but not between the two of "https://".
_AFTER_SLASH = re.compile(r"(?<=/)(?=[^/])")


@register.filter
def breakable(address: str) -> SafeString:
    """Return a URL with a possible line break after each slash; copied text contains only the URL."""
    escaped = conditional_escape(address)
    return mark_safe(_AFTER_SLASH.sub("<wbr>", escaped))  # noqa: S308 (escaped before)
