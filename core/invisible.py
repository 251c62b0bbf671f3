"""Characters that show nothing, by Unicode's own properties: at the ends of what people type, and as whole names."""

import unicodedata

import regex
from django.core.exceptions import ValidationError

NEVER_DRAWN = regex.compile(r"\p{Default_Ignorable_Code_Point}")
BLANK = "\u2800"  # looks blank, although Unicode counts it as visible
_AT_AN_END = regex.compile(rf"\A[\s\p{{Z}}\p{{Cf}}{BLANK}\p{{Default_Ignorable_Code_Point}}]+")


def strip_invisible(text: str) -> str:
    """Return a text without white space and invisible characters at its ends."""
    return str(_AT_AN_END.sub("", _AT_AN_END.sub("", text)[::-1])[::-1])


def shows_something(text: str) -> bool:
    """Return whether a text contains a character that people can see."""
    # Each character separately: sorting many combining marks of a long text would take minutes.
    drawn = (part for letter in NEVER_DRAWN.sub("", text) for part in unicodedata.normalize("NFKD", letter))
    return any(
        unicodedata.category(part)[0] in "LNPS" and part not in BLANK and not NEVER_DRAWN.match(part) for part in drawn
    )


def validate_visible(name: str) -> None:
    """Raise ValidationError for a name that shows nothing; without a name there is nothing to check."""
    if name and not shows_something(name):
        raise ValidationError("Enter a name with visible characters.", code="invisible")
