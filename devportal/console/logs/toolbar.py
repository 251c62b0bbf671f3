"""The toolbar above a log: links to spans of time, the filters that apply as chips, and the form with all of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from devportal.console.logs.filters import RANGE, RANGES, LogFilters, select_options

# Filters with a few choices: name, label, choices with their labels.
Selects = Sequence[tuple[str, str, Mapping[str, str]]]
# Labels of the filters without choices.
_LABELS = {"who": "By", "request_id": "Request id", "from": "From", "to": "Before"}


@dataclass(frozen=True)
class Preset:
    """A link to one span of time, with the other filters as they are."""

    label: str
    link: str
    is_current: bool


@dataclass(frozen=True)
class Chip:
    """A filter that applies, and the link without it."""

    label: str
    value: str
    link: str


@dataclass(frozen=True)
class Toolbar:
    """What stands above a log. Links are query strings; `?` alone is the log without filters."""

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
