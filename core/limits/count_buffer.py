"""Exact counts of what is no call of the API: they wait beside the counts of usage, and are written with them.

A kind of counts registers a writer, which `api.usage_counts.flush_usage` calls within the transaction of the batch.
Unlike entries of a log (log_buffer.py) counts take no room for each event: what is counted again only grows a number.
So the labels of a count must come from a bounded set.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping

from core.limits.counters import counters

SEPARATOR = "|"
Writer = Callable[[Mapping[str, int]], None]

_writers: dict[str, Writer] = {}


def register_writer(kind: str, writer: Writer) -> None:
    """Register the writer of a kind of counts, whose name begins with a letter: counts of calls begin with a digit.

    It gets how often each text was added, inside the transaction that stores the batch.
    """
    _writers[kind] = writer


def add(kind: str, text: str) -> None:
    """Count `text` once, without SQL; it is written within seconds."""
    counters().finished(f"{kind}{SEPARATOR}{text}")


def write_counts(counts: Mapping[str, int]) -> dict[str, int]:
    """Have each kind store its counts, and return those that belong to none. Call it inside a transaction."""
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
