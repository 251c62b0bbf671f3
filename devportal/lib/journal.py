"""Logs that are written in batches: entries travel with the counts (counters.py) and cost a request no statement.

Each log registers how its entries are stored; whoever drains the counters hands over what came along.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

from devportal.lib.counters import LOG_ENTRY, counters

Writer = Callable[[list[dict[str, Any]]], None]

_writers: dict[str, Writer] = {}


def register(log: str, writer: Writer) -> None:
    """Have `writer` store the entries of a log; it is called inside the transaction that settles their batch."""
    _writers[log] = writer


def note(log: str, values: dict[str, Any]) -> None:
    """Add an entry, of values that JSON can hold; it is written within seconds, or dropped where too many wait."""
    counters().finished(LOG_ENTRY + json.dumps([log, values], separators=(",", ":")))


def is_entry(field: str) -> bool:
    """Tell whether a field that the counters held is an entry of a log."""
    return field.startswith(LOG_ENTRY)


def write(fields: Iterable[str]) -> None:
    """Have each log store its entries. Call it inside a transaction."""
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for field in fields:
        log, values = json.loads(field.removeprefix(LOG_ENTRY))
        found[log].append(values)
    for log, entries in sorted(found.items()):
        _writers[log](entries)


def stored(text: str, longest: int) -> str:
    """Return a text from outside as a database takes it: without NULs, cut."""
    return text.replace("\x00", "\N{REPLACEMENT CHARACTER}")[:longest]
