"""Texts with named placeholders, selected by a code and filled in where they are shown.

Code that finds a fact passes a code and values. Only the table of texts, and the code that shows a text, use English.
"""

import string
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol, runtime_checkable

from django.db.models import Choices

# One sentence, or a singular and a plural; the parameter `count` selects one of them.
Text = str | tuple[str, str]

MOST_NAMES = 5  # names of a list that a sentence contains


# How a list is joined, by the format in its placeholder.
_JOINED = {"and": " and ", "sentences": " "}


@runtime_checkable
class Message(Protocol):
    """A value that has its own text, such as another code with its parameters."""

    @property
    def text(self) -> str: ...


class _Formatter(string.Formatter):
    """Formats values for sentences: a time by `:day` or `:minute`, numbers with commas.

    A list is joined by `:and`, as sentences by `:sentences`, and otherwise as `listed` does. A choice of a model is
    shown by its label, and a Message by its text.
    """

    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, Choices):
            return str(value.label)
        if isinstance(value, Message):
            return value.text
        if isinstance(value, datetime):
            moment = value.astimezone(UTC)
            day = f"{moment.day} {moment:%B %Y}"
            return f"{day}, {moment:%H:%M} UTC" if format_spec == "minute" else day
        if isinstance(value, list | tuple):
            texts = [self.format_field(each, "") for each in value]
            return _JOINED[format_spec].join(texts) if format_spec else listed(texts)
        if isinstance(value, int) and not format_spec:
            return f"{value:,}"
        return str(super().format_field(value, format_spec))


_formatter = _Formatter()


@dataclass(frozen=True)
class Piece:
    """A part of a text: a value that was filled in, or the text between values."""

    text: str
    is_value: bool


def fill_in(text: Text, parameters: Mapping[str, Any]) -> str:
    """Return a text with its placeholders filled in. Raises KeyError for one that is missing in `parameters`."""
    chosen = text if isinstance(text, str) else text[parameters["count"] != 1]
    return _formatter.vformat(chosen, (), parameters)


def pieces(text: str, parameters: Mapping[str, Any]) -> list[Piece]:
    """Return a text in pieces, for pages that highlight its values."""
    found = []
    for literal, name, spec, _ in _formatter.parse(text):
        found += [Piece(literal, is_value=False)] if literal else []
        found += [Piece(_formatter.format_field(parameters[name], spec or ""), is_value=True)] if name else []
    return found


def placeholders(text: Text) -> set[str]:
    """Return the names of the parameters that a text needs."""
    if isinstance(text, tuple):
        return {"count"}.union(*map(placeholders, text))
    return {name for _, name, _, _ in _formatter.parse(text) if name}


def listed(names: Iterable[Any]) -> str:
    """Return names as a list for a sentence, five at most: "a, b and 3 more"."""
    known = list(map(str, names))
    more = len(known) - MOST_NAMES
    shown = ", ".join(known[:MOST_NAMES])
    return f"{shown} and {more} more" if more > 0 else shown
