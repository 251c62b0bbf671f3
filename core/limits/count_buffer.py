"""Exact counts of events other than API calls: they wait together with the usage counts, and are written with them.

A kind of counts registers a writer, which `api.usage_counts.flush_usage` calls in the transaction of the batch. Unlike
log entries (log_buffer.py), counts take no space for each event: counting the same label again only increases a number.
The labels of a count must therefore come from a bounded set.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping

from core.limits.counters import counters

SEPARATOR = "|"
Writer = Callable[[Mapping[str, int]], None]

_writers: dict[str, Writer] = {}


def register_writer(kind: str, writer: Writer) -> None:
    """Register the writer of a kind of counts, whose name begins with a letter (counts of calls begin with a digit).

    The writer gets the number of times each text was added, in the transaction that stores the batch.
    """
    _writers[kind] = writer


def add(kind: str, text: str) -> None:
    """Count `text` once, without SQL; it is written to the database within seconds."""
    counters().finished(f"{kind}{SEPARATOR}{text}")


def write_counts(counts: Mapping[str, int]) -> dict[str, int]:
    """Pass each kind its counts, and return the counts that belong to no kind. Call this in a transaction."""
    found: dict[str, dict[str, int]] = defaultdict(dict)
    others: dict[str, int] = {}
    for field, times in counts.items():
        kind, _, text = field.partition(SEPARATOR)
        if kind in _writers:
            found[kind][text] = times
        else:
            others[field] = times
    for kind, texts in sorted(found.items()):
        _writers[kind](texts)
    return others
