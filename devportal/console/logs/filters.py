"""Filters in the address of a log, which a person or a link wrote: what is no filter narrows nothing, and says so."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from django.db.models import Q
from django.http import HttpRequest

MAX_LENGTH = 255  # characters


@dataclass
class LogFilters:
    """What a log is narrowed to: `given` as it stands in the form, `where` for the database, `errors` by field."""

    given: dict[str, str] = field(default_factory=dict)
    where: Q = field(default_factory=Q)
    errors: dict[str, str] = field(default_factory=dict)

    @property
    def is_any(self) -> bool:
        """Whether the log is narrowed at all."""
        return any(self.given.values())


def parse_filters(request: HttpRequest, conditions: Mapping[str, Callable[[str], Q]]) -> LogFilters:
    """Return what the address asks for. A condition raises ValueError, with a sentence, for what it can't read."""
    found = LogFilters()
    for name, condition in conditions.items():
        text = request.GET.get(name, "").strip()
        found.given[name] = text[:MAX_LENGTH]
        if not text:
            continue
        try:
            if len(text) > MAX_LENGTH:
                raise ValueError("That is longer than anything here.")
            found.where &= condition(text)
        except ValueError as error:
            found.errors[name] = str(error)
    return found


def choice_filter(choices: Mapping[str, Q]) -> Callable[[str], Q]:
    """Return a condition for a field with these choices."""

    def condition(text: str) -> Q:
        if text not in choices:
            raise ValueError("That is none of the choices.")
        return choices[text]

    return condition


def exact_filter(column: str) -> Callable[[str], Q]:
    """Return a condition for a column that holds just this text."""
    return lambda text: Q(**{column: text})


def time_filter(lookup: str) -> Callable[[str], Q]:
    """Return a condition for a time, which is in UTC unless it says otherwise."""

    def condition(text: str) -> Q:
        return Q(**{lookup: parse_time(text)})

    return condition


def parse_time(text: str) -> datetime:
    """Return a time as a form or a program writes it. Raises ValueError with a sentence."""
    try:
        found = datetime.fromisoformat(text)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValueError("Write a time as 2026-01-31T14:05, in UTC.") from None


def select_options(choices: Mapping[str, Any], chosen: str) -> list[tuple[str, str, bool]]:
    """Return value, label and whether it is chosen, for a select."""
    return [(value, str(label), value == chosen) for value, label in choices.items()]
