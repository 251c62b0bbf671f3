"""Turn the counts of the rounds into medians, ratios and Markdown tables."""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks import aims
from benchmarks.aims import BEFORE, GROWN, NODE, OURS, STOCK
from benchmarks.rounds import API_OPERATIONS

# Signatures that our service makes for each refresh.
SIGNATURES_A_REFRESH = 2
# A server that used less of its core was waiting, or other work kept it from running.
BUSY = 0.85
LOADER_BUSY = 0.7


@dataclass
class Row:
    """The counts of one contender in one operation, by round. `runs_on` is the version and build of its runtime."""

    runs_on: str = ""
    starts: list[int] = field(default_factory=list)  # the start of the servers that each round belongs to
    rates: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)  # processor seconds of the server for each request
    shares: list[float] = field(default_factory=list)  # the share of its core that the server used
    median_ms: list[float] = field(default_factory=list)
    p95_ms: list[float] = field(default_factory=list)
    own_shares: list[float] = field(default_factory=list)  # the share of its core that the load generator used

    def add(self, counted: dict[str, Any], start: int = 0) -> None:
        seconds, requests = max(counted["seconds"], 1e-6), max(counted["requests"], 1)
        self.starts.append(start)
        self.rates.append(counted["requests"] / seconds)
        self.processor.append(counted["server_processor"] / requests)
        self.shares.append(counted["server_processor"] / seconds)
        self.median_ms.append(counted["median_ms"])
        self.p95_ms.append(counted["p95_ms"])
        self.own_shares.append(counted["own_processor"] / seconds)


# By operation and contender.
Rows = dict[tuple[str, str], Row]


@dataclass(frozen=True)
class Comparison:
    """The service compared with a contender in one operation. Above 1, the service is faster."""

    operation: str
    other: str
    by_rate: float
    by_processor: float
    lowest: float  # ratio of the rates in one start of the servers
    highest: float


def ratio(one: Iterable[float], other: Iterable[float]) -> float:
    """Return the median of the ratios of each round. Anything that slows a whole round slows both sides."""
    known = [a / b for a, b in zip(one, other, strict=True) if b]
    return statistics.median(known) if known else float("nan")


def compare(rows: Rows, operation: str, other: str) -> Comparison | None:
    """Return the comparison of our service with another, or of the grown copy with the one with few tokens.

    None if one of the two was not measured or returned no responses.
    """
    own = rows.get((operation, OURS))
    theirs = rows.get((operation, other)) or (rows.get(("userinfo", other)) if operation == "me" else None)
    if own is None or theirs is None or not all((*own.rates, *theirs.rates)):
        return None
    one, two = (theirs, own) if other == GROWN else (own, theirs)
    by_start = [
        ratio(*([rate for rate, of in zip(row.rates, row.starts, strict=True) if of == start] for row in (one, two)))
        for start in sorted(set(one.starts))
    ]
    return Comparison(
        operation,
        other,
        ratio(one.rates, two.rates),
        ratio(two.processor, one.processor),
        min(by_start),
        max(by_start),
    )


def comparisons(rows: Rows) -> list[Comparison]:
    """Return all possible comparisons, in the order of the measurements."""
    operations = list(dict.fromkeys(operation for operation, name in rows if name == OURS))
    others = list(dict.fromkeys(name for _, name in rows if name != OURS))
    found = (compare(rows, operation, other) for operation in operations for other in others)
    return [one for one in found if one is not None]


def markdown(head: Sequence[str], lines: Sequence[Sequence[str]], right: int) -> str:
    """Return a table, padded to be readable as plain text. Columns from `right` on hold numbers."""
    widths = [max(len(line[place]) for line in (head, *lines)) for place in range(len(head))]
    rule = ["-" * (width - 1) + (":" if place >= right else "-") for place, width in enumerate(widths)]
    padded = [
        [cell.rjust(width) if place >= right else cell.ljust(width) for place, (cell, width) in pairs]
        for line in (head, rule, *lines)
        for pairs in [list(enumerate(zip(line, widths, strict=True)))]
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in padded)


def aims_table(rows: Rows, grown: int) -> str:
    """Return the table of aims: the rate of our service as a ratio to the rate of each contender."""
    columns = [
        (BEFORE, "against the commit before"),
        (STOCK, "against stock toolkit"),
        (NODE, "against node-oidc-provider"),
        (GROWN, f"with {grown:,} tokens, against itself"),
    ]
    columns = [(name, label) for name, label in columns if any(other == name for _, other in rows)]
    operations = dict.fromkeys(operation for operation, name in rows if name == OURS)
    lines = []
    for operation in operations:
        cells = [compare(rows, operation, name) for name, _ in columns]
        texts = ["" if one is None else aims.aim_cell(operation, one.other, one.by_rate) for one in cells]
        lines.append([operation, *texts])
    return markdown(["requests a second", *(label for _, label in columns)], lines, right=9)


def table(rows: Rows) -> str:
    """Return the medians, a line for each operation and contender, with our ratios to each of them."""
    head = ["operation", "contender", "runs on", "req/s", "median ms", "p95 ms", "cpu ms", "core"]
    head += ["ours to it, req/s", "per cpu", "by start"]
    found = {(one.operation, one.other): one for one in comparisons(rows)}
    lines = []
    for (operation, name), row in rows.items():
        numbers = [statistics.median(each) for each in (row.rates, row.median_ms, row.p95_ms, row.processor)]
        said = [f"{numbers[0]:,.0f}", f"{numbers[1]:.2f}", f"{numbers[2]:.2f}", f"{1000 * numbers[3]:.3f}"]
        said.append(f"{100 * statistics.median(row.shares):.0f}%")
        lines.append([operation, name, row.runs_on, *said, *_compared(found.get((operation, name)))])
    # The others have no /v1/me, so it is compared with their userinfo.
    for (operation, other), one in found.items():
        if (operation, other) not in rows:
            lines.append([operation, f"{other}'s userinfo", *[""] * 6, *_compared(one)])
    return markdown(head, lines, right=3)


def _compared(one: Comparison | None) -> list[str]:
    if one is None:
        return ["", "", ""]
    # The ratio of the grown copy is the other way round: its own rate, divided by that of our service.
    turned = " of ours" if one.other == GROWN else ""
    return [f"{one.by_rate:.2f}{turned}", f"{one.by_processor:.2f}", f"{one.lowest:.2f} to {one.highest:.2f}"]


def beside_me(rows: Rows) -> str:
    """Return our rates for requests of the company's own APIs, as ratios to that of `/v1/me`; "" without them."""
    me, parts = rows.get(("me", OURS)), []
    for (operation, name), row in rows.items():
        if operation in API_OPERATIONS and name == OURS and me is not None:
            by_processor = ratio(me.processor, row.processor)
            parts.append(f"{operation} {ratio(row.rates, me.rates):.2f} ({by_processor:.2f} by processor time)")
    return f"Requests a second of ours, as ratios to its me: {', '.join(parts)}." if parts else ""


def signatures(rows: Rows, measured: list[tuple[float, float]]) -> str:
    """Return the RSA-2048 rate of the core, and the share of it that our refreshes reach."""
    rates, by_processor = [pair[0] for pair in measured], [pair[1] for pair in measured]
    text = f"RSA-2048 signatures that the servers' core makes alone: {statistics.median(rates):,.0f} a second."
    row = rows.get(("refresh", OURS))
    if row is None:
        return text
    share = ratio((SIGNATURES_A_REFRESH * rate for rate in row.rates), rates)
    per_processor = ratio((SIGNATURES_A_REFRESH / (seconds or float("inf")) for seconds in row.processor), by_processor)
    return f"{text} A refresh of ours has two in it: {share:.2f} of that rate, {per_processor:.2f} by processor time."


def doubts(rows: Rows) -> list[str]:
    """Return the reasons to doubt the figures of this run."""
    kept, busy = [], []
    for (operation, name), row in rows.items():
        share = statistics.median(row.shares)
        if 0 < share < BUSY:
            kept.append(f"{name} in {operation} ({100 * share:.0f}%)")
        if statistics.median(row.own_shares) > LOADER_BUSY:
            busy.append(f"{operation} of {name}")
    found = []
    if kept:
        found.append(f"less than {100 * BUSY:.0f}% of the core, for other work or for waiting, had {', '.join(kept)}")
    if busy:
        found.append(f"the load generator was nearly busy itself in {', '.join(busy)}")
    return found
