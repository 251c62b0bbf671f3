"""Names of apps and projects: their skeletons, and which names are rejected (docs/console.md#names)."""

import functools
import re
import unicodedata
from collections.abc import Iterable

import regex
from confusable_homoglyphs import confusables
from django.conf import settings
from django.core.exceptions import ValidationError
from idna import valid_contextj

from core.invisible import NEVER_DRAWN, shows_something

__all__ = ["MAX_LENGTH", "MAX_SKELETON_LENGTH", "skeleton", "skeletons", "tile_letter", "validate_name"]


# Skeletons ignore case, spacing, punctuation, compatibility forms, marks, strokes, frames around letters, invisible
# characters, and the script of lookalikes. The table of lookalikes is from Unicode's security mechanisms, by way of
# `confusable-homoglyphs`. Which characters are invisible is a Unicode property, from `regex`.
#
# Clients store the skeleton of their name, so a change here needs a migration that computes the stored skeletons
# again.

# ruff: noqa: RUF001  (lookalikes)


# Currency signs, shapes, mathematical signs, digits, and parts of Korean and Chinese letters, by the letter that they
# replace.
_SYMBOLS = {
    "a": "@4∆△▲⍺∀₳", "b": "8ßþÞ฿₿", "c": "¢€₵©([{<⊂☾☽₡", "d": "₫∂)", "e": "\u1110€3£∈∊∃∑&₤", "f": "ƒ₣", "g": "69&₲",
    "h": "#", "i": "1!|¡∣⏐:", "k": "₭", "l": "1!|£₤∣⏐", "n": "ㄇ∩₦∏⋂",
    "o": "\u110b\u11060°º•●○◯⊙⊚⊛⊕⊖⊗⊘⦿☉☺☻©®@¤*∅⌀∘ʘ◎◉🔘🌐🌀🍩⚽🏀🌕🌑🌝",
    "p": "ㄗㄕþÞƿǷ₱₽℗¶9", "q": "9", "r": "®₹", "s": "$5§₴", "t": "\u116e\u1161ㄒ+7†‡✝✞✟✚➕⊤╋┼♰♱☦✛✜₮₸",
    "u": "∪⋃µ", "v": "√✓∨", "w": "₩", "x": "×✕✖✗✘❌╳*⨯", "y": "¥", "z": "2",
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
        self._letters = {letter for steps in self._steps for _, reading in steps for letter in reading or ""}

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
        if sum(letter not in self._letters for letter in word) > wildcards:
            return set()  # no reading has the letters, and most words end here
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
# Finds the letter in `LATIN SMALL LETTER O WITH STROKE`, `NEGATIVE SQUARED LATIN CAPITAL LETTER O`, `LATIN LETTER SMALL
# CAPITAL INVERTED R` and the like. ß is two letters.
_LETTER_IN_NAME = re.compile(
    r"\b(?:LATIN|SYMBOL|MODIFIER)(?: SMALL| CAPITAL| EPIGRAPHIC)? LETTER(?! SHARP)(?: [A-Z-]{2,})* ([A-Z])(?: .*)?$"
)
# Lookalikes in addition to Unicode's table, which has only characters that look exactly alike.
_READ_AS = str.maketrans(dict(zip("013457" + "8@$!|", "oleast" + "basll", strict=True)) | {"m": "rn"})
# Greek and Cyrillic letters, and ideographs that people use as letters.
_ALSO_READ_AS = {
    "a": "卂", "b": "乃", "c": "匚", "e": "εєэᶕ乇", "f": "千", "h": "н卄", "i": "工", "m": "爪", "n": "πпи几ŋŊꬼ𝼇𝼔",
    "o": "口ロ〇囗ɸ", "p": "尸卩", "r": "я尺", "s": "丂", "t": "†‡丅丁", "u": "凵",
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


# People see the name of an app next to the service's own name on the consent page and in emails. The words are
# English, because the service's pages are.

# Words for the result of a review. "Verified" claims a review anywhere in a name, "Official" at its end. All of them
# claim one before "by", or if set apart at the end of a name, as in "Orbit (approved)".
_RESULTS = (
    "approved", "audited", "authorised", "authorized", "certified", "checked", "endorsed", "official", "recommended",
    "reviewed", "trusted", "verified", "vetted",
)  # fmt: skip
_ANYWHERE = (
    "verified",
    *(f"{result}by" for result in _RESULTS if result != "official"),
    *(f"{before}{result}" for before in ("been", "officially", "was") for result in _RESULTS if result != "official"),
)
_AT_THE_END = ("official",)
# The service could have written a name that consists only of these words, with at least one from _SPEAKING: "Support",
# "Account Security", "Sign in to your account".
_SPEAKING = (
    "2fa", "accept", "account", "accounts", "admin", "administration", "administrator", "agree", "allow", "appreview",
    "authentication", "authenticator", "authorization", "authorize", "cancel", "confirm", "consent", "continue",
    "decline", "deny", "fraud", "help", "login", "logon", "logout", "mfa", "moderator", "passcode", "passkey",
    "passkeys", "password", "passwords", "reviewer", "reviewers", "reviewteam", "security", "signin", "signon",
    "signout", "signup", "sso", "staff", "support", "trustandsafety", "trustsafety", "verification", "verify",
    *_RESULTS,
)  # fmt: skip
_BESIDE = (
    "2", "a", "access", "agent", "alert", "alerts", "an", "and", "another", "app", "application", "apps", "at",
    "billing", "by", "care", "center", "centre", "change", "chat", "check", "choose", "click", "client", "clients",
    "code", "codes", "confirmation", "contact", "customer", "customers", "delete", "department", "desk", "email",
    "factor", "first", "for", "from", "here", "id", "identity", "in", "info", "is", "legal", "live", "mail", "member",
    "members", "message", "messages", "multi", "my", "new", "no", "not", "notice", "notices", "notification",
    "notifications", "now", "of", "on", "online", "our", "page", "payment", "payments", "portal", "press", "prevention",
    "privacy", "profile", "recover", "recovery", "remove", "required", "reset", "restore", "review", "reviews", "safe",
    "safety", "secure", "service", "services", "session", "sessions", "settings", "site", "step", "steps", "system",
    "tap", "team", "teams", "tech", "technical", "the", "this", "to", "two", "update", "updates", "us", "use", "user",
    "users", "web", "with", "yes", "your",
)  # fmt: skip
# Beginnings of sentences that the service would write to a person.
_BEGINNINGS = (
    "allow access", "continue to", "continue with", "sign in to", "sign in with", "log in to", "log in with",
    "login to", "login with", "your account", "your password", "verify your", "confirm your account",
    "confirm your identity", "confirm your email", "secure your account", "unlock your account", "2-step verification",
    "two-step verification", "security alert", "security notice", "account alert",
)  # fmt: skip
_SHORT = 3  # letters: words this short count only if they stand alone, otherwise "Supporta" would be "support a"
# ✓ ✔ ☑ ✅ 🗸 and others, and a square root sign that is not followed by something to take the root of; symbols that
# people read as a promise, such as 🛡 🔒 ⭐ 🏅 👍 🆗. Two of the stars are religious.
_VOUCHING = frozenset(
    {"BADGE", "CHECK", "HUNDRED", "LOCK", "MEDAL", "OK", "ROSETTE", "SHIELD", "STAR", "THUMBS", "TROPHY"}
)
_NOT_VOUCHING = "☪✡👎"
_ROOT = re.compile(r"√(?!\s*[\w(])|√(?=\s+[^\W\d])")


def check_claims(name: str, readings: Readings) -> None:
    """Raise ValidationError for a name that claims a review, or that looks like a message of the service itself."""
    if mark := _check_mark(name):
        raise ValidationError(
            f"A name can't contain “{mark}”: people would read it as the result of a review. Remove it."
        )
    if claim := _claim_anywhere(readings):
        raise ValidationError(
            f"A name can't contain “{claim}”: people would read it as the result of a review. Remove it."
        )
    if claim := _claim_at_the_end(readings):
        raise ValidationError(
            f"A name can't end with “{claim}”: people would read it as the result of a review. Remove it."
        )
    service = settings.SERVICE_NAME
    if beginning := _beginning(readings):
        raise ValidationError(
            f"A name can't begin with “{beginning}”: it looks like a message from {service} itself."
            " Begin with the name of your product."
        )
    if _is_the_service_speaking(readings):
        raise ValidationError(
            f"“{name.strip()}” looks as if it came from {service} itself. Add the name of your product, as in"
            " “Orbit Support”."
        )


def _check_mark(name: str) -> str:
    """Return the first check mark, or other symbol that vouches, of a name; "" if it has none."""
    for character in name:
        words = _VOUCHING & set(unicodedata.name(character, "").split())
        if words == {"CHECK"} or (words and _is_symbol(character) and character not in _NOT_VOUCHING):
            return character
    return "√" if _ROOT.search(name) else ""


@functools.cache
def _targets(word: str) -> frozenset[str]:
    """Return the skeletons of a word."""
    return frozenset(skeletons(word)) - {""}


def _word_ends(readings: Readings, word: str, start: int) -> set[int]:
    """Return where a whole word that begins at `start` may end. Empty if it is part of a longer word."""
    ends = {end for target in _targets(word) for end in readings.ends(target, start)}
    return set(filter(readings.is_word_end, ends)) if readings.is_word_start(start) else set()


def contains_word(readings: Readings, word: str) -> bool:
    """Return whether a name has the word, in any disguise and not as part of a longer one."""
    starts = {start for target in _targets(word) for start in readings.starts(target)}
    return any(_word_ends(readings, word, start) for start in starts)


def _claim_anywhere(readings: Readings) -> str:
    """Return the first part of a name that claims a review anywhere, "" if there is none."""
    for word in _ANYWHERE:
        for start in readings.starts(word):
            if ends := _word_ends(readings, word, start):
                return readings.text[start : min(ends)]
    return ""


def _claim_at_the_end(readings: Readings) -> str:
    """Return the end of a name if it claims a review, otherwise ""."""
    for word in _RESULTS:
        for start in readings.starts(word):
            last = {end for end in _word_ends(readings, word, start) if _is_nothing(readings.text[end:])}
            if last and (word in _AT_THE_END or _is_set_apart(readings.text[:start])):
                return readings.text[start : min(last)]
    return ""


def _is_nothing(text: str) -> bool:
    return not any(map(str.isalnum, text))


def _is_set_apart(before: str) -> bool:
    """Return whether a word after this text is set apart from it, by a bracket, a dash, a colon or the like."""
    kept = before.rstrip()
    if not kept or kept[-1].isalnum() or unicodedata.category(kept[-1])[0] not in "PS":
        return False
    return kept != before or kept[-1] not in "-’'./&"  # "FDA-approved" is one word


def _beginning(readings: Readings) -> str:
    """Return the beginning of a name that only the service would write, "" if it has none."""
    start = next((place for place, character in enumerate(readings.text) if character.isalnum()), 0)
    for words in _BEGINNINGS:
        if ends := _word_ends(readings, words.replace(" ", ""), start):
            return readings.text[start : min(ends)]
    return ""


def _is_the_service_speaking(readings: Readings) -> bool:
    """Return whether the name consists only of words in _SPEAKING and _BESIDE, with at least one from _SPEAKING."""
    length = len(readings.text)
    reached = {(0, False)}
    waiting = [(0, False)]
    while waiting:
        start, speaks = waiting.pop()
        if speaks and _is_nothing(readings.text[start:]):
            return True
        for words, counts in ((_SPEAKING, True), (_BESIDE, False)):
            for word in words:
                for end in _part_ends(readings, word, start):
                    state = (end, speaks or counts)
                    if end <= length and state not in reached:
                        reached.add(state)
                        waiting.append(state)
    return False


def _part_ends(readings: Readings, word: str, start: int) -> set[int]:
    """Return where a word that begins at `start` may end. Long words may be joined, as in "AccountSecurity"."""
    ends = {end for target in _targets(word) for end in readings.ends(target, start)}
    if len(word) > _SHORT:
        return ends
    first = next((place for place in range(start, len(readings.text)) if readings.text[place].isalnum()), start)
    return set(filter(readings.is_word_end, ends)) if readings.is_word_start(first) else set()


# A name is restricted to one script, like identifiers in UTS #39 §5.2. The script of a character is a Unicode
# property, from `regex`.

MAX_LENGTH = 100
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
    if unknown := next(filter(_is_unknown, name), ""):
        raise ValidationError(f"A name can't contain the unknown character U+{ord(unknown):04X}.")
    if not shows_something(name):
        raise ValidationError("A name must contain visible characters.")
    readings = Readings(name)
    if _contains_service_name(name, readings):
        raise ValidationError(f"A name can't contain “{settings.SERVICE_NAME}”, or anything that looks like it.")
    if hidden := _hidden(name):
        raise ValidationError(f"A name can't contain invisible characters. Remove U+{ord(hidden):04X}.")
    _check_scripts(name)
    check_claims(name, readings)


def _is_unknown(character: str) -> bool:
    """Return whether Python's tables don't have the character yet, so that nothing is known about its shape."""
    return unicodedata.category(character) == "Cn" and not NEVER_DRAWN.match(character)


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


def tile_letter(name: str) -> str:
    """Return the first letter or digit of a name in uppercase, for the tile in place of a logo; "A" if it has none.

    Symbols are never shown there, because a check mark in a tile looks like a badge. Letters drawn as pictures, such as
    the information sign, are shown as plain letters.
    """
    drawn = unicodedata.normalize("NFC", name)
    kept = (character for character in drawn if unicodedata.category(character) in _TILE_CATEGORIES)
    plain = (unicodedata.normalize("NFKC", letter) for letter in kept if _ANY_RECOMMENDED.fullmatch(letter))
    return next((letter.upper()[:1] for letter in plain), "A")
