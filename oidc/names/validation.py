"""Validation of names: no impersonation of the service, no invisible characters, no mixed scripts.

A name is restricted to one script, like identifiers in UTS #39 §5.2. The script of a character is a Unicode property,
from `regex`.
"""

import unicodedata
from collections.abc import Iterable

import regex
from django.conf import settings
from django.core.exceptions import ValidationError
from idna import valid_contextj

from oidc.names.claims import check_claims
from oidc.names.skeletons import NEVER_DRAWN, Readings, skeletons

MAX_LENGTH = 100
_BLANK = "\u2800"  # looks blank, although Unicode counts it as visible
# UAX #31, table 5: the scripts of languages that many people write today.
_RECOMMENDED = (
    "Arab", "Armn", "Beng", "Bopo", "Cyrl", "Deva", "Ethi", "Geor", "Grek", "Gujr", "Guru", "Hang", "Hani", "Hebr",
    "Hira", "Kana", "Khmr", "Knda", "Laoo", "Latn", "Mlym", "Mymr", "Orya", "Sinh", "Taml", "Telu", "Thaa", "Thai",
    "Tibt",
)  # fmt: skip
# UTS #39 §5.2, "highly restrictive": scripts that Japanese, Chinese and Korean use together.
_TOGETHER = (("Latn", "Hani", "Hira", "Kana"), ("Latn", "Hani", "Bopo"), ("Latn", "Hani", "Hang"))


def _written_in(scripts: Iterable[str]) -> "regex.Pattern[str]":
    """Return a pattern for names in these scripts, including characters that all scripts share."""
    classes = "".join(rf"\p{{Script_Extensions={script}}}" for script in ("Zyyy", "Zinh", *scripts))
    return regex.compile(f"[{classes}]*")


_ANY_RECOMMENDED = _written_in(_RECOMMENDED)
_ALLOWED = [_written_in(scripts) for scripts in (*_TOGETHER, *((script,) for script in _RECOMMENDED))]
_TILE_CATEGORIES = ("Lu", "Ll", "Lt", "Lo", "Nd")
# An emoji with a variation selector that asks for colour, as phones write a heart.
_COLOURED = regex.compile(r"(?V1)[\p{Emoji}--\p{ASCII}]\uFE0F")


def validate_name(name: str) -> None:
    """Check the name of an app or project (docs/console.md#names).

    Raises ValidationError with a message for the person who typed it.
    """
    if not name.strip() or len(name) > MAX_LENGTH:
        raise ValidationError(f"Enter a name of 1 to {MAX_LENGTH} characters.")
    if any(unicodedata.category(character) in ("Cc", "Cs", "Co", "Zl", "Zp") for character in name):
        raise ValidationError("A name can't contain control characters.")
    if not _shows_something(name):
        raise ValidationError("A name must contain visible characters.")
    readings = Readings(name)
    if _contains_service_name(name, readings):
        raise ValidationError(f"A name can't contain “{settings.SERVICE_NAME}”, or anything that looks like it.")
    if hidden := _hidden(name):
        raise ValidationError(f"A name can't contain invisible characters. Remove U+{ord(hidden):04X}.")
    _check_scripts(name)
    check_claims(name, readings)


def _contains_service_name(name: str, readings: Readings) -> bool:
    own = {reading for reading in skeletons(settings.SERVICE_NAME) if reading}
    return any(reserved in reading for reserved in own for reading in skeletons(name)) or any(
        readings.contains(reserved) for reserved in own
    )


def _hidden(name: str) -> str:
    """Return the first invisible (default-ignorable) character of `name`, "" if there is none.

    The two joiners change how some scripts are drawn, and are allowed where they do (RFC 5892, A.1 and A.2).
    """
    plain = _COLOURED.sub("x", name)
    for found in NEVER_DRAWN.finditer(plain):
        if not (found[0] in "\u200c\u200d" and _joins(plain, found.start())):
            return str(found[0])
    return ""


def _joins(name: str, position: int) -> bool:
    try:
        return valid_contextj(name, position)
    except ValueError:  # idna has no data for a character
        return False


def _check_scripts(name: str) -> None:
    if not _ANY_RECOMMENDED.fullmatch(name):
        other = next(character for character in name if not _ANY_RECOMMENDED.fullmatch(character))
        raise ValidationError(f"A name can't contain “{other}”: its script is not supported.")
    if not any(pattern.fullmatch(name) for pattern in _ALLOWED):
        raise ValidationError("Use one script. Japanese, Chinese and Korean names may also contain Latin letters.")


def _shows_something(name: str) -> bool:
    drawn = NEVER_DRAWN.sub("", unicodedata.normalize("NFKD", NEVER_DRAWN.sub("", name)))
    return any(unicodedata.category(letter)[0] in "LNPS" and letter not in _BLANK for letter in drawn)


def tile_letter(name: str) -> str:
    """Return the first letter or digit of a name in uppercase, for the tile in place of a logo; "A" if it has none.

    Symbols are never shown there, because a check mark in a tile looks like a badge. Letters drawn as pictures, such as
    the information sign, are shown as plain letters.
    """
    drawn = unicodedata.normalize("NFC", name)
    kept = (character for character in drawn if unicodedata.category(character) in _TILE_CATEGORIES)
    plain = (unicodedata.normalize("NFKC", letter) for letter in kept if _ANY_RECOMMENDED.fullmatch(letter))
    return next((letter.upper()[:1] for letter in plain), "A")
