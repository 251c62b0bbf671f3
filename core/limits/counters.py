"""Rate limits and usage counts of the endpoints for apps: one-minute windows, in one round trip to Redis.

On Redis, one script does everything with Redis's clock, so the limits are exact whatever the number of workers. The
embedded environment does the same in the process. While Redis is down or slow, it is not asked for a moment, and the
process counts by itself: bounded, local, and logged.
"""

import contextlib
import functools
import logging
import threading
import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from itertools import islice
from random import SystemRandom
from typing import cast

import redis
from django.conf import settings

from core import clock
from core.credentials import random_text
from core.limits.redis import (
    ENTRIES_A_BATCH,
    WINDOW_SECONDS,
    Batch,
    Breaker,
    Finished,
    Limit,
    RateLimitResult,
    RedisCounters,
    counters_at,
    process_breaker,
    tightest_result,
)
from core.redis_address import LOST
from core.telemetry import metrics

__all__ = ["Counters", "Finished", "Limit", "LocalCounters", "RateLimitResult", "RedisCounters", "counters"]

log = logging.getLogger(__name__)

# The number of local counts that one request transfers to Redis after an outage.
FIELDS_PER_TRIP = 200
# The most log entries that wait (the script has the same number); more are dropped.
MOST_ENTRIES = 200_000
# The most different usage counts in a process while neither Redis nor the database takes them; more are dropped.
MOST_COUNTS = 200_000


class LocalCounters:
    """Counters in this process, with the semantics of RedisCounters."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # By window. It is bounded by time and not by number, so no count is dropped for others while it still matters.
        self._counts: dict[int, Counter[str]] = {}
        self._usage: Counter[str] = Counter()
        self._entries: deque[str] = deque()
        self.dropped = 0  # calls and entries that were dropped because there was no space

    def take(self, limits: Sequence[Limit], finished: Finished) -> RateLimitResult:
        """Count a request under all its limits unless one of them is reached; store the finished usage."""
        moment = clock.timestamp()
        window = moment // WINDOW_SECONDS
        with self._lock:
            self._keep(finished)
            here = self._counts.get(window) or self._begin(window)
            counts = [here[limit.key] for limit in limits]
            allowed = all(count < limit.most for limit, count in zip(limits, counts, strict=True))
            if allowed:
                counts = [count + 1 for count in counts]
                for limit, count in zip(limits, counts, strict=True):
                    here[limit.key] = count
        return tightest_result(allowed, WINDOW_SECONDS - moment % WINDOW_SECONDS, limits, counts)

    def _begin(self, window: int) -> Counter[str]:
        # Keep the previous window, for calls that began in it.
        self._counts = {kept: counts for kept, counts in self._counts.items() if kept >= window - 1}
        return self._counts.setdefault(window, Counter())

    def _keep(self, finished: Finished) -> None:
        if len(self._usage) + len(finished.counts) <= MOST_COUNTS:
            self._usage.update(finished.counts)
        else:
            self._keep_known(finished)
        room = max(MOST_ENTRIES - len(self._entries), 0)
        self.dropped += max(len(finished.entries) - room, 0)
        self._entries.extend(islice(finished.entries, room))

    def _keep_known(self, finished: Finished) -> None:
        for field, count in finished.counts.items():
            if field in self._usage or len(self._usage) < MOST_COUNTS:
                self._usage[field] += count
            else:
                self.dropped += count

    @property
    def fields(self) -> int:
        """Return the number of different counts and entries that wait to be written."""
        return len(self._usage) + len(self._entries)

    def take_some(self, most: int) -> Finished:
        """Remove and return at most `most` counts and entries of the finished usage."""
        with self._lock:
            counts = {field: self._usage.pop(field) for field in list(islice(self._usage, most))}
            entries = min(most - len(counts), len(self._entries))
            return Finished(counts, [self._entries.popleft() for _ in range(entries)])

    def drain(self) -> tuple[str, Finished] | None:
        """Return the finished usage since the last call with a batch id, or None if there is nothing."""
        with self._lock:
            finished = Finished(dict(self._usage), list(self._entries))
            self._usage.clear()
            self._entries.clear()
        return (random_text(22), finished) if finished else None

    def give_back(self, finished: Finished) -> None:
        """Store usage that could not be written, for the next time."""
        with self._lock:
            self._keep(finished)

    def settle(self, batch_id: str) -> None:
        """Do nothing: `drain` has already removed the batch."""


class Counters:
    """The counters of this process: they use Redis, and fall back to the process while Redis is unavailable."""

    def __init__(self, shared: RedisCounters | None, breaker: Breaker | None = None) -> None:
        self.shared = shared
        self.local = LocalCounters()
        self.breaker = breaker or Breaker()
        self._lock = threading.Lock()
        self._finished: dict[str, int] = {}
        self._entries: deque[str] = deque()
        self._waits_since: float | None = None  # time.monotonic of the oldest of these two
        # Batches that were sent without a response: Redis may have counted them or not.
        self._doubtful: deque[Batch] = deque()

    @property
    def failures(self) -> int:
        """Return how often Redis did not respond."""
        return self.breaker.failures

    def finished(self, field: str) -> None:
        """Add the usage of a finished call; the next request sends it to Redis, or `send_waiting`."""
        with self._lock:
            self._finished[field] = self._finished.get(field, 0) + 1
            self._waits_since = self._waits_since or time.monotonic()

    def logged(self, entry: str) -> None:
        """Add a log entry, which is sent in the same way, or dropped if too many are waiting."""
        with self._lock:
            if len(self._entries) < MOST_ENTRIES:
                self._entries.append(entry)
                self._waits_since = self._waits_since or time.monotonic()

    def _take_finished(self) -> Finished:
        with self._lock:
            counts, self._finished = self._finished, {}
            entries, self._entries = self._entries, deque()
            self._waits_since = None
        return Finished(counts, entries)

    def take(self, limits: Sequence[Limit]) -> RateLimitResult:
        """Count a request under its limits and return the result. Never raises: without Redis it counts locally."""
        if self.shared is not None and self.breaker.may_ask():
            result = self._send(self.shared.part_of(limits), limits)
            if result is not None:
                return result
        return self.local.take(limits, self._take_finished())

    def _send(self, part: RedisCounters, limits: Sequence[Limit]) -> RateLimitResult | None:
        """Send a batch, and count under the limits if there are any; return None without limits or without Redis."""
        batch = self._next_batch(part)
        result = None
        try:
            if batch.part is not part and batch.finished:  # send it again to the part that did not respond
                cast(RedisCounters, batch.part).keep(batch)
                batch = Batch("", Finished(), part)
            if limits:
                result = part.take(limits, batch.finished, batch.id)
            else:
                part.keep(batch)
        except LOST as error:
            self._take_back(batch, in_doubt=isinstance(error, redis.TimeoutError))
            self.breaker.failed(error)
        else:
            self.breaker.answered()
        return result

    def _next_batch(self, part: RedisCounters) -> Batch:
        """Return the batch to send: one without a response before new ones."""
        if self._doubtful:
            with contextlib.suppress(IndexError):  # another thread took it
                return self._doubtful.popleft()
        finished = self._take_finished()
        if self.local.fields:  # counted while Redis did not respond
            more = self.local.take_some(FIELDS_PER_TRIP)
            finished = Finished(Counter(finished.counts) + Counter(more.counts), [*finished.entries, *more.entries])
        return Batch(random_text(16) if finished else "", finished, part)

    def _take_back(self, batch: Batch, in_doubt: bool) -> None:
        if in_doubt and batch.finished:
            self._doubtful.append(batch)
        else:
            self.local.give_back(batch.finished)

    def send_waiting(self, seconds: float) -> None:
        """Send usage that has waited for `seconds` without a request; a timer calls this for idle processes."""
        if self.shared is None:
            return
        part = self.shared.parts[0]
        while self._is_waiting(seconds) and self.breaker.may_ask():
            self._send(part, [])

    def _is_waiting(self, seconds: float) -> bool:
        since = self._waits_since
        is_late = since is not None and time.monotonic() - since >= seconds
        return is_late or bool(self._doubtful) or bool(self.local.fields)

    def answers(self) -> bool:
        """Return whether all shared counters respond; True if there are none."""
        if self.shared is None:
            return True
        if not self.breaker.may_ask():
            return False
        try:
            for part in self.shared.parts:
                part.ask()
        except LOST as error:
            self.breaker.failed(error)
            return False
        self.breaker.answered()
        return True

    def _settle_doubtful(self) -> None:
        """Send batches without a response again; if Redis is unavailable, count them locally."""
        answers = self.shared is not None
        while self._doubtful:
            batch = self._doubtful.popleft()
            try:
                if answers:
                    cast(RedisCounters, batch.part).keep(batch)
                    continue
            except LOST:
                answers = False
            self.local.give_back(batch.finished)

    def drain_here(self) -> "Iterator[tuple[LocalCounters, str, Finished]]":
        """Yield what this process counted locally, like `drain`; batches without a response stay."""
        if local := self.local.drain():
            yield self.local, *local

    def drain(self) -> "Iterator[tuple[LocalCounters | RedisCounters, str, Finished]]":
        """Yield the batches that wait to be written, with the counters that hold them.

        Settle each batch before you ask for the next: log entries come in several batches, one after the other.
        """
        self._settle_doubtful()
        self.local.give_back(self._take_finished())
        yield from self.drain_here()
        parts = self.shared.parts if self.shared is not None else ()
        for part in SystemRandom().sample(parts, len(parts)):  # several processes that drain at once share the work
            try:
                yield from _drain_part(part)
            except LOST as error:
                self.breaker.failed(error)
                return


def _drain_part(part: RedisCounters) -> Iterator[tuple[RedisCounters, str, Finished]]:
    if counts := part.drain():
        yield part, *counts
    while entries := part.drain_entries():
        yield part, *entries
        if len(entries[1].entries) < ENTRIES_A_BATCH:
            return  # newer usage waits for the next time


@functools.cache
def counters() -> Counters:
    """Return this process's counters."""
    shared = counters_at(settings.REDIS_URL) if settings.REDIS_URL else None
    return Counters(shared, process_breaker())


class Throttled(Exception):
    """Too many requests; `retry_after` is a whole number of seconds from 1 to 60."""

    def __init__(self, retry_after: int) -> None:
        super().__init__(f"too many requests; try again in {retry_after} s")
        self.retry_after = retry_after


def check_rate(group: str, key: str, per_minute: int) -> None:
    """Count a request under `key` in `group`. Raises Throttled after `per_minute` requests in a minute."""
    check_limits(group, Limit(f"{group}:{key}", per_minute))


def check_limits(group: str, *limits: Limit) -> None:
    """Count a request under all its limits, in one round trip. Raises Throttled if one of them is reached."""
    result = counters().take(limits)
    if not result.allowed:
        metrics.LIMITS_MET.count(group)
        raise Throttled(result.reset)
