# ruff: noqa: RUF001  (lookalikes)
"""All the ways in which people may read a name whose symbols stand for letters: `Op€nport`, `()penp()rt`, `Openpor+`.

A symbol in a name may be read as a letter or be passed over, so a name has many readings. They are searched for a word
without listing them. Unicode's table of lookalikes (through `skeletons`) comes first; the tables below add symbols that
people use as letters although they do not look the same, which is why Unicode does not list them.
"""

import functools
import unicodedata

from oidc.names.skeletons import NEVER_DRAWN, skeletons

# Currency signs, shapes, mathematical signs and digits, each under the letters that they replace.
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
# Any other symbol that touches a letter may stand for one letter, in one of so many letters of a long word.
_ONE_IN, _LONG_WORD = 4, 6
_ANY_LETTER = None


class Readings:
    """The readings of one name, searched for words; words are skeletons."""

    def __init__(self, name: str) -> None:
        drawn = unicodedata.normalize("NFKD", NEVER_DRAWN.sub("", name))
        self.text: str = NEVER_DRAWN.sub("", drawn)
        # From each position, where a reading of what stands there goes on, and the letters that it gives.
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
    """Return what a character may be read as; "" if it may be passed over."""
    found = skeletons(character) | _LETTERS_OF.get(character, set())
    if _is_symbol(character) and _WORDS_FOR_O & set(unicodedata.name(character, "").split()):
        found = found | {"o"}
    return frozenset(found)


def _is_symbol(character: str) -> bool:
    return unicodedata.category(character)[0] == "S" or character in "*#%&"
