"""What the rounds counted, as medians, ratios and a table."""

import statistics
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Row:
    """One contender's counts in one operation, round by round."""

    rates: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)  # seconds of server processor a request
    shares: list[float] = field(default_factory=list)  # of its core that the server used
    median_ms: list[float] = field(default_factory=list)
    p95_ms: list[float] = field(default_factory=list)
    own_shares: list[float] = field(default_factory=list)  # of its core that the load generator used

    def add(self, counted: dict[str, Any]) -> None:
        seconds, requests = max(counted["seconds"], 1e-6), max(counted["requests"], 1)
        self.rates.append(counted["requests"] / seconds)
        self.processor.append(counted["server_processor"] / requests)
        self.shares.append(counted["server_processor"] / seconds)
        self.median_ms.append(counted["median_ms"])
        self.p95_ms.append(counted["p95_ms"])
        self.own_shares.append(counted["own_processor"] / seconds)


@dataclass(frozen=True)
class Aim:
    """`row` of `operation` should have at least `least` times the rate of `other` in `other_operation`."""

    operation: str
    row: str
    other_operation: str
    other: str
    least: float


AIMS = (
    Aim("refresh", "ours", "refresh", "node-oidc-provider", 0.8),
    Aim("refresh", "ours", "refresh", "stock", 8.0),
    Aim("me", "ours", "userinfo", "node-oidc-provider", 1.0),
    Aim("me", "ours", "userinfo", "stock", 5.0),
)
# Of the signatures that its core could make and nothing else; a refresh needs two.
SIGNATURE_AIM = 0.45
SIGNATURES_A_REFRESH = 2
# Of the rate with a small database.
GROWN_AIM = 0.95

Rows = dict[tuple[str, str], Row]


def ratio(one: Iterable[float], other: Iterable[float]) -> float:
    """Return the median of the ratios, round by round: what slows a whole round slows both sides of it."""
    known = [a / b for a, b in zip(one, other, strict=True) if b]
    return statistics.median(known) if known else float("nan")


def table(rows: Rows) -> str:
    """Return the medians, a line for each operation and contender."""
    head = f"{'operation':<10} {'contender':<22} {'req/s':>8} {'median ms':>10} {'p95 ms':>8} {'core':>6} {'cpu ms':>8}"
    lines = [head, "-" * len(head)]
    for (operation, name), row in rows.items():
        median = statistics.median
        lines.append(
            f"{operation:<10} {name:<22} {median(row.rates):>8.1f} {median(row.median_ms):>10.2f}"
            f" {median(row.p95_ms):>8.2f} {100 * median(row.shares):>5.0f}% {1000 * median(row.processor):>8.3f}"
        )
    return "\n".join(lines)


def ratios(rows: Rows) -> str:
    """Return how the service compares with each other contender, and whether the aims are met."""
    lines = [f"{'ours to':<44} {'req/s':>8} {'per cpu':>8}", "-" * 62]
    compared = [
        (operation, other_operation, name)
        for operation, own_name in rows
        if own_name == "ours"
        for other_operation, name in rows
        if not name.startswith("ours") and other_operation == ("userinfo" if operation == "me" else operation)
    ]
    for operation, other_operation, name in compared:
        mine, theirs = rows[operation, "ours"], rows[other_operation, name]
        label = f"{operation} : {name}" + (f" {other_operation}" if operation != other_operation else "")
        aim = next((a for a in AIMS if (a.operation, a.other) == (operation, name)), None)
        by_rate = ratio(mine.rates, theirs.rates)
        said = "" if aim is None else f"  aim {aim.least}: {'met' if by_rate >= aim.least else 'MISSED'}"
        lines.append(f"{label:<44} {by_rate:>7.2f}x {ratio(theirs.processor, mine.processor):>7.2f}x{said}")
    return "\n".join(lines)


def growth(rows: Rows) -> str:
    """Return how the service does with many rows in its database, beside itself with few."""
    lines = []
    for operation, name in rows:
        if name == "ours, grown":
            small, large = rows[operation, "ours"], rows[operation, name]
            share, per_processor = ratio(large.rates, small.rates), ratio(small.processor, large.processor)
            said = "met" if share >= GROWN_AIM else "MISSED"
            text = f"{operation} with the grown database: {share:.2f} of the rate, {per_processor:.2f} per cpu"
            lines.append(f"{text}  aim {GROWN_AIM}: {said}")
    return "\n".join(lines)


def signatures(rows: Rows, measured: list[tuple[float, float]]) -> str:
    """Return the core's RSA-2048 rate, and how much of it the service turns into answers."""
    rates, by_processor = [pair[0] for pair in measured], [pair[1] for pair in measured]
    text = f"RSA-2048 signatures on one core: {statistics.median(rates):.0f} a second"
    row = rows.get(("refresh", "ours"))
    if row is None:
        return text
    share = ratio((SIGNATURES_A_REFRESH * rate for rate in row.rates), rates)
    per_processor = ratio((SIGNATURES_A_REFRESH / (seconds or float("inf")) for seconds in row.processor), by_processor)
    said = "met" if share >= SIGNATURE_AIM else "MISSED"
    used = f"ours signs twice a refresh: {share:.2f} of that, {per_processor:.2f} per cpu"
    return f"{text}\n{used}  aim {SIGNATURE_AIM}: {said}"


def doubts(rows: Rows) -> list[str]:
    """Return what makes figures of this run doubtful."""
    found = []
    for (operation, name), row in rows.items():
        share = statistics.median(row.shares)
        if 0 < share < 0.85:
            found.append(
                f"{name} had {100 * share:.0f}% of a core in {operation}: other work took the rest, or it waited"
            )
        if statistics.median(row.own_shares) > 0.7:
            found.append(f"the load generator was nearly busy itself in {operation} of {name}")
    return found
