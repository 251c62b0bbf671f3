"""Reading TOML files: tables as serializers, and what several kinds of tables hold."""

import tomllib
from pathlib import Path
from typing import Any

from core.http.strict_fields import StrictCharField, StrictSerializer


class InvalidFile(Exception):
    """The file can't be applied; the argument names the key and says why."""


def read_toml(file: Path) -> dict[str, Any]:
    """Return what `file` holds. Raises InvalidFile for what is no TOML, or can't be read."""
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InvalidFile(str(error)) from error


class Table(StrictSerializer):
    """A TOML table, its keys declared as fields. A key that may be left out is then absent from what is read."""

    default_error_messages = {"null": "must be a table", "invalid": "must be a table"}


class NameField(StrictCharField):
    """A name that people read: up to 100 characters, and not of spaces alone."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_length=100, **kwargs)

    def to_internal_value(self, data: Any) -> str:
        name = super().to_internal_value(data)
        if not name.strip():
            self.fail("blank")
        return name
