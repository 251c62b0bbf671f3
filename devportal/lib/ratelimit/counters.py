"""Rate limits and usage of the endpoints for apps: fixed windows of a minute, in one round trip to Redis.

On Redis one script does it all, by Redis's own clock, so the limits are exact whatever the number of workers. In the
embedded environment the same is done in the process. A Redis that is down or slow is left alone for a moment, and
counts in the process take over: bounded, local, and logged.
"""

import contextlib
import functools
import logging
import threading
import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from itertools import islice

import redis
from django.conf import settings

from devportal.lib import clock
from devportal.lib.credentials import random_text
from devportal.lib.ratelimit.redis_counters import ENTRIES_A_BATCH, RedisCounters
from devportal.lib.ratelimit.windows import WINDOW_SECONDS, Batch, Finished, Limit, RateLimitResult, tightest_result
from devportal.lib.telemetry import metrics

__all__ = ["Counters", "Finished", "Limit", "LocalCounters", "RateLimitResult", "RedisCounters", "counters"]

log = logging.getLogger(__name__)

# Seconds for which a Redis that failed is not tried again, so that calls wait for it at most once in that time.
REDIS_PAUSE_SECONDS = 1.0
# Fields per request with which local counts are transferred once Redis is back.
FIELDS_PER_TRIP = 200
# Beyond so many entries of logs (the script says it too) another one is dropped.
MOST_ENTRIES = 200_000


class LocalCounters:
    """Counters in this process, with the semantics of RedisCounters."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # By window: bounded by time and not by number, so nothing that still counts is forgotten for others.
        self._counts: dict[int, Counter[str]] = {}
        self._usage: Counter[str] = Counter()
        self._entries: deque[str] = deque()

    def take(self, limits: Sequence[Limit], finished: Finished) -> RateLimitResult:
        """Count a request under all its limits, unless one of them is used up; keep what was finished."""
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
        # The previous window is kept, for calls that began in it.
        self._counts = {kept: counts for kept, counts in self._counts.items() if kept >= window - 1}
        return self._counts.setdefault(window, Counter())

    def _keep(self, finished: Finished) -> None:
        self._usage.update(finished.counts)
        self._entries.extend(islice(finished.entries, max(MOST_ENTRIES - len(self._entries), 0)))

    @property
    def fields(self) -> int:
        """How many different counts and entries wait to be written."""
        return len(self._usage) + len(self._entries)

    def take_some(self, most: int) -> Finished:
        """Take out of what was finished as many counts and entries as that."""
        with self._lock:
            counts = {field: self._usage.pop(field) for field in list(islice(self._usage, most))}
            entries = min(most - len(counts), len(self._entries))
            return Finished(counts, [self._entries.popleft() for _ in range(entries)])

    def drain(self) -> tuple[str, Finished] | None:
        """Return what was finished since the last time under a batch id, None when there is nothing."""
        with self._lock:
            finished = Finished(dict(self._usage), list(self._entries))
            self._usage.clear()
            self._entries.clear()
        return (random_text(22), finished) if finished else None

    def give_back(self, finished: Finished) -> None:
        """Keep what could not be written for the next time."""
        with self._lock:
            self._keep(finished)

    def settle(self, batch_id: str) -> None:
        """Delete a batch that was stored; nothing to do here."""


class Counters:
    """Facade: counts in Redis, and falls back to this process while Redis is unavailable."""

    def __init__(self, shared: RedisCounters | None) -> None:
        self.shared = shared
        self.local = LocalCounters()
        self.failures = 0  # how often Redis did not answer, for monitoring
        self._not_before = 0.0
        self._lock = threading.Lock()
        self._finished: Counter[str] = Counter()
        self._entries: deque[str] = deque()
        # Sent, and no answer heard: the shared counters may have them or not.
        self._doubtful: deque[Batch] = deque()

    def finished(self, field: str) -> None:
        """Add a finished call's usage or log entry; it is sent with the next request's round trip."""
        with self._lock:
            self._finished[field] += 1

    def logged(self, entry: str) -> None:
        """Note an entry of a log; it travels along too, or is dropped where too many wait."""
        with self._lock:
            if len(self._entries) < MOST_ENTRIES:
                self._entries.append(entry)

    def _take_finished(self) -> Finished:
        with self._lock:
            counts, self._finished = self._finished, Counter()
            entries, self._entries = self._entries, deque()
        return Finished(counts, entries)

    def take(self, limits: Sequence[Limit]) -> RateLimitResult:
        """Count a request under its limits and return the verdict. Never raises: without Redis it counts locally."""
        if self.shared is not None and time.monotonic() >= self._not_before:
            batch = self._next_batch()
            try:
                return self.shared.take(limits, batch.finished, batch.id)
            except redis.RedisError as error:
                self._take_back(batch, in_doubt=isinstance(error, redis.TimeoutError))
                self._note_failure()
        return self.local.take(limits, self._take_finished())

    def _next_batch(self) -> Batch:
        """Return the batch to send: one without a response before new ones."""
        with contextlib.suppress(IndexError):
            return self._doubtful.popleft()
        finished = self._take_finished()
        if self.local.fields:  # counted while the shared ones did not answer
            more = self.local.take_some(FIELDS_PER_TRIP)
            finished = Finished(Counter(finished.counts) + Counter(more.counts), [*finished.entries, *more.entries])
        return Batch(random_text(16) if finished else "", finished)

    def _take_back(self, batch: Batch, in_doubt: bool) -> None:
        if in_doubt and batch.finished:
            self._doubtful.append(batch)
        else:
            self.local.give_back(batch.finished)

    def _settle_doubtful(self) -> None:
        """Send batches without a response again; if Redis is unavailable, count them locally."""
        answers = self.shared is not None
        while self._doubtful:
            batch = self._doubtful.popleft()
            try:
                if answers and self.shared is not None:
                    self.shared.keep(batch)
                    continue
            except redis.RedisError:
                answers = False
            self.local.give_back(batch.finished)

    def _note_failure(self) -> None:
        self.failures += 1
        metrics.redis_failed("counters")
        self._not_before = time.monotonic() + REDIS_PAUSE_SECONDS
        log.warning("The counter store does not answer (failure %d); this process counts by itself.", self.failures)

    def drain(self) -> "Iterator[tuple[LocalCounters | RedisCounters, str, Finished]]":
        """Yield the batches that wait to be written, with the counters that hold them.

        Settle each before you ask for the next: the entries of logs come in several, one after the other.
        """
        self._settle_doubtful()
        self.local.give_back(self._take_finished())
        if local := self.local.drain():
            yield self.local, *local
        if self.shared is None:
            return
        try:
            if counts := self.shared.drain():
                yield self.shared, *counts
            while entries := self.shared.drain_entries():
                yield self.shared, *entries
                if len(entries[1].entries) < ENTRIES_A_BATCH:
                    return  # what has come meanwhile waits for the next time
        except redis.RedisError:
            self._note_failure()


@functools.cache
def counters() -> Counters:
    """Return this process's counters."""
    return Counters(RedisCounters(settings.REDIS_URL) if settings.REDIS_URL else None)
