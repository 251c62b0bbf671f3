"""Reading TOML tables strictly: every fault names the key it is about."""

from collections.abc import Callable, Collection
from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError

from devportal.lib.storable import check_moment

_NOTHING: Any = object()


class InvalidFile(Exception):
    """The file can't be applied; the argument names the key and says why."""


class Table:
    """One TOML table. Each key is read once, by its type; what nobody read is refused at the end."""

    def __init__(self, values: Any, path: str) -> None:
        if not isinstance(values, dict):
            raise InvalidFile(f"{path}: must be a table")
        self.values: dict[str, Any] = values
        self.path = path
        self._read: set[str] = set()

    def at(self, key: str) -> str:
        """Return the full name of `key`, as faults give it."""
        return f"{self.path}.{key}" if self.path else key

    def __contains__(self, key: str) -> bool:
        return key in self.values

    def _value(self, key: str, kind: type[Any], what: str, default: Any) -> Any:
        self._read.add(key)
        value = self.values.get(key, default)
        if value is _NOTHING:
            raise InvalidFile(f"{self.at(key)}: is missing")
        if value is default:
            return value
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise InvalidFile(f"{self.at(key)}: must be {what}")
        if isinstance(value, str) and "\x00" in value:
            raise InvalidFile(f"{self.at(key)}: holds a NUL")
        return value

    def text(self, key: str, default: Any = _NOTHING, *, longest: int = 254) -> str:
        value: str = self._value(key, str, "a text", default)
        if value is not default and (len(value) > longest or (default is _NOTHING and not value.strip())):
            raise InvalidFile(f"{self.at(key)}: must have 1 to {longest} characters")
        return value

    def name(self, key: str, check: Callable[[str], object]) -> str:
        """Return a text that passes `check`, whose ValidationError becomes a fault."""
        value = self.text(key)
        try:
            check(value)
        except ValidationError as error:
            raise InvalidFile(f"{self.at(key)}: {' '.join(error.messages)}") from error
        return value

    def choice(self, key: str, choices: Collection[str], default: Any = _NOTHING) -> str:
        value = self.text(key, default)
        if value not in choices:
            raise InvalidFile(f"{self.at(key)}: must be one of {', '.join(choices)}")
        return value

    def flag(self, key: str, default: bool) -> bool:
        value: bool = self._value(key, bool, "true or false", default)
        return value

    def number(self, key: str, default: int, *, least: int, most: int) -> int:
        value: int = self._value(key, int, "a whole number", default)
        if not least <= value <= most:
            raise InvalidFile(f"{self.at(key)}: must be from {least} to {most}")
        return value

    def decimal(self, key: str) -> float | None:
        """Return a finite number, whole or not, which may be left out."""
        kind = float if isinstance(self.values.get(key), float) else int
        value: float | None = self._value(key, kind, "a number", None)
        # Beyond this range a whole number would lose digits on its way, and `nan` and `inf` are no JSON.
        if value is not None and not abs(value) <= 2**53:
            raise InvalidFile(f"{self.at(key)}: must be from -2^53 to 2^53")
        return None if value is None else float(value)

    def moment(self, key: str) -> datetime | None:
        value: datetime | None = self._value(key, datetime, "a date with time and offset", None)
        if value is not None and value.tzinfo is None:
            raise InvalidFile(f"{self.at(key)}: needs an offset, such as Z")
        if value is not None:
            try:
                check_moment(value)
            except ValidationError as error:
                raise InvalidFile(f"{self.at(key)}: {' '.join(error.messages)}") from error
        return value

    def texts(self, key: str, check: Callable[[str], object] | None = None) -> list[str]:
        """Return a list of texts, each passed through `check`, whose ValidationError becomes a fault."""
        values: list[Any] = self._value(key, list, "a list", [])
        for position, value in enumerate(values):
            where = f"{self.at(key)}[{position}]"
            if not isinstance(value, str):
                raise InvalidFile(f"{where}: must be a text")
            if check is not None:
                try:
                    check(value)
                except ValidationError as error:
                    raise InvalidFile(f"{where}: {' '.join(error.messages)}") from error
        if len(set(values)) != len(values):
            raise InvalidFile(f"{self.at(key)}: names something twice")
        return values

    def table(self, key: str) -> "Table | None":
        """Return a table, None if it is left out."""
        self._read.add(key)
        return Table(self.values[key], self.at(key)) if key in self.values else None

    def tables(self, key: str) -> "list[Table]":
        values: list[Any] = self._value(key, list, "a list of tables", [])
        return [Table(value, f"{self.at(key)}[{position}]") for position, value in enumerate(values)]

    def refuse_unknown(self) -> None:
        """Refuse the first key that nobody has read."""
        for key in self.values:
            if key not in self._read:
                raise InvalidFile(f"{self.at(key)}: is unknown")
