"""Counters with fixed windows of a minute: several limits, and what was finished, in one round trip.

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
from collections.abc import Mapping, Sequence
from itertools import islice

import redis
from django.conf import settings

from devportal.lib import clock
from devportal.lib.credentials import random_text
from devportal.lib.ratelimit.redis_counters import RedisCounters
from devportal.lib.ratelimit.windows import WINDOW_SECONDS, Batch, Limit, RateLimitResult, tightest_result

__all__ = ["Counters", "Limit", "LocalCounters", "RateLimitResult", "RedisCounters", "counters"]

log = logging.getLogger(__name__)

# How long a Redis that failed is not asked again: a call waits at most once in that time.
REDIS_PAUSE_SECONDS = 1.0
# What the process counted by itself goes along in pieces once Redis is back.
FIELDS_PER_TRIP = 200
# How a field begins that is no count but an entry of a log; beyond MAX_FIELDS (the script says it too) it is dropped.
LOG_ENTRY_PREFIX = "log|"
MAX_FIELDS = 200_000


class LocalCounters:
    """The same semantics within one process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # By window: bounded by time and not by number, so nothing that still counts is forgotten for others.
        self._counts: dict[int, Counter[str]] = {}
        self._usage: Counter[str] = Counter()

    def take(self, limits: Sequence[Limit], finished: Mapping[str, int]) -> RateLimitResult:
        """Count a request under all its limits, unless one of them is used up; keep what was finished."""
        moment = clock.timestamp()
        window = moment // WINDOW_SECONDS
        with self._lock:
            self._usage.update(finished)
            here = self._counts.get(window) or self._begin(window)
            counts = [here[limit.key] for limit in limits]
            allowed = all(count < limit.most for limit, count in zip(limits, counts, strict=True))
            if allowed:
                counts = [count + 1 for count in counts]
                for limit, count in zip(limits, counts, strict=True):
                    here[limit.key] = count
        return tightest_result(allowed, WINDOW_SECONDS - moment % WINDOW_SECONDS, limits, counts)

    def _begin(self, window: int) -> Counter[str]:
        # The window before is kept: a call that began in it may come late.
        self._counts = {kept: counts for kept, counts in self._counts.items() if kept >= window - 1}
        return self._counts.setdefault(window, Counter())

    @property
    def fields(self) -> int:
        """How many different things wait to be written."""
        return len(self._usage)

    def take_some(self, most: int) -> dict[str, int]:
        """Take out of what was finished as many fields as that."""
        with self._lock:
            return {field: self._usage.pop(field) for field in list(islice(self._usage, most))}

    def drain(self) -> tuple[str, dict[str, int]] | None:
        """Return what was finished since the last time under a batch id, None when there is nothing."""
        with self._lock:
            finished, self._usage = self._usage, Counter()
        return (random_text(22), dict(finished)) if finished else None

    def give_back(self, finished: Mapping[str, int]) -> None:
        """Keep what could not be written for the next time."""
        with self._lock:
            self._usage.update(finished)

    def settle(self, batch_id: str) -> None:
        """Forget a batch that is written; here it is gone already."""


class Counters:
    """What callers use: the shared counters, or the process's own while those do not answer."""

    def __init__(self, shared: RedisCounters | None) -> None:
        self.shared = shared
        self.local = LocalCounters()
        self.failures = 0  # how often the shared ones did not answer; the operator's gauge
        self._not_before = 0.0
        self._lock = threading.Lock()
        self._finished: Counter[str] = Counter()
        # Sent, and no answer heard: the shared counters may have them or not.
        self._doubtful: deque[Batch] = deque()

    def finished(self, field: str) -> None:
        """Note what a finished call left; it travels with the next request's round trip."""
        with self._lock:
            if not field.startswith(LOG_ENTRY_PREFIX) or self.local.fields < MAX_FIELDS:
                self._finished[field] += 1

    def _take_finished(self) -> Counter[str]:
        with self._lock:
            finished, self._finished = self._finished, Counter()
        return finished

    def take(self, limits: Sequence[Limit]) -> RateLimitResult:
        """Count a request. Never raises: limits survive the loss of their store."""
        if self.shared is not None and time.monotonic() >= self._not_before:
            parcel = self._next_parcel()
            try:
                return self.shared.take(limits, parcel.fields, parcel.id)
            except redis.RedisError as error:
                self._take_back(parcel, in_doubt=isinstance(error, redis.TimeoutError))
                self._note_failure()
        return self.local.take(limits, self._take_finished())

    def _next_parcel(self) -> Batch:
        """Return what goes along: what may have been lost on the way, else what has been finished since."""
        with contextlib.suppress(IndexError):
            return self._doubtful.popleft()
        finished = self._take_finished()
        if self.local.fields:  # counted while the shared ones did not answer
            finished.update(self.local.take_some(FIELDS_PER_TRIP))
        return Batch(random_text(16) if finished else "", finished)

    def _take_back(self, parcel: Batch, in_doubt: bool) -> None:
        if in_doubt and parcel.fields:
            self._doubtful.append(parcel)
        else:
            self.local.give_back(parcel.fields)

    def _settle_doubtful(self) -> None:
        """Send again what an answer was not heard of; while nobody answers, it stays with this process."""
        answers = self.shared is not None
        while self._doubtful:
            parcel = self._doubtful.popleft()
            try:
                if answers and self.shared is not None:
                    self.shared.keep(parcel)
                    continue
            except redis.RedisError:
                answers = False
            self.local.give_back(parcel.fields)

    def _note_failure(self) -> None:
        self.failures += 1
        self._not_before = time.monotonic() + REDIS_PAUSE_SECONDS
        log.warning("The counter store does not answer (failure %d); this process counts by itself.", self.failures)

    def drain(self) -> "list[tuple[LocalCounters | RedisCounters, str, dict[str, int]]]":
        """Return the batches of usage that wait to be written, with the counters that hold them."""
        self._settle_doubtful()
        self.local.give_back(self._take_finished())
        batches: list[tuple[LocalCounters | RedisCounters, str, dict[str, int]]] = []
        if local := self.local.drain():
            batches.append((self.local, *local))
        if self.shared is not None:
            try:
                if shared := self.shared.drain():
                    batches.append((self.shared, *shared))
            except redis.RedisError:
                self._note_failure()
        return batches


@functools.cache
def counters() -> Counters:
    """Return this process's counters."""
    return Counters(RedisCounters(settings.REDIS_URL) if settings.REDIS_URL else None)
