"""Names of apps and projects: none may pass for the service's own (security rule 12).

Both names are reduced to a skeleton, in which everything that only looks different is gone: case, spacing,
punctuation, compatibility forms, small capitals, marks, format characters and lookalikes of other scripts. The table of
lookalikes is that of Unicode's security mechanisms, from `confusable-homoglyphs`.
"""

import functools
import unicodedata

from confusable_homoglyphs import confusables
from django.conf import settings
from django.core.exceptions import ValidationError

LONGEST = 100
LONGEST_READING = 200  # what is beyond tells no names apart
_SMALL_CAPITAL = "LATIN LETTER SMALL CAPITAL "
# Letters and signs that look like nothing (as NFKD leaves them).
_BLANK = "\u115f\u1160\u2800"
# Letters after one of these are read backwards, or in another order: no skeleton tells what people see.
_TURNS = "\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
# Digits and signs that people read as letters; the table has only those that look exactly alike.
_READ_AS = str.maketrans("013457" + "8@$!|", "oleast" + "basll")


@functools.lru_cache(maxsize=4096)
def _latin(character: str) -> str:
    """Return the Latin letters that a character passes for, or the character itself."""
    if character.isascii():
        return character
    if unicodedata.name(character, "").startswith(_SMALL_CAPITAL):
        return unicodedata.name(character).removeprefix(_SMALL_CAPITAL)[:1].lower()
    for lookalike in confusables.confusables_data.get(character, []):
        text: str = lookalike["c"]
        if text.isascii():
            return text
    return character


def _letters(name: str) -> str:
    decomposed = unicodedata.normalize("NFKD", name)
    kept = (character for character in decomposed if unicodedata.category(character)[0] in "LNPS")
    return "".join(map(_latin, kept))


def skeletons(name: str) -> set[str]:
    """Return what `name` reads as: a capital I may be an i or an l, so there are two readings."""
    letters = _letters(name)
    readings = {letters.casefold(), letters.replace("I", "l").casefold()}
    # Once more: folding makes letters that have lookalikes of their own.
    folded = {_letters(reading).translate(_READ_AS) for reading in readings}
    return {"".join(filter(str.isalnum, reading)) for reading in folded}


def reading(name: str) -> str:
    """Return what `name` reads as, in one text: names that people confuse have the same; "" if nothing can be read."""
    return min(skeleton.replace("i", "l") for skeleton in skeletons(name))[:LONGEST_READING]


def check_name(name: str) -> None:
    """Refuse a name that is empty, too long, or holds the service's own. Raises ValidationError for its reader."""
    if not name.strip() or len(name) > LONGEST:
        raise ValidationError(f"A name has 1 to {LONGEST} characters.")
    if any(unicodedata.category(character) in ("Cc", "Cs", "Co", "Zl", "Zp") for character in name):
        raise ValidationError("A name holds no control characters.")
    if not _shows_something(name):
        raise ValidationError("A name needs something that can be seen.")
    own = skeletons(settings.SERVICE_NAME)
    if any(reserved and reserved in reading for reserved in own for reading in skeletons(name)):
        raise ValidationError(f"A name can't contain “{settings.SERVICE_NAME}”, or anything that looks like it.")
    if any(character in _TURNS for character in name):
        raise ValidationError("A name can't turn the direction of writing.")


def _shows_something(name: str) -> bool:
    decomposed = unicodedata.normalize("NFKD", name)
    return any(unicodedata.category(letter)[0] in "LNPS" and letter not in _BLANK for letter in decomposed)
