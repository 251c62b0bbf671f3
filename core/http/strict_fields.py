"""Fields and serializers that accept only values of their own type: for files, responses and notifications.

DRF's fields also read forms, and convert values if they can: 7 to a text, "yes" to a boolean, "7" to a number
(docs/library.md#django-rest-framework).
"""

import math
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from django.utils.dateparse import parse_datetime
from rest_framework import serializers
from rest_framework.settings import api_settings

from core.database.storable import check_moment, without_surrogates


def first_error(error: serializers.ValidationError, whole: str) -> str:
    """Return the first error as "path.to[0].key: why"; `whole` names the input itself."""
    return next(every_error(error, whole))


def every_error(error: serializers.ValidationError, whole: str) -> Iterator[str]:
    """Yield each error as "path.to[0].key: why"; `whole` names the input itself."""
    return _errors_below("", error.detail, whole)


def _errors_below(path: str, detail: Any, whole: str) -> Iterator[str]:
    if not isinstance(detail, dict):
        why = detail if isinstance(detail, str) else " ".join(detail)
        # A key comes from the sender, and errors are shown on pages and terminals.
        yield str(without_surrogates(f"{path or whole}: {why}"))
        return
    for key, below in detail.items():
        if isinstance(key, int):
            yield from _errors_below(f"{path}[{key}]", below, whole)
        elif key == api_settings.NON_FIELD_ERRORS_KEY:
            yield from _errors_below(path, below, whole)
        else:
            yield from _errors_below(f"{path}.{key}" if path else key, below, whole)


def _messages(kind: str) -> dict[str, Any]:
    return {"required": "is missing", "null": f"must be {kind}", "invalid": f"must be {kind}"}


class StrictCharField(serializers.CharField):
    """A text, unchanged; DRF itself rejects NUL and lone surrogates."""

    default_error_messages = {
        **_messages("a text"),
        "blank": "must not be empty",
        "max_length": "must have at most {max_length} characters",
    }

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(trim_whitespace=False, **kwargs)

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        return data


class StrictChoiceField(serializers.ChoiceField):
    """One of several fixed texts."""

    default_error_messages = {**_messages("a text"), "invalid_choice": "must be one of {choices}"}

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        if data not in self.choices:
            self.fail("invalid_choice", choices=", ".join(self.choices))
        return data


class StrictBooleanField(serializers.BooleanField):
    default_error_messages = _messages("true or false")

    def to_internal_value(self, data: Any) -> bool:
        if not isinstance(data, bool):
            self.fail("invalid")
        return data


_BOUNDS = {"min_value": "must be {min_value} or more", "max_value": "must be {max_value} or less"}


class StrictIntegerField(serializers.IntegerField):
    default_error_messages = _messages("a whole number") | _BOUNDS

    def to_internal_value(self, data: Any) -> int:
        # To Python, true is an int.
        if not isinstance(data, int) or isinstance(data, bool):
            self.fail("invalid")
        return data


class StrictNumberField(serializers.FloatField):
    """A finite number, whole or not; `nan` and `inf` are not valid JSON."""

    default_error_messages = _messages("a number") | _BOUNDS

    def to_internal_value(self, data: Any) -> float:
        if isinstance(data, bool) or not isinstance(data, int | float):
            self.fail("invalid")
        if isinstance(data, float) and not math.isfinite(data):
            self.fail("invalid")
        return data


class StrictDateTimeField(serializers.DateTimeField):
    """A datetime object, as TOML has them: with an offset, and in the range that every database can store."""

    default_error_messages = _messages("a date with time and offset, such as 2031-01-01T00:00:00Z") | {
        "naive": "needs an offset, such as Z"
    }
    default_validators = [check_moment]

    def to_internal_value(self, data: Any) -> datetime:
        if not isinstance(data, datetime):
            self.fail("invalid")
        if data.tzinfo is None:
            self.fail("naive")
        return data


class IsoDateTimeField(StrictDateTimeField):
    """A time as a text in ISO 8601 or RFC 3339 format, as in JSON."""

    def to_internal_value(self, data: Any) -> datetime:
        if not isinstance(data, str):
            self.fail("invalid")
        try:
            moment = parse_datetime(data)
        except ValueError:
            moment = None
        return super().to_internal_value(moment)


class StrictListField(serializers.ListField):
    """A list; `unique=True` rejects equal values in it."""

    default_error_messages = {
        **_messages("a list"),
        "not_a_list": "must be a list",
        "empty": "must not be empty",
        "repeated": "names something twice",
    }

    def __init__(self, *, unique: bool = False, **kwargs: Any) -> None:
        self.unique = unique
        super().__init__(**kwargs)

    def to_internal_value(self, data: Any) -> list[Any]:
        if not isinstance(data, list):
            self.fail("not_a_list")
        values: list[Any] = super().to_internal_value(data)
        if self.unique and len(set(values)) != len(values):
            self.fail("repeated")
        return values


class StrictDictField(serializers.DictField):
    """A mapping whose keys the sender chooses; each key is a text that passes the field `key`."""

    default_error_messages = {
        **_messages("a table"),
        "not_a_dict": "must be a table",
        "max_length": "must have at most {max_length} entries",
    }

    def __init__(self, *, key: StrictCharField | None = None, max_length: int | None = None, **kwargs: Any) -> None:
        self.key = key or StrictCharField()
        self.max_length = max_length
        super().__init__(**kwargs)

    def run_child_validation(self, data: Mapping[str, Any]) -> dict[str, Any]:
        if self.max_length is not None and len(data) > self.max_length:
            self.fail("max_length", max_length=self.max_length)
        for name in data:
            try:
                self.key.run_validation(name)
            except serializers.ValidationError as error:
                raise serializers.ValidationError({name: first_error(error, "its name")}) from error
        return super().run_child_validation(data)


class TypedSerializer(serializers.Serializer[Any]):
    """An object whose unknown keys are ignored, as in DRF."""

    default_error_messages = _messages("an object")


class StrictSerializer(TypedSerializer):
    """An object that rejects unknown keys before any other check: they are usually misspelled known keys."""

    default_error_messages = {"unknown": "is unknown"}

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        if isinstance(data, Mapping):
            self.refuse_unknown(data)
        values: dict[str, Any] = super().to_internal_value(data)
        return values

    def refuse_unknown(self, data: Mapping[str, Any]) -> None:
        """Raise ValidationError for keys that are not fields."""
        if unknown := [key for key in data if key not in self.fields]:
            raise serializers.ValidationError(dict.fromkeys(unknown, self.error_messages["unknown"]))
