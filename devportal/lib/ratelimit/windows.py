"""What counters with fixed windows of a minute are asked, and what they say."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

WINDOW_SECONDS = 60


@dataclass(frozen=True)
class Limit:
    """At most `most` in a window, counted under `key`."""

    key: str
    most: int


@dataclass(frozen=True)
class RateLimitResult:
    """Whether a request is within all its limits; `limit` and `remaining` are the tightest one's."""

    allowed: bool
    limit: int
    remaining: int
    reset: int  # seconds until the window ends, 1 to 60


@dataclass(frozen=True)
class Batch:
    """What was finished, on its way to the shared counters; its id tells one that comes again ("" if empty)."""

    id: str
    fields: Mapping[str, int]


def tightest_result(allowed: bool, left: int, limits: Sequence[Limit], counts: Sequence[int]) -> RateLimitResult:
    tightest = min(zip(limits, counts, strict=True), key=lambda pair: pair[0].most - pair[1])
    limit, count = tightest
    return RateLimitResult(allowed, limit.most, max(limit.most - count, 0), min(max(left, 1), WINDOW_SECONDS))
