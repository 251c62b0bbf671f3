"""Validation of values that the database can't store: NUL in texts, deeply nested JSON, dates out of range."""

from datetime import UTC, datetime
from typing import Any

from django.core.exceptions import ValidationError

# The range of primary keys.
LARGEST_KEY = 2**63 - 1
# The most levels of nested JSON.
DEEPEST_JSON = 20
# All times in this range can be stored, and shown in every time zone, with room to calculate.
FIRST_MOMENT, LAST_MOMENT = datetime(1970, 1, 1, tzinfo=UTC), datetime(9998, 1, 1, tzinfo=UTC)


def is_storable(text: str) -> bool:
    """Return whether a text can be stored: it has no NUL and no lone surrogates, which JSON allows."""
    return "\x00" not in text and not any("\ud800" <= letter <= "\udfff" for letter in text)


def is_key(value: Any) -> bool:
    """Return whether a text is an integer in the range of primary keys."""
    text = str(value)
    return text.isascii() and text.isdigit() and len(text) <= len(str(LARGEST_KEY)) and int(text) <= LARGEST_KEY


def without_surrogates(value: Any) -> Any:
    """Return a JSON value with U+FFFD in place of lone surrogates, keys included."""
    if isinstance(value, str):
        return "".join("\ufffd" if "\ud800" <= letter <= "\udfff" else letter for letter in value)
    if isinstance(value, list):
        return [without_surrogates(each) for each in value]
    if isinstance(value, dict):
        return {without_surrogates(name): without_surrogates(each) for name, each in value.items()}
    return value


def check_json(value: Any, deepest: int = DEEPEST_JSON) -> None:
    """Raise ValidationError for JSON that can't be stored or is nested too deeply."""
    if isinstance(value, str) and not is_storable(value):
        raise ValidationError("holds a character that can't be stored")
    if isinstance(value, float) and not -float("inf") < value < float("inf"):
        raise ValidationError("holds an invalid number")
    if isinstance(value, list | dict):
        if deepest == 0:
            raise ValidationError("is nested too deeply")
        inner = value if isinstance(value, list) else [*value, *value.values()]
        for each in inner:
            check_json(each, deepest - 1)


def check_moment(moment: datetime) -> None:
    """Raise ValidationError for a datetime so near the ends of the calendar that time zones would overflow."""
    try:
        is_inside = FIRST_MOMENT <= moment < LAST_MOMENT
    except OverflowError:
        is_inside = False
    if not is_inside:
        raise ValidationError("must be a date from 1970 to 9997")
