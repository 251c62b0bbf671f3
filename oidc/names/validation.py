"""Validation of names: no impersonation of the service, no invisible characters, no mixed scripts.

A name keeps to one script, as UTS #39 §5.2 restricts identifiers; scripts are properties of characters, from `regex`.
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
_BLANK = "\u2800"  # a sign that looks like nothing, though it counts as drawn
# UAX #31, table 5: the scripts of languages that many people write today.
_RECOMMENDED = (
    "Arab", "Armn", "Beng", "Bopo", "Cyrl", "Deva", "Ethi", "Geor", "Grek", "Gujr", "Guru", "Hang", "Hani", "Hebr",
    "Hira", "Kana", "Khmr", "Knda", "Laoo", "Latn", "Mlym", "Mymr", "Orya", "Sinh", "Taml", "Telu", "Thaa", "Thai",
    "Tibt",
)  # fmt: skip
# UTS #39 §5.2, "highly restrictive": what is written together in Japanese, Chinese and Korean.
_TOGETHER = (("Latn", "Hani", "Hira", "Kana"), ("Latn", "Hani", "Bopo"), ("Latn", "Hani", "Hang"))


def _written_in(scripts: Iterable[str]) -> "regex.Pattern[str]":
    """Return a pattern for names in these scripts, with the characters that all scripts share."""
    classes = "".join(rf"\p{{Script_Extensions={script}}}" for script in ("Zyyy", "Zinh", *scripts))
    return regex.compile(f"[{classes}]*")


_ANY_RECOMMENDED = _written_in(_RECOMMENDED)
_ALLOWED = [_written_in(scripts) for scripts in (*_TOGETHER, *((script,) for script in _RECOMMENDED))]
_TILE_CATEGORIES = ("Lu", "Ll", "Lt", "Lo", "Nd")
# How phones write a heart: the sign, and that it is to be drawn in colour.
_COLOURED = regex.compile(r"(?V1)[\p{Emoji}--\p{ASCII}]\uFE0F")


def validate_name(name: str) -> None:
    """Check the name of an app or project (docs/console.md#names).

    Raises ValidationError with a message for the person who typed it.
    """
    if not name.strip() or len(name) > MAX_LENGTH:
        raise ValidationError(f"A name has 1 to {MAX_LENGTH} characters.")
    if any(unicodedata.category(character) in ("Cc", "Cs", "Co", "Zl", "Zp") for character in name):
        raise ValidationError("A name can't contain control characters.")
    if not _shows_something(name):
        raise ValidationError("A name needs visible characters.")
    readings = Readings(name)
    if _contains_service_name(name, readings):
        raise ValidationError(f"A name can't contain “{settings.SERVICE_NAME}”, or anything that looks like it.")
    if hidden := _hidden(name):
        raise ValidationError(f"A name can't contain invisible characters; remove U+{ord(hidden):04X}.")
    _check_scripts(name)
    check_claims(name, readings)


def _contains_service_name(name: str, readings: Readings) -> bool:
    own = {reading for reading in skeletons(settings.SERVICE_NAME) if reading}
    return any(reserved in reading for reserved in own for reading in skeletons(name)) or any(
        readings.contains(reserved) for reserved in own
    )


def _hidden(name: str) -> str:
    """Return the first invisible (default-ignorable) character of `name`, "" if there is none.

    The two joiners change how letters are drawn in some scripts, and may stand where they do (RFC 5892, A.1 and A.2).
    """
    plain = _COLOURED.sub("x", name)
    for found in NEVER_DRAWN.finditer(plain):
        if not (found[0] in "\u200c\u200d" and _joins(plain, found.start())):
            return str(found[0])
    return ""


def _joins(name: str, position: int) -> bool:
    try:
        return valid_contextj(name, position)
    except ValueError:  # a character that it has no data for
        return False


def _check_scripts(name: str) -> None:
    if not _ANY_RECOMMENDED.fullmatch(name):
        other = next(character for character in name if not _ANY_RECOMMENDED.fullmatch(character))
        raise ValidationError(f"A name can't contain “{other}”: names are not written in its script.")
    if not any(pattern.fullmatch(name) for pattern in _ALLOWED):
        raise ValidationError("A name keeps to one script; Japanese, Chinese and Korean may contain Latin letters.")


def _shows_something(name: str) -> bool:
    drawn = NEVER_DRAWN.sub("", unicodedata.normalize("NFKD", NEVER_DRAWN.sub("", name)))
    return any(unicodedata.category(letter)[0] in "LNPS" and letter not in _BLANK for letter in drawn)


def tile_letter(name: str) -> str:
    """Return the first letter or digit of a name in upper case, for the tile in place of a logo; "A" if it has none.

    Symbols are never shown there: a check mark in a tile looks like a badge. Letters that are drawn as pictures, such
    as the information sign, are shown as plain ones.
    """
    drawn = unicodedata.normalize("NFC", name)
    kept = (character for character in drawn if unicodedata.category(character) in _TILE_CATEGORIES)
    plain = (unicodedata.normalize("NFKC", letter) for letter in kept if _ANY_RECOMMENDED.fullmatch(letter))
    return next((letter.upper()[:1] for letter in plain), "A")
