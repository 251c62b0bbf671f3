"""Skeletons of names (UTS #39 §4), and readings of symbols that stand for letters.

Skeletons ignore case, spacing, punctuation, compatibility forms, marks, strokes, frames around letters, invisible
characters, and the script of lookalikes. The table of lookalikes is from Unicode's security mechanisms, by way of
`confusable-homoglyphs`. Which characters are invisible is a Unicode property, from `regex`.

Clients store the skeleton of their name, so a change here needs a migration that computes the stored skeletons again.
"""

import functools
import re
import unicodedata

import regex
from confusable_homoglyphs import confusables

# ruff: noqa: RUF001  (lookalikes)


# Currency signs, shapes, mathematical signs and digits, by the letter that they replace.
_SYMBOLS = {
    "a": "@4∆△▲⍺∀₳", "b": "8ßþÞ฿₿", "c": "¢€₵©([{<⊂☾☽₡", "d": "₫∂)", "e": "€3£∈∊∃∑&₤", "f": "ƒ₣", "g": "69&₲",
    "h": "#", "i": "1!|¡∣⏐:", "k": "₭", "l": "1!|£₤∣⏐", "n": "∩₦∏⋂",
    "o": "0°º•●○◯⊙⊚⊛⊕⊖⊗⊘⦿☉☺☻©®@¤*∅⌀∘ʘ◎◉🔘🌐🌀🍩⚽🏀🌕🌑🌝",
    "p": "þÞƿǷ₱₽℗¶9", "q": "9", "r": "®₹", "s": "$5§₴", "t": "+7†‡✝✞✟✚➕⊤╋┼♰♱☦✛✜₮₸", "u": "∪⋃µ", "v": "√✓∨",
    "w": "₩", "x": "×✕✖✗✘❌╳*⨯", "y": "¥", "z": "2",
}  # fmt: skip
_SEQUENCES = {
    "()": "o", "[]": "o", "{}": "o", "<>": "o", "|)": "d", "|3": "b", "|>": "p", "|°": "p", "|-|": "h", "|\\|": "n",
    "|\\/|": "rn", "/\\/\\": "rn", "|v|": "rn", "|<": "k", "/\\": "a", "\\/": "v", "\\/\\/": "w", "vv": "w", "-|-": "t",
    "><": "x", "|_|": "u", "|2": "r", "|=": "f", "|_": "l",
}  # fmt: skip
_LETTERS_OF: dict[str, set[str]] = {}
for _letter, _symbols in _SYMBOLS.items():
    for _symbol in _symbols:
        _LETTERS_OF.setdefault(_symbol, set()).add(_letter)
_WORDS_FOR_O = frozenset({"CIRCLE", "CIRCLED", "RING"})
# Any other symbol next to a letter may stand for any letter (a wildcard), but only one in _ONE_IN letters of a word
# with at least _LONG_WORD letters.
_ONE_IN, _LONG_WORD = 4, 6
_ANY_LETTER = None


class Readings:
    """All readings of one name, which can be searched for words. Words are skeletons."""

    def __init__(self, name: str) -> None:
        drawn = unicodedata.normalize("NFKD", NEVER_DRAWN.sub("", name))
        self.text: str = NEVER_DRAWN.sub("", drawn)
        # For each position: the position after the character or sequence, and the letters that it may be read as.
        self._steps = [self._steps_at(position) for position in range(len(self.text))]

    def _steps_at(self, position: int) -> set[tuple[int, str | None]]:
        character, following = self.text[position], position + 1
        steps: set[tuple[int, str | None]] = {(following, reading) for reading in _readings_of(character)}
        for sequence, letters in _SEQUENCES.items():
            if self.text.startswith(sequence, position):
                steps.add((position + len(sequence), letters))
        if _is_symbol(character) and self._touches_a_letter(position):
            steps.add((following, _ANY_LETTER))
        return steps

    def _touches_a_letter(self, position: int) -> bool:
        return any(character.isalpha() for character in self.text[max(position - 1, 0) : position + 2])

    def contains(self, word: str) -> bool:
        """Return whether some reading contains the word."""
        return any(self.ends(word, start) for start in self.starts(word))

    def starts(self, word: str) -> list[int]:
        """Return where the word may begin, by the first of its letters."""
        return [
            position
            for position, steps in enumerate(self._steps)
            if any(reading is _ANY_LETTER or (reading and word.startswith(reading)) for _, reading in steps)
        ]

    def ends(self, word: str, start: int) -> set[int]:
        """Return where the word may end if it begins at `start`."""
        wildcards = len(word) // _ONE_IN if len(word) >= _LONG_WORD else 0
        states: dict[int, set[tuple[int, int]]] = {start: {(0, 0)}}  # letters read so far, and how many by wildcards
        found = set()
        for position in range(start, len(self.text) + 1):
            here = states.pop(position, set())
            if any(read == len(word) for read, _ in here):
                found.add(position)
            if position == len(self.text) or not (here or states):
                break
            for following, reading in self._steps[position]:
                after = {_after(word, state, reading, wildcards) for state in here if state[0] < len(word)}
                states.setdefault(following, set()).update(state for state in after if state is not None)
        return found

    def is_word_start(self, position: int) -> bool:
        """Return whether no letter or digit stands right before the position."""
        return position == 0 or not self.text[position - 1].isalnum()

    def is_word_end(self, position: int) -> bool:
        """Return whether no letter or digit stands at the position."""
        return position == len(self.text) or not self.text[position].isalnum()


def _after(word: str, state: tuple[int, int], reading: str | None, wildcards: int) -> tuple[int, int] | None:
    read, guessed = state
    if reading is _ANY_LETTER:
        return (read + 1, guessed + 1) if guessed < wildcards else None
    return (read + len(reading), guessed) if word.startswith(reading, read) else None


@functools.lru_cache(maxsize=4096)
def _readings_of(character: str) -> frozenset[str]:
    """Return the letters that a character may be read as; "" if it may be skipped."""
    found = skeletons(character) | _LETTERS_OF.get(character, set())
    if _is_symbol(character) and _WORDS_FOR_O & set(unicodedata.name(character, "").split()):
        found = found | {"o"}
    return frozenset(found)


def _is_symbol(character: str) -> bool:
    return unicodedata.category(character)[0] == "S" or character in "*#%&"


MAX_SKELETON_LENGTH = 200  # characters of a skeleton that are compared
NEVER_DRAWN = regex.compile(r"\p{Default_Ignorable_Code_Point}")
# Finds the letter in `LATIN SMALL LETTER O WITH STROKE`, `NEGATIVE SQUARED LATIN CAPITAL LETTER O` and the like.
_LETTER_IN_NAME = re.compile(
    r"\b(?:LATIN|SYMBOL)(?: SMALL| CAPITAL)? LETTER"
    r"(?: SMALL CAPITAL| DOTLESS| TURNED| REVERSED| OPEN| SCRIPT| SIDEWAYS| INSULAR)? ([A-Z])(?: WITH .*)?$"
)
# Lookalikes in addition to Unicode's table, which has only characters that look exactly alike.
_READ_AS = str.maketrans(dict(zip("013457" + "8@$!|", "oleast" + "basll", strict=True)) | {"m": "rn"})
# Greek and Cyrillic letters, and ideographs that people use as letters.
_ALSO_READ_AS = {
    "a": "卂", "b": "乃", "c": "匚", "e": "εєэ乇", "f": "千", "h": "н卄", "i": "工", "m": "爪", "n": "πпи几",
    "o": "口ロ〇", "p": "尸卩", "r": "я尺", "s": "丂", "t": "†‡丅丁", "u": "凵",
    "w": "山", "x": "乂", "y": "丫", "z": "乙",
}  # fmt: skip
_LATIN_OF = {character: latin for latin, characters in _ALSO_READ_AS.items() for character in characters}


def _ascii_of(text: str) -> str:
    """Return a text without marks if the rest is ASCII, otherwise ""."""
    bare = "".join(letter for letter in unicodedata.normalize("NFKD", text) if unicodedata.category(letter)[0] != "M")
    return bare if bare.isascii() else ""


@functools.lru_cache(maxsize=4096)
def _prototype(character: str) -> str:
    """Return the character's prototype (UTS #39 §4): Latin letters if it looks like any, or else a lookalike."""
    if character.isascii():
        return character
    if named := _LETTER_IN_NAME.search(unicodedata.name(character, "")):
        return named[1].lower() if " SMALL " in named.string else named[1]
    if character in _LATIN_OF:
        return _LATIN_OF[character]
    alike = [NEVER_DRAWN.sub("", each["c"]) for each in confusables.confusables_data.get(character, [])]
    if latin := next(filter(None, map(_ascii_of, alike)), ""):
        return latin
    if len(alike) != 1:  # it has no lookalike, or is the prototype of all its lookalikes
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
    # A second time, because case folding yields letters that have lookalikes.
    folded = {_letters(reading).casefold().translate(_READ_AS) for reading in readings}
    return {"".join(filter(str.isalnum, reading)) for reading in folded}


def skeleton(name: str) -> str:
    """Return one skeleton of `name`, equal for confusable names; "" if it has no letters or digits."""
    return min(skeleton.replace("i", "l") for skeleton in skeletons(name))[:MAX_SKELETON_LENGTH]
