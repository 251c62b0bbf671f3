"""Texts with placeholders: how values read in them."""

from datetime import UTC, datetime

import pytest

from core.messages import Piece, fill_in, pieces, placeholders

MOMENT = datetime(2026, 3, 5, 14, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "value", "filled"),
    [
        ("On {value:day}.", MOMENT, "On 5 March 2026."),
        ("On {value:minute}.", MOMENT, "On 5 March 2026, 14:05 UTC."),
        ("{value} calls.", 12_345, "12,345 calls."),
        ("{value:.1f} %.", 5.04, "5.0 %."),
        ("Not proven: {value}.", ["a", "b"], "Not proven: a, b."),
        ("Not proven: {value}.", list("abcdefg"), "Not proven: a, b, c, d, e and 2 more."),
        ("With {value:and}.", ["a password", "a code"], "With a password and a code."),
        ("It stays. {value:sentences}", ["One.", "Two."], "It stays. One. Two."),
        ("{value}", "{value} and {other}", "{value} and {other}"),
    ],
)
def test_values_read_as_people_write_them(text: str, value: object, filled: str) -> None:
    assert fill_in(text, {"value": value}) == filled


def test_a_count_chooses_the_singular_or_the_plural() -> None:
    text = ("{count} app", "{count} apps")
    assert [fill_in(text, {"count": count}) for count in (0, 1, 2, 1000)] == ["0 apps", "1 app", "2 apps", "1,000 apps"]


def test_placeholders_are_found() -> None:
    assert placeholders("{host} since {at:day}") == {"host", "at"}
    assert placeholders(("One on {host}", "{count} on {host}")) == {"host", "count"}


def test_a_value_that_is_missing_is_an_error() -> None:
    with pytest.raises(KeyError):
        fill_in("{host}", {})


def test_pieces_separate_values_from_the_text_between_them() -> None:
    found = pieces("{who} renamed {target}.", {"who": "{target}", "target": "Orbit"})
    assert found == [Piece("{target}", True), Piece(" renamed ", False), Piece("Orbit", True), Piece(".", False)]
