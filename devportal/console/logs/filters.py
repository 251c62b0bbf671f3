"""Filters of the logs, from the query string, and the toolbar above a log."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from django.db.models import Q
from django.http import HttpRequest

from core import clock

MAX_LENGTH = 255  # characters
RANGE = "range"
# The time ranges that can be chosen with one click, counted back from now.
RANGES = {
    "15m": ("15 min", timedelta(minutes=15)),
    "1h": ("1 h", timedelta(hours=1)),
    "24h": ("24 h", timedelta(hours=24)),
    "7d": ("7 d", timedelta(days=7)),
}


@dataclass
class LogFilters:
    """Parsed filters: `given` for the form, `where` for the queryset, and `errors` by field."""

    given: dict[str, str] = field(default_factory=dict)
    where: Q = field(default_factory=Q)
    errors: dict[str, str] = field(default_factory=dict)

    @property
    def is_any(self) -> bool:
        """Whether any filter is set."""
        return any(self.given.values())

    @property
    def applied(self) -> dict[str, str]:
        """The filters that apply: the ones that are given and valid."""
        return {name: text for name, text in self.given.items() if text and name not in self.errors}

    def query(self, **changes: str) -> str:
        """Return the applied filters as a query string with its `?`, or "". A change to "" removes a filter."""
        changed = self.applied | changes
        kept = {name: text for name, text in changed.items() if text}
        return f"?{urlencode(kept)}" if kept else ""


def parse_filters(request: HttpRequest, conditions: Mapping[str, Callable[[str], Q]]) -> LogFilters:
    """Parse the filters. A condition raises ValueError with a message for an invalid value.

    If `from` or `to` is given, `range` is ignored.
    """
    found = LogFilters()
    for name, condition in conditions.items():
        text = request.GET.get(name, "").strip()
        if name == RANGE and (found.given.get("from") or found.given.get("to")):
            text = ""
        found.given[name] = text[:MAX_LENGTH]
        if not text:
            continue
        try:
            if len(text) > MAX_LENGTH:
                raise ValueError("This is too long.")
            found.where &= condition(text)
        except ValueError as error:
            found.errors[name] = str(error)
    return found


def choice_filter(choices: Mapping[str, Q]) -> Callable[[str], Q]:
    """Return a condition for a filter with these choices."""

    def condition(text: str) -> Q:
        if text not in choices:
            raise ValueError("This is not one of the choices.")
        return choices[text]

    return condition


def exact_filter(column: str) -> Callable[[str], Q]:
    """Return a condition that a column equals the text."""
    return lambda text: Q(**{column: text})


def time_filter(lookup: str) -> Callable[[str], Q]:
    """Return a condition for a datetime, in UTC unless it has an offset."""

    def condition(text: str) -> Q:
        return Q(**{lookup: parse_time(text)})

    return condition


def _since(text: str) -> Q:
    """Return the condition of one of RANGES. Raises ValueError for another."""
    if text not in RANGES:
        raise ValueError(f"The time ranges are {', '.join(RANGES)}.")
    return Q(at__gte=clock.now() - RANGES[text][1])


# Filters of every log.
ENTRY_FILTERS: dict[str, Callable[[str], Q]] = {
    "request_id": exact_filter("request_id"),
    "from": time_filter("at__gte"),
    "to": time_filter("at__lt"),
    RANGE: _since,
}


def parse_time(text: str) -> datetime:
    """Parse a datetime in ISO 8601 or as forms send it. Raises ValueError with a message."""
    try:
        found = datetime.fromisoformat(text)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValueError("Enter a time as 2026-01-31T14:05, in UTC.") from None


def select_options(choices: Mapping[str, Any], chosen: str) -> list[tuple[str, str, bool]]:
    """Return the options of a select: value, label, and whether it is selected."""
    return [(value, str(label), value == chosen) for value, label in choices.items()]


# Filters with a few choices: name, label, and choices with their labels.
Selects = Sequence[tuple[str, str, Mapping[str, str]]]
# Labels of the filters without choices.
_LABELS = {"who": "By", "request_id": "Request id", "from": "From", "to": "Before"}


@dataclass(frozen=True)
class Preset:
    """A link to a time range that keeps the other filters."""

    label: str
    link: str
    is_current: bool


@dataclass(frozen=True)
class Chip:
    """An applied filter, and the link that removes it."""

    label: str
    value: str
    link: str


@dataclass(frozen=True)
class Toolbar:
    """The toolbar above a log. Links are query strings. `?` alone is the log without filters."""

    presets: list[Preset]
    chips: list[Chip]
    selects: list[tuple[str, str, list[tuple[str, str, bool]]]]
    is_open: bool  # the form shows an error


def build_toolbar(filters: LogFilters, selects: Selects, days: int) -> Toolbar:
    """Return the toolbar of a log whose entries are kept for `days`."""
    return Toolbar(
        presets=_presets(filters, days),
        chips=_chips(filters, selects),
        selects=[(name, label, select_options(choices, filters.given[name])) for name, label, choices in selects],
        is_open=bool(filters.errors),
    )


def _presets(filters: LogFilters, days: int) -> list[Preset]:
    applied = filters.applied
    has_span = bool(applied.get("from") or applied.get("to"))
    chosen = None if has_span else applied.get(RANGE, "")
    spans = {name: label for name, (label, _) in RANGES.items()} | {"": f"{days} d"}
    elsewhere = {"from": "", "to": ""}
    return [
        Preset(label, filters.query(**elsewhere, **{RANGE: name}) or "?", name == chosen)
        for name, label in spans.items()
    ]


def _chips(filters: LogFilters, selects: Selects) -> list[Chip]:
    labels = _LABELS | {name: label for name, label, _ in selects}
    choices = {name: choices for name, _, choices in selects}
    return [
        Chip(labels[name], choices.get(name, {}).get(text, text), filters.query(**{name: ""}) or "?")
        for name, text in filters.applied.items()
        if name != RANGE
    ]
