"""Validation of app and project names: no impersonation of the service, no invisible characters, no mixed scripts.

Both names are reduced to a skeleton (UTS #39 §4), in which everything that only looks different is gone: case, spacing,
punctuation, compatibility forms, marks, strokes, frames around letters, what is not drawn at all, and lookalikes of
other scripts. The table of lookalikes is that of Unicode's security mechanisms, from `confusable-homoglyphs`; scripts
and what is not drawn are properties of characters, from `regex`. A name itself keeps to one script, as UTS #39 §5.2
restricts identifiers: docs/console.md#names.
"""

import functools
import re
import unicodedata
from collections.abc import Iterable

import regex
from confusable_homoglyphs import confusables
from django.conf import settings
from django.core.exceptions import ValidationError
from idna import valid_contextj

MAX_LENGTH = 100
MAX_SKELETON_LENGTH = 200  # characters of a skeleton that are compared
_NEVER_DRAWN = regex.compile(r"\p{Default_Ignorable_Code_Point}")
_BLANK = "\u2800"  # a sign that looks like nothing, though it counts as drawn
# In `LATIN SMALL LETTER O WITH STROKE`, `NEGATIVE SQUARED LATIN CAPITAL LETTER O` and the like: the letter.
_LETTER_IN_NAME = re.compile(
    r"\b(?:LATIN|SYMBOL)(?: SMALL| CAPITAL)? LETTER"
    r"(?: SMALL CAPITAL| DOTLESS| TURNED| REVERSED| OPEN| SCRIPT| SIDEWAYS| INSULAR)? ([A-Z])(?: WITH .*)?$"
)
# Lookalikes in addition to Unicode's table, which has only characters that look exactly alike.
_READ_AS = str.maketrans(dict(zip("013457" + "8@$!|", "oleast" + "basll", strict=True)) | {"m": "rn"})
# Greek, Cyrillic, and the ideographs of which people make letters.
_ALSO_READ_AS = {
    "a": "卂", "b": "乃", "c": "匚", "e": "εєэ乇", "f": "千", "h": "н卄", "i": "工", "m": "爪", "n": "πпи几",
    "o": "口ロ〇", "p": "尸卩", "r": "я尺", "s": "丂", "t": "†‡丅丁", "u": "凵",
    "w": "山", "x": "乂", "y": "丫", "z": "乙",
}  # fmt: skip
_LATIN_OF = {character: latin for latin, characters in _ALSO_READ_AS.items() for character in characters}

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
# How phones write a heart: the sign, and that it is to be drawn in colour.
_COLOURED = regex.compile(r"(?V1)[\p{Emoji}--\p{ASCII}]\uFE0F")


def _ascii_of(text: str) -> str:
    """Return a text without marks if that leaves ASCII, else ""."""
    bare = "".join(letter for letter in unicodedata.normalize("NFKD", text) if unicodedata.category(letter)[0] != "M")
    return bare if bare.isascii() else ""


@functools.lru_cache(maxsize=4096)
def _prototype(character: str) -> str:
    """Return the character's prototype (UTS #39 §4): Latin letters if it looks like any, else one of its lookalikes."""
    if character.isascii():
        return character
    if named := _LETTER_IN_NAME.search(unicodedata.name(character, "")):
        return named[1].lower() if " SMALL " in named.string else named[1]
    if character in _LATIN_OF:
        return _LATIN_OF[character]
    alike = [_NEVER_DRAWN.sub("", each["c"]) for each in confusables.confusables_data.get(character, [])]
    if latin := next(filter(None, map(_ascii_of, alike)), ""):
        return latin
    if len(alike) != 1:  # it looks like nothing else, or is the one to which all the others lead
        return character
    (other,) = alike
    if len(confusables.confusables_data.get(other, [])) == 1 and len(other) == 1:  # a pair: either may stand for both
        other = min(other, character, key=lambda each: (not each.isalnum(), each))
    return other if other == character else "".join(map(_prototype, other))


def _letters(name: str) -> str:
    decomposed = unicodedata.normalize("NFKD", _NEVER_DRAWN.sub("", name))
    drawn = _NEVER_DRAWN.sub("", decomposed)
    kept = (character for character in drawn if unicodedata.category(character)[0] in "LNPS")
    return "".join(map(_prototype, kept))


def skeletons(name: str) -> set[str]:
    """Return the skeletons of `name`: two, since a capital I may be read as an i or an l."""
    letters = _letters(name)
    # A capital and its small letter may look like letters of two kinds.
    readings = {letters.casefold(), letters.replace("I", "l").casefold(), _letters(name.casefold())}
    # Once more: folding makes letters that have lookalikes of their own.
    folded = {_letters(reading).casefold().translate(_READ_AS) for reading in readings}
    return {"".join(filter(str.isalnum, reading)) for reading in folded}


def skeleton(name: str) -> str:
    """Return one skeleton of `name`, equal for confusable names; "" if it has no letters or digits."""
    return min(skeleton.replace("i", "l") for skeleton in skeletons(name))[:MAX_SKELETON_LENGTH]


def validate_name(name: str) -> None:
    """Check a name: not empty, not too long, not misleading, without the service's own name.

    Raises ValidationError with a message for whoever typed it.
    """
    if not name.strip() or len(name) > MAX_LENGTH:
        raise ValidationError(f"A name has 1 to {MAX_LENGTH} characters.")
    if any(unicodedata.category(character) in ("Cc", "Cs", "Co", "Zl", "Zp") for character in name):
        raise ValidationError("A name can't contain control characters.")
    if not _shows_something(name):
        raise ValidationError("A name needs visible characters.")
    own = skeletons(settings.SERVICE_NAME)
    if any(reserved and reserved in reading for reserved in own for reading in skeletons(name)):
        raise ValidationError(f"A name can't contain “{settings.SERVICE_NAME}”, or anything that looks like it.")
    if hidden := _hidden(name):
        raise ValidationError(f"A name can't contain invisible characters; remove U+{ord(hidden):04X}.")
    _check_scripts(name)


def _hidden(name: str) -> str:
    """Return the first invisible (default-ignorable) character of `name`, "" if there is none.

    The two joiners change how letters are drawn in some scripts, and may stand where they do (RFC 5892, A.1 and A.2).
    """
    plain = _COLOURED.sub("x", name)
    for found in _NEVER_DRAWN.finditer(plain):
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
    drawn = _NEVER_DRAWN.sub("", unicodedata.normalize("NFKD", _NEVER_DRAWN.sub("", name)))
    return any(unicodedata.category(letter)[0] in "LNPS" and letter not in _BLANK for letter in drawn)
