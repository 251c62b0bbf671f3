"""Logs that are written in batches: entries travel with the counts (counters.py) and cost a request no statement.

Each log registers how its entries are stored; whoever drains the counters hands over what came along. An entry that
can't be stored is left out, so that it never keeps the others, or the counts, from being written.
"""

import json
import logging
from collections import defaultdict
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, TypeVar

from django.db import models

from devportal.lib.ratelimit.counters import LOG_ENTRY_PREFIX, counters

Writer = Callable[[list[dict[str, Any]]], None]
Row = TypeVar("Row", bound=models.Model)

log = logging.getLogger(__name__)

MAX_TEXT_BYTES = 2000  # bytes, of a text that has no limit of its own
_LARGEST = {"PositiveSmallIntegerField": 32_767, "PositiveIntegerField": 2**31 - 1}
_LARGEST_KEY = 2**63 - 1

_writers: dict[str, Writer] = {}


def register_writer(name: str, writer: Writer) -> None:
    """Have `writer` store the entries of a log; it is called inside the transaction that settles their batch."""
    _writers[name] = writer


def append(name: str, values: dict[str, Any]) -> None:
    """Add an entry, of values that JSON can hold; it is written within seconds, or dropped where too many wait."""
    counters().finished(LOG_ENTRY_PREFIX + json.dumps([name, values], separators=(",", ":")))


def is_entry(field: str) -> bool:
    """Tell whether a field that the counters held is an entry of a log."""
    return field.startswith(LOG_ENTRY_PREFIX)


def write_entries(fields: Mapping[str, int]) -> None:
    """Have each log store its entries, in the order of their time. Call it inside a transaction.

    An entry stands there as often as it was noted.
    """
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for field, times in fields.items():
        name, values = _read(field)
        found[name] += [values] * times
    for name, entries in sorted(found.items()):
        if name in _writers:
            _writers[name](sorted(entries, key=lambda entry: entry["at"]))


def _read(field: str) -> tuple[str, dict[str, Any]]:
    """Return the log and the values of an entry; no log for what this version can't read."""
    try:
        name, values = json.loads(field.removeprefix(LOG_ENTRY_PREFIX))
        # What no clock says would stop at the database.
        datetime.fromtimestamp(values["at"], UTC)
        _writers[name]
    except (ValueError, TypeError, KeyError, OverflowError, OSError, RecursionError):
        log.warning("A log entry that can't be read is left out: %.100r", field)
        return "", {}
    return name, values


def storable_text(text: str, longest: int) -> str:
    """Return a text from outside as a database takes it: no NUL, nothing that is no character, cut to so many bytes."""
    proper = text.replace("\x00", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace")
    return proper[:longest].decode("utf-8", "ignore")


def build_row(model: type[Row], values: Mapping[str, Any]) -> Row | None:
    """Return a row made of an entry, every value as its column takes it; None where one can't be.

    Values that the table has no column for, as another version may send, are left out.
    """
    fields = [field for field in model._meta.concrete_fields if not field.primary_key]
    try:
        made = model(**{f.attname: _fitting(f, values[f.attname]) for f in fields if f.attname in values})
    except (TypeError, ValueError, OverflowError, OSError):
        made = None
    if made is None or any(getattr(made, field.attname) is None and not field.null for field in fields):
        log.warning("An entry of %s that can't be stored is left out.", model.__name__)
        return None
    return made


def _fitting(field: Any, value: Any) -> Any:
    if isinstance(field, models.DateTimeField):
        return datetime.fromtimestamp(value, UTC)
    if isinstance(field, models.CharField | models.TextField):
        return storable_text(str(value), field.max_length or MAX_TEXT_BYTES)
    return min(max(int(value), 0), _LARGEST.get(field.get_internal_type(), _LARGEST_KEY))
