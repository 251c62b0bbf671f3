"""Strict fields: a value of its own type and nothing else, and errors that name the key."""

import datetime as dt
from typing import Any

import pytest
from django.core.exceptions import ValidationError as DjangoValidationError
from rest_framework import serializers

from core.http.strict_fields import (
    IsoDateTimeField,
    StrictBooleanField,
    StrictCharField,
    StrictChoiceField,
    StrictDateTimeField,
    StrictDictField,
    StrictIntegerField,
    StrictListField,
    StrictNumberField,
    StrictSerializer,
    TypedSerializer,
    every_error,
    first_error,
)

NOON = dt.datetime(2031, 1, 1, 12, tzinfo=dt.UTC)
HUGE = 10**5000  # Python itself writes no number of so many digits
TEXTS: list[Any] = ["", "1", "true", "null", "on", "2031-01-01T12:00:00Z"]
NUMBERS: list[Any] = [0, 1, -1, HUGE, 0.0, 1.0, float("nan"), float("inf")]
OTHERS: list[Any] = [None, True, False, [], {}, [1], {"a": 1}, NOON, NOON.date(), NOON.time(), b"1"]


def refused(field: Any, value: Any) -> str:
    with pytest.raises(serializers.ValidationError) as error:
        field.run_validation(value)
    return first_error(error.value, "it")


@pytest.mark.parametrize(
    ("field", "message", "allowed"),
    [
        (StrictCharField(allow_blank=True), "it: must be a text", TEXTS),
        (StrictChoiceField(["1", "true"]), "it: must be a text", TEXTS),
        (StrictBooleanField(), "it: must be true or false", [True, False]),
        (StrictIntegerField(), "it: must be a whole number", [0, 1, -1, HUGE]),
        (StrictNumberField(), "it: must be a number", [0, 1, -1, HUGE, 0.0, 1.0]),
        (StrictListField(child=StrictIntegerField()), "it: must be a list", [[], [1]]),
        (StrictDictField(child=StrictIntegerField()), "it: must be a table", [{}, {"a": 1}]),
        (TypedSerializer(), "it: must be an object", [{}, {"a": 1}]),
        (StrictDateTimeField(), "it: must be a date with time and offset, such as 2031-01-01T00:00:00Z", [NOON]),
        (IsoDateTimeField(), "it: must be a date with time and offset, such as 2031-01-01T00:00:00Z", TEXTS[-1:]),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, serializers.Field) else "",
)
def test_a_value_of_another_type_is_refused(field: Any, message: str, allowed: list[Any]) -> None:
    for value in (*TEXTS, *NUMBERS, *OTHERS):
        # Equal is not the same: to Python, 1, 1.0 and True are.
        if not any(type(value) is type(each) and value == each for each in allowed):
            assert refused(field, value) == message


def test_accepted_values_are_not_changed() -> None:
    for field, value in [
        (StrictCharField(), "  a text\n"),
        (StrictChoiceField(["a", "b"]), "b"),
        (StrictBooleanField(), False),
        (StrictIntegerField(), HUGE),
        (StrictNumberField(), 7),
        (StrictNumberField(), 1.5),
        (StrictDateTimeField(), NOON),
        (StrictListField(child=StrictCharField()), ["b", "a", "b"]),
        (StrictDictField(child=StrictIntegerField()), {"b": 1, "a": 2}),
    ]:
        read = field.run_validation(value)  # type: ignore[attr-defined]
        assert (read, type(read)) == (value, type(value))
    assert IsoDateTimeField().run_validation("2031-01-01T14:00:00+02:00") == NOON


def test_bounds() -> None:
    assert refused(StrictCharField(), "") == "it: must not be empty"
    assert refused(StrictCharField(max_length=3), "four") == "it: must have at most 3 characters"
    assert refused(StrictChoiceField(["a", "b"]), "c") == "it: must be one of a, b"
    assert refused(StrictIntegerField(min_value=1), 0) == "it: must be 1 or more"
    assert refused(StrictIntegerField(max_value=9), HUGE) == "it: must be 9 or less"
    assert refused(StrictNumberField(max_value=9), HUGE) == "it: must be 9 or less"
    assert refused(StrictListField(allow_empty=False), []) == "it: must not be empty"
    assert refused(StrictListField(unique=True), ["a", "a"]) == "it: names something twice"
    assert refused(StrictDictField(max_length=1), {"a": 1, "b": 2}) == "it: must have at most 1 entries"


@pytest.mark.parametrize("text", ["a\x00b", "a\ud800"])
def test_values_that_no_database_stores_are_rejected(text: str) -> None:
    assert "not allowed" in refused(StrictCharField(), text)
    assert "not allowed" in refused(StrictDictField(), {text: 1})


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("tomorrow", "must be a date with time and offset"),
        ("2031-13-01T00:00:00Z", "must be a date with time and offset"),
        ("\ud800", "must be a date with time and offset"),
        ("2031-01-01T00:00:00", "needs an offset"),
        ("0001-01-01T00:00:00+14:00", "must be a date from 1970 to 9997"),
        ("9999-12-31T23:59:59-14:00", "must be a date from 1970 to 9997"),
    ],
)
def test_moments(text: str, why: str) -> None:
    assert why in refused(IsoDateTimeField(), text)


class Leaf(StrictSerializer):
    size = StrictIntegerField()


class Branch(StrictSerializer):
    name = StrictCharField()
    leaves = StrictListField(child=Leaf(), required=False)
    fruit = StrictDictField(key=StrictCharField(max_length=5), child=Leaf(), required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs["name"] == "broken":
            raise serializers.ValidationError("is broken")
        return attrs


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], "it: must be an object"),
        ({}, "name: is missing"),
        ({"name": None}, "name: must be a text"),
        ({"name": "broken"}, "it: is broken"),
        ({"name": "a", "leaves": [{"size": 1}, {"size": 1}, {}]}, "leaves[2].size: is missing"),
        ({"name": "a", "leaves": [{"size": 1, "sise": 1}]}, "leaves[0].sise: is unknown"),
        ({"name": "a", "leaves": [None]}, "leaves[0]: must be an object"),
        ({"name": "a", "fruit": {"a": {"size": "1"}}}, "fruit.a.size: must be a whole number"),
        ({"name": "a", "fruit": {"": {}}}, "fruit.: its name: must not be empty"),
        ({"name": "a", "fruit": {"banana": {}}}, "fruit.banana: its name: must have at most 5 characters"),
        # An unknown key is often one of the others misspelled: said before that one is missed.
        ({"nmae": "a"}, "nmae: is unknown"),
        # A key that no terminal and no page could show.
        ({"\ud800": "a"}, "\ufffd: is unknown"),
    ],
)
def test_the_first_error_is_named_by_its_path(value: Any, message: str) -> None:
    assert refused(Branch(), value) == message


def test_every_error_is_named_by_its_path() -> None:
    with pytest.raises(serializers.ValidationError) as error:
        Branch().run_validation({"name": 7, "leaves": [{"size": "1"}, {"size": 2}, {}]})
    assert list(every_error(error.value, "it")) == [
        "name: must be a text",
        "leaves[0].size: must be a whole number",
        "leaves[2].size: is missing",
    ]


def test_djangos_validators_say_all_that_is_wrong() -> None:
    def check(text: str) -> None:
        raise DjangoValidationError(["One.", "Two."])

    assert refused(StrictCharField(validators=[check]), "a") == "it: One. Two."


def test_unknown_keys_are_left_out_where_they_may_be() -> None:
    class Lenient(TypedSerializer):
        name = StrictCharField()

    assert Lenient().run_validation({"name": "a", "more": object()}) == {"name": "a"}


# --- What DRF does by default: when one of these fails, read docs/library.md ---


def test_library_default_fields_convert_what_they_get() -> None:
    assert serializers.CharField().run_validation(7) == "7"
    assert serializers.CharField().run_validation(" a ") == "a"
    assert serializers.BooleanField().run_validation("yes") is True
    assert serializers.IntegerField().run_validation("7") == 7
    assert serializers.FloatField().run_validation(True) == 1
    assert serializers.ChoiceField(["7"]).run_validation(7) == "7"


def test_library_default_texts_raise_for_a_number_of_many_digits() -> None:
    for field in (serializers.CharField(), serializers.ChoiceField(["7"])):
        with pytest.raises(ValueError, match="digits"):
            field.run_validation(HUGE)


def test_library_default_moments_need_no_offset() -> None:
    assert serializers.DateTimeField().run_validation("2031-01-01T12:00:00") is not None
    assert serializers.DateTimeField().run_validation("0001-01-02T00:00:00Z").year == 1
