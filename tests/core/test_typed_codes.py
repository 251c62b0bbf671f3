"""Reading codes as people type them (core/typed_codes.py)."""

import pytest

from core.typed_codes import as_typed, plain_code


@pytest.mark.parametrize(
    "typed",
    [
        "123456", " 123 456\u00a0", "1\u20092\u200a3\u202f4\u30005\u20606", "123\u2013456",
        "\u202b123\u200f456\u202c\ufeff",
        "\u0661\u0662\u0663\u0664\u0665\u0666",  # Arabic
        "\u06f1\u06f2\u06f3 \u06f4\u06f5\u06f6",  # Persian
        "\u0967\u0968\u0969\u096a\u096b\u096c",  # Hindi
        "\u0e51\u0e52\u0e53\u0e54\u0e55\u0e56",  # Thai
        "\uff11\uff12\uff13\uff14\uff15\uff16",  # full width, as Japanese keyboards type them
        "\U0001d7cf\U0001d7d0\U0001d7d1\U0001d7d2\U0001d7d3\U0001d7d4", "12\u0663\u096a5\uff16",
    ],
)  # fmt: skip
def test_digits_of_any_script_and_any_spaces_are_read(typed: str) -> None:
    assert plain_code(typed) == "123456"
    assert as_typed(typed) == b"123456"


@pytest.mark.parametrize("typed", ["K7QX-M2RW", "k7qx m2rw", "\uff2b\uff17\uff31\uff38\uff0d\uff2d\uff12\uff32\uff37"])
def test_full_width_letters_are_read(typed: str) -> None:
    assert as_typed(typed) == b"K7QXM2RW"


@pytest.mark.parametrize("typed", ["", "\u200b", "\0", "\ud800", "-"])
def test_nothing_is_left_of_a_text_without_letters_and_digits(typed: str) -> None:
    assert plain_code(typed) == ""


def test_letters_of_other_scripts_stay_wrong() -> None:
    assert plain_code("\u041a7QX") == "\u041a7QX"  # a Cyrillic letter
