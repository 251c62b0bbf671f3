"""Batched logs (request log, sign-in log) and counts: they are queued with the usage counts (counters.py), without SQL.

Each log and each kind of counts registers a writer, which `api.usage_counts.flush_usage` calls. An entry that can't be
stored is dropped, so that the other entries can be stored.

Counting the same label again only increases a number, so counts take no space for each event. The labels of a count
must therefore come from a bounded set.
"""

import json
import logging
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, TypeVar

from django.db import models

from core import clock
from core.database.storable import LARGEST_KEY
from core.limits.counters import counters

Writer = Callable[[list[dict[str, Any]]], None]
CountWriter = Callable[[Mapping[str, int]], None]
Row = TypeVar("Row", bound=models.Model)

log = logging.getLogger(__name__)

MAX_TEXT_BYTES = 2000  # for a text without a separate limit
_LARGEST = {"PositiveSmallIntegerField": 32_767, "PositiveIntegerField": 2**31 - 1}

_encode = json.JSONEncoder(separators=(",", ":")).encode
SEPARATOR = "|"  # between the kind of a count and its label
_writers: dict[str, Writer] = {}
_count_writers: dict[str, CountWriter] = {}


class EntryBudget:
    """The number of entries of each kind in the current minute in this process, to limit floods early."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._minute = 0
        self._had: Counter[tuple[str, ...]] = Counter()

    def is_left(self, most: int, *kind: str) -> bool:
        """Count an entry, and return whether it is among the first `most` of its kind."""
        minute = clock.timestamp() // 60
        with self._lock:
            if minute != self._minute:
                self._minute, self._had = minute, Counter()
            self._had[kind] += 1
            return self._had[kind] <= most


def register_writer(name: str, writer: Writer) -> None:
    """Register the writer of a log. It is called in the transaction that stores the batch."""
    _writers[name] = writer


def append(name: str, values: dict[str, Any]) -> None:
    """Add an entry of JSON values; it is written within seconds, or dropped if too many are waiting."""
    counters().logged(_encode([name, values]))


def register_count_writer(kind: str, writer: CountWriter) -> None:
    """Register the writer of a kind of counts, whose name begins with a letter (counts of calls begin with a digit).

    The writer gets the number of times each text was counted, in the transaction that stores the batch.
    """
    _count_writers[kind] = writer


def count(kind: str, text: str) -> None:
    """Count `text` once, without SQL; it is written to the database within seconds."""
    counters().finished(f"{kind}{SEPARATOR}{text}")


def write_counts(counts: Mapping[str, int]) -> dict[str, int]:
    """Pass each kind its counts, and return the counts that belong to no kind. Call this in a transaction."""
    found: dict[str, dict[str, int]] = defaultdict(dict)
    others: dict[str, int] = {}
    for field, times in counts.items():
        kind, _, text = field.partition(SEPARATOR)
        if kind in _count_writers:
            found[kind][text] = times
        else:
            others[field] = times
    for kind, texts in sorted(found.items()):
        _count_writers[kind](texts)
    return others


def read_entries(name: str, waiting: Iterable[str]) -> list[dict[str, Any]]:
    """Return the waiting entries of one log, in the order of their time."""
    opening = _encode([name])[:-1]
    found = (_read(text) for text in waiting if text.startswith(opening))
    return sorted((values for of, values in found if of == name), key=lambda entry: entry["at"])


def write_entries(waiting: Iterable[str]) -> None:
    """Pass each log its entries, in the order of their time. Call this in a transaction."""
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for text in waiting:
        name, values = _read(text)
        found[name].append(values)
    for name, entries in sorted(found.items()):
        if name in _writers:
            _writers[name](sorted(entries, key=lambda entry: entry["at"]))


def _read(text: str) -> tuple[str, dict[str, Any]]:
    """Return the log and the values of an entry; no log if this version can't read the entry."""
    try:
        name, values = json.loads(text)
        # A time out of range would only fail at the database, and stop the batch.
        datetime.fromtimestamp(values["at"], UTC)
        _writers[name]
    except (ValueError, TypeError, KeyError, OverflowError, OSError, RecursionError):
        log.warning("Skipped a log entry that can't be read: %.100r", text)
        return "", {}
    return name, values


def storable_text(text: str, longest: int) -> str:
    """Return external text as the database can store it: without NUL and surrogates, at most `longest` bytes."""
    if text.isascii() and len(text) <= longest and "\x00" not in text:
        return text
    proper = text.replace("\x00", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace")
    return proper[:longest].decode("utf-8", "ignore")


def build_row(model: type[Row], values: Mapping[str, Any]) -> Row | None:
    """Return an unsaved row with an entry's values, shortened to fit their columns; None if a value does not fit.

    Values without a column, which another version may send, are ignored.
    """
    fields = [field for field in model._meta.concrete_fields if not field.primary_key]
    try:
        made = model(**{f.attname: _fitting(f, values[f.attname]) for f in fields if f.attname in values})
    except (TypeError, ValueError, OverflowError, OSError):
        made = None
    if made is None or any(getattr(made, field.attname) is None and not field.null for field in fields):
        log.warning("Skipped an entry of %s that can't be stored.", model.__name__)
        return None
    return made


def _fitting(field: Any, value: Any) -> Any:
    if isinstance(field, models.DateTimeField):
        return datetime.fromtimestamp(value, UTC)
    if isinstance(field, models.JSONField):
        return dict(value)
    if isinstance(field, models.CharField | models.TextField):
        return storable_text(str(value), field.max_length or MAX_TEXT_BYTES)
    return min(max(int(value), 0), _LARGEST.get(field.get_internal_type(), LARGEST_KEY))
