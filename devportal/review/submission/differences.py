"""Differences between two snapshots for reviewers: line by line, and long texts word by word."""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Any, Literal

import regex

from core.names import skeleton
from devportal.review.models import AppReview, ReviewRevision
from devportal.review.rules.snapshots import LABELS, Snapshot
from oidc.models import Client

# A text of at least this many words is compared word by word. With more than MAX_WORDS on either side it is compared as
# a whole, because the time grows with the square of the number of words.
MIN_WORDS = 5
MAX_WORDS = 800
_WORD = re.compile(r"\s*\S+")
# Characters that are invisible or change the direction of a line. They are shown by their codes, because they can make
# a URL or a name look like another one, or hide a text. Default_Ignorable_Code_Point is Unicode's property; it includes
# the direction marks. A variation selector after an emoji only chooses its picture.
_UNSEEN = regex.compile(
    r"(?!\ufe0f)\p{Default_Ignorable_Code_Point}|(?<!\p{Extended_Pictographic})\ufe0f|[\u2028\u2029\u2800\ufff9-\ufffb]"
)

# Words with a letter of another script, and the end of the Latin blocks.
_WORD_OF_OTHERS = re.compile(r"\S*[^\x00-\u024f\s]\S*")
_OTHER_SCRIPTS = "\u0250"
# Cyrillic and Greek letters that look like Latin ones. Many words contain some, but few contain only these.
_HOMOGLYPHS = frozenset("асеорхуіјѕԁһӏԛԝѵАВЕКМНОРСТХІЈЅԌοΑΒΕΖΗΙΚΜΝΟΡΤΥΧ")  # noqa: RUF001  (lookalikes)

Kind = Literal["same", "gone", "new"]
# Also compared, if a snapshot has it: where in the app each scope is used.
PLACES = "places"


@dataclass(frozen=True)
class Part:
    """A piece of a text, or a line, that is unchanged, removed or added."""

    kind: Kind
    text: str


@dataclass(frozen=True)
class FieldChange:
    """A field that differs: the lines of both sides, or `words` for a text that is compared word by word."""

    name: str
    label: str
    before: list[Part] = field(default_factory=list)
    after: list[Part] = field(default_factory=list)
    words: list[Part] = field(default_factory=list)


def reveal(text: str) -> str:
    """Return the text with misleading characters replaced or followed by their codes, such as [U+202E].

    Invisible and direction-changing characters are replaced. Letters of other scripts that look like Latin ones are
    followed by their codes in words that mix them with Latin letters, or that have no other letters.
    """
    shown = _WORD_OF_OTHERS.sub(lambda word: _marked(word[0]), text)
    named: str = _UNSEEN.sub(lambda found: _code(found[0]), shown)
    return named


def _code(character: str) -> str:
    return f"[U+{ord(character):04X}]"


def _marked(word: str) -> str:
    """Return a word with a code after each letter that only looks like a Latin one, if that may mislead."""
    letters = [character for character in word if character.isalnum() or _looks_latin(character)]
    alike = {character for character in letters if _looks_latin(character)}
    is_mixed = any(character.isascii() for character in letters)
    is_disguise = len(letters) > 2 and _HOMOGLYPHS.issuperset(letters)
    if not alike or not (is_mixed or is_disguise):
        return word
    return "".join(f"{character}{_code(character)}" if character in alike else character for character in word)


@lru_cache(maxsize=4096)
def _looks_latin(character: str) -> bool:
    """Return whether a letter or digit of another script reads as a Latin one. Letters with diacritics are Latin."""
    if character.isascii() or unicodedata.normalize("NFD", character)[0].isascii() or character < _OTHER_SCRIPTS:
        return False
    reading = skeleton(character)
    return reading.isascii() and reading.isalnum()


def kept_revisions(review: AppReview) -> dict[int, ReviewRevision]:
    """Return the stored ones of a review's last two submissions, by number; in one statement."""
    rows = ReviewRevision.objects.filter(review=review, number__in=[review.revision, review.revision - 1])
    return {row.number: row for row in rows}


def field_changes(before: Snapshot, after: Snapshot) -> list[FieldChange]:
    """Return the fields in which two snapshots differ, in the order of the form. {} is an empty snapshot."""
    found = []
    for name, label in LABELS.items():
        was, now = before.get(name), after.get(name)
        if name == "scopes":
            found += _of_scopes(before, after)
        elif name != PLACES and (was or None) != (now or None):
            found.append(change_of(name, label, was, now))
    return found


def _of_scopes(before: Snapshot, after: Snapshot) -> list[FieldChange]:
    """Return the changes of the requested scopes, their justifications, and where they are used."""
    found = []
    was, now = before.get("scopes") or {}, after.get("scopes") or {}
    if set(was) != set(now):
        found.append(change_of("scopes", "Scopes", list(was), list(now)))
    for name, label in (("scopes", "Why {}"), (PLACES, "Where {} is used")):
        was, now = before.get(name) or {}, after.get(name) or {}
        found += [
            change_of(name, label.format(scope), was.get(scope), now.get(scope))
            for scope in dict.fromkeys((*was, *now))
            if was.get(scope) != now.get(scope)
        ]
    return found


def change_of(name: str, label: str, was: Any, now: Any) -> FieldChange:
    """Return the change of one field, value by value or word by word."""
    if name == "type":
        was, now = type_label(was), type_label(now)
    elif isinstance(was, str) and isinstance(now, str) and _are_texts(was, now):
        return FieldChange(name, label, words=word_parts(was, now))
    old, new = lines_of(was), lines_of(now)
    # A single value is shown as a whole on both sides, without unchanged parts.
    many = isinstance(was, list) or isinstance(now, list)
    before = [Part("gone" if many and line not in new else "same", reveal(line)) for line in old]
    after = [Part("new" if many and old and line not in old else "same", reveal(line)) for line in new]
    return FieldChange(name, label, before, after)


def type_label(kind: str | None) -> str:
    """Return the label of a client type, or "" for none."""
    return Client.Type(kind).label if kind in Client.Type.values else kind or ""


def lines_of(value: Any) -> list[str]:
    """Return a value of a snapshot as lines of text."""
    if isinstance(value, dict):
        return [f"{key}: {text}" for key, text in value.items()]
    return [str(line) for line in value] if isinstance(value, list) else [str(value)] if value else []


def _are_texts(was: str, now: str) -> bool:
    lengths = [len(_WORD.findall(text)) for text in (was, now)]
    return min(lengths) >= MIN_WORDS and max(lengths) <= MAX_WORDS


def word_parts(was: str, now: str) -> list[Part]:
    """Return two texts as one list of unchanged, removed and added words, each with the space before it."""
    old, new = _WORD.findall(was.strip()), _WORD.findall(now.strip())
    parts = []
    for tag, start, end, new_start, new_end in SequenceMatcher(None, old, new).get_opcodes():
        if tag == "equal":
            parts.append(Part("same", reveal("".join(old[start:end]))))
            continue
        parts += _some("gone", old[start:end]) + _some("new", new[new_start:new_end])
    return parts


def _some(kind: Kind, words: Iterable[str]) -> list[Part]:
    text = reveal("".join(words))
    return [Part(kind, text)] if text else []
