"""The filter bar above a list: the text, the most useful filters, the time, and the rest below "More"."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

# Filters with a few choices: name, label, and choices with their labels.
Selects = Sequence[tuple[str, str, Mapping[str, str]]]

# The filters that are always in sight, each with the text of the option without it. The others are below "More".
_IN_SIGHT = {
    "client": "All apps",
    "outcome": "All outcomes",
    "status": "All statuses",
    "state": "All states",
    "kind": "All actions",
    "by": "Everyone",
    "type": "All types",
    "review": "All reviews",
}
_ALL = "All"
_TIMES = ("from", "to")
# Labels of the filters without choices.
_LABELS = {
    "who": "App or key id",
    "request_id": "Request id",
    "sub": "User id",
    "jti": "jti",
    "from": "From (UTC)",
    "to": "Before (UTC)",
}


@dataclass(frozen=True)
class Select:
    """A filter with choices: value, label, and whether it is chosen."""

    name: str
    label: str
    options: list[tuple[str, str, bool]]


@dataclass(frozen=True)
class TextFilter:
    """A filter that people type, or choose as a time."""

    name: str
    label: str
    value: str
    error: str = ""

    @property
    def is_time(self) -> bool:
        return self.name in _TIMES


@dataclass(frozen=True)
class Chip:
    """An applied filter that is not in sight, and the link that removes it."""

    label: str
    value: str
    link: str


@dataclass(frozen=True)
class FilterBar:
    """The filters of a list. `kept` are parameters that the form keeps, by name."""

    search: TextFilter | None = None
    selects: list[Select] = field(default_factory=list)
    more: list[Select] = field(default_factory=list)
    texts: list[TextFilter] = field(default_factory=list)
    chips: list[Chip] = field(default_factory=list)
    kept: dict[str, str] = field(default_factory=dict)
    is_any: bool = False

    @property
    def is_open(self) -> bool:
        """Whether a filter below "More" has an error."""
        return any(text.error for text in self.texts)


def build_bar(filters: Any, selects: Selects, *, search: str = "", span: Select | None = None) -> FilterBar:
    """Return the bar of a list with `filters` (devportal.console.logs.filters.LogFilters).

    `search` is the label of the text filter `q`, and `span` the choice of a time range.
    """
    given, errors = filters.given, filters.errors
    chosen = [_select(name, label, choices, given[name]) for name, label, choices in selects]
    in_sight = [select for select in chosen if select.name in _IN_SIGHT]
    choices = {name: choices for name, _, choices in selects}
    labels = _LABELS | {name: label for name, label, _ in selects}
    return FilterBar(
        search=TextFilter("q", search, given["q"], errors.get("q", "")) if search else None,
        selects=[*in_sight, span] if span else in_sight,
        more=[select for select in chosen if select.name not in _IN_SIGHT],
        texts=[
            TextFilter(name, label, given[name], errors.get(name, ""))
            for name, label in _LABELS.items()
            if name in given
        ],
        chips=_chips(filters, labels, choices),
        is_any=filters.is_any,
    )


def _chips(filters: Any, labels: Mapping[str, str], choices: Mapping[str, Mapping[str, str]]) -> list[Chip]:
    applied = {name: text for name, text in filters.applied.items() if name in labels and name not in _IN_SIGHT}
    chips = []
    if all(name in applied for name in _TIMES):
        first, last = (applied.pop(name).replace("T", " ") for name in _TIMES)
        chips = [Chip("Time (UTC)", f"{first} to {last}", filters.query(**dict.fromkeys(_TIMES, "")) or "?")]
    for name, text in applied.items():
        chips.append(Chip(labels[name], choices.get(name, {}).get(text, text), filters.query(**{name: ""}) or "?"))
    return chips


def range_bar(
    ranges: Sequence[tuple[str, str, bool]], *, kept: Mapping[str, str] | None = None, chips: Sequence[Chip] = ()
) -> FilterBar:
    """Return the bar of a page of figures: the time range, and chips for the filters that the form keeps."""
    return FilterBar(selects=[Select("range", "Time", list(ranges))], kept=dict(kept or {}), chips=list(chips))


def _select(name: str, label: str, choices: Mapping[str, str], chosen: str) -> Select:
    options = {"": _IN_SIGHT.get(name, _ALL)} | dict(choices)
    return Select(name, label, [(value, str(text), value == chosen) for value, text in options.items()])
