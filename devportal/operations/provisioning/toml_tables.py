"""Read TOML files: tables as serializers, and fields that several tables share."""

import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from rest_framework import serializers

from core.http.strict_fields import StrictCharField, StrictListField, StrictSerializer
from core.invisible import shows_something


class InvalidFile(Exception):
    """The file can't be applied. Each argument names a key and the reason."""


def read_toml(file: Path) -> dict[str, Any]:
    """Return the content of a TOML file. Raises InvalidFile if it is not TOML or can't be read."""
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InvalidFile(str(error)) from error


def table_error(section: str, position: int, key: str, message: str) -> serializers.ValidationError:
    """Return the error of a key in one table of a list of tables."""
    detail: Any = {section: {position: {key: message}}}
    return serializers.ValidationError(detail)


def apply_rows(rows: Iterable[Any], apply: Callable[[Any], Any]) -> list[Any]:
    """Apply each row and return the results. Raises ValidationError with the errors of all rows by their position."""
    done: list[Any] = []
    errors: dict[Any, Any] = {}
    for position, values in enumerate(rows):
        try:
            done.append(apply(values))
        except serializers.ValidationError as error:
            errors[position] = error.detail
    if errors:
        raise serializers.ValidationError(errors)
    return done


class Table(StrictSerializer):
    """A TOML table, whose keys are declared as fields. A missing optional key is absent from the result."""

    default_error_messages = {"null": "must be a table", "invalid": "must be a table"}


class TablesField(StrictListField):
    """A list of tables of which no two may have the same values of the keys `known_by`.

    Otherwise each run would apply both to the same row, and undo and repeat changes that can end credentials.
    """

    default_error_messages = {"twice": "another table of this list has the same {keys}"}

    def __init__(self, *known_by: str, **kwargs: Any) -> None:
        self._known_by = known_by
        super().__init__(default=list, **kwargs)

    def to_internal_value(self, data: Any) -> list[Any]:
        tables: list[dict[str, Any]] = super().to_internal_value(data)
        seen: set[tuple[Any, ...]] = set()
        for position, table in enumerate(tables):
            identity = tuple(table[key] for key in self._known_by)
            if identity in seen:
                twice = self.error_messages["twice"].format(keys=" and ".join(self._known_by))
                found: Any = {position: {self._known_by[-1]: twice}}
                raise serializers.ValidationError(found)
            seen.add(identity)
        return tables


class NameField(StrictCharField):
    """A display name: up to 100 characters, of which at least one can be seen."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_length=100, **kwargs)

    def to_internal_value(self, data: Any) -> str:
        name = super().to_internal_value(data)
        if not shows_something(name):
            self.fail("blank")
        return name


class ScopeField(StrictCharField):
    """The name of a scope. `names` returns the ones that are accepted now: files and the admin declare scopes."""

    default_error_messages = {"invalid_choice": "must be one of {choices}"}

    def __init__(self, names: Callable[[], Iterable[str]], **kwargs: Any) -> None:
        self._names = names
        super().__init__(**kwargs)

    def to_internal_value(self, data: Any) -> str:
        name = super().to_internal_value(data)
        names = list(self._names())
        if name not in names:
            self.fail("invalid_choice", choices=", ".join(names))
        return name
