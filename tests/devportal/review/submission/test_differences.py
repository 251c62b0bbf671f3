"""Differences as reviewers see them: word by word, bounded in time, and with nothing hidden."""

import time

import pytest

from devportal.review.submission.differences import MAX_WORDS, Part, field_changes, reveal, word_parts


def joined(parts: list[Part], *kinds: str) -> str:
    return "".join(part.text for part in parts if part.kind in kinds)


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("one two three four five", "one two 3 four five six"),
        ("a\nb\n\nc d e", "a\nb c\td e"),
        ("x y z u v", "1 2 3 4 5"),
        ("same words on both sides", "same words on both sides"),
        ("", "new"),
    ],
)
def test_both_texts_can_be_read_from_the_parts(was: str, now: str) -> None:
    parts = word_parts(was, now)
    assert joined(parts, "same", "gone").split() == was.split()
    assert joined(parts, "same", "new").split() == now.split()


def test_unchanged_parts_are_marked() -> None:
    assert word_parts("we read the plan of you", "we read the name of you") == [
        Part("same", "we read the"),
        Part("gone", " plan"),
        Part("new", " name"),
        Part("same", " of you"),
    ]


def test_short_values_are_shown_whole() -> None:
    (change,) = field_changes({"name": "Orbit Notes"}, {"name": "Orbit News"})
    assert (change.before, change.after, change.words) == (
        [Part("same", "Orbit Notes")],
        [Part("same", "Orbit News")],
        [],
    )


def test_scopes_are_compared_one_by_one() -> None:
    before = {"scopes": {"account.read": "Why it is so and so"}, "places": {}}
    after = {"scopes": {"account.read": "Why it is so and so", "offline": "At night"}, "places": {"offline": "Jobs"}}
    changes = {change.label: change for change in field_changes(before, after)}
    assert set(changes) == {"Scopes", "Why offline", "Where offline is used"}
    assert changes["Scopes"].after == [Part("same", "account.read"), Part("new", "offline")]


def test_older_snapshots_can_lack_fields() -> None:
    assert field_changes({}, {}) == []
    assert field_changes({"name": "Orbit"}, {})[0].after == []
    assert field_changes({"terms_url": ""}, {"terms_url": None}) == []


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("x " * 2000, "x y " * 1000),
        (
            " ".join(str(number % 40) for number in range(MAX_WORDS)),
            " ".join(str(number % 41) for number in range(MAX_WORDS)),
        ),
        ("x " * MAX_WORDS, "x y " * (MAX_WORDS // 2)),
        ("." * 4000, "x" * 4000),
    ],
)
def test_comparing_any_text_is_fast(was: str, now: str) -> None:
    began = time.perf_counter()
    assert field_changes({"scopes": {"a": was}}, {"scopes": {"a": now}})
    assert time.perf_counter() - began < 2


def test_invisible_characters_are_named() -> None:
    assert reveal("a\u202eb\u200dc\u00add") == "a[U+202E]b[U+200D]c[U+00AD]d"
    assert reveal("Søren 李 مرحبا\n\t✨ ❤\ufe0f") == "Søren 李 مرحبا\n\t✨ ❤\ufe0f"
    # Letters of Unicode's tags, a grapheme joiner, variation selectors, a line separator and an empty Braille pattern.
    for code in (0xE0041, 0xE007F, 0x034F, 0x180E, 0xFE00, 0xFE0F, 0xE0100, 0x2028, 0x2800, 0xFFF9):
        assert reveal(f"a{chr(code)}b") == f"a[U+{code:04X}]b", hex(code)
    assert "[U+202E]" in joined(word_parts("a b c d \u202ee", "a b c d e"), "gone")
