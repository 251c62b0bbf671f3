"""Types of the counters: Limit (for a request), RateLimitResult, Batch (usage to be sent)."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

WINDOW_SECONDS = 60


class Limit(NamedTuple):
    """At most `most` in a window, counted under `key`."""

    key: str
    most: int


class RateLimitResult(NamedTuple):
    """Whether a request is within all its limits; `limit` and `remaining` are those of the tightest limit."""

    allowed: bool
    limit: int
    remaining: int
    reset: int  # seconds until the window ends, 1 to 60


class Finished(NamedTuple):
    """The usage of finished calls: how often each field was counted, and the log entries."""

    counts: Mapping[str, int] = MappingProxyType({})
    entries: Sequence[str] = ()

    def __bool__(self) -> bool:
        return bool(self.counts or self.entries)


class Batch(NamedTuple):
    """Finished usage to be sent to Redis; its id identifies a batch that is sent again ("" if empty)."""

    id: str
    finished: Finished
    part: object = None  # the part of the counters that it was sent to


def tightest_result(allowed: bool, left: int, limits: Sequence[Limit], counts: Sequence[int]) -> RateLimitResult:
    remaining, place = min([(limits[place].most - count, place) for place, count in enumerate(counts)])
    return RateLimitResult(allowed, limits[place].most, max(remaining, 0), min(max(left, 1), WINDOW_SECONDS))
