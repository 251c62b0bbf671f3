"""What names read as: the skeleton (UTS #39 §4), in which everything that only looks different is gone.

Gone are case, spacing, punctuation, compatibility forms, marks, strokes, frames around letters, what is not drawn at
all, and lookalikes of other scripts. The table of lookalikes is that of Unicode's security mechanisms, from
`confusable-homoglyphs`; what is not drawn is a property of characters, from `regex`.

Clients store the skeleton of their name, so a change here needs a migration that reads the names again (as
oidc/migrations/0006_names_read_anew.py does). What only the checks of names need is in oidc/names/readings.py.
"""

import functools
import re
import unicodedata

import regex
from confusable_homoglyphs import confusables

MAX_SKELETON_LENGTH = 200  # characters of a skeleton that are compared
NEVER_DRAWN = regex.compile(r"\p{Default_Ignorable_Code_Point}")
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
    alike = [NEVER_DRAWN.sub("", each["c"]) for each in confusables.confusables_data.get(character, [])]
    if latin := next(filter(None, map(_ascii_of, alike)), ""):
        return latin
    if len(alike) != 1:  # it looks like nothing else, or is the one to which all the others lead
        return character
    (other,) = alike
    if len(confusables.confusables_data.get(other, [])) == 1 and len(other) == 1:  # a pair: either may stand for both
        other = min(other, character, key=lambda each: (not each.isalnum(), each))
    return other if other == character else "".join(map(_prototype, other))


def _letters(name: str) -> str:
    decomposed = unicodedata.normalize("NFKD", NEVER_DRAWN.sub("", name))
    drawn = NEVER_DRAWN.sub("", decomposed)
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
