"""Counters with fixed windows of a minute: several limits, and what was finished, in one round trip.

On Redis one script does it all, by Redis's own clock, so the limits are exact whatever the number of workers. In the
embedded environment the same is done in the process. A Redis that is down or slow is left alone for a moment, and
counts in the process take over: bounded, local, and logged.
"""

import functools
import hashlib
import logging
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import redis
from django.conf import settings

from devportal.lib import clock
from devportal.lib.credentials import random_text

log = logging.getLogger(__name__)

WINDOW_SECONDS = 60
LOCAL_COUNTERS = 10_000
REDIS_TIMEOUT_SECONDS = 0.05
# How long a Redis that failed is not asked again: a call waits at most once in that time.
REDIS_PAUSE_SECONDS = 1.0
_USAGE = "usage"
# How a field begins that is no count but an entry of a log; beyond MOST_FIELDS (the script says it too) it is dropped.
LOG_ENTRY = "log|"
MOST_FIELDS = 200_000


@dataclass(frozen=True)
class Limit:
    """At most `most` in a window, counted under `key`."""

    key: str
    most: int


@dataclass(frozen=True)
class Verdict:
    """Whether a request is within all its limits; `limit` and `remaining` are the tightest one's."""

    allowed: bool
    limit: int
    remaining: int
    reset: int  # seconds until the window ends, 1 to 60


# KEYS: one counter a limit, then the usage hash. ARGV: the number of limits, each limit's most, then field and count
# pairs of finished usage. Counts first, so that a refused request uses up nothing. Log entries, which are each a field
# of their own, stop at a bound: while nobody writes them down, counting goes on.
_SCRIPT = """
local moment = tonumber(redis.call('TIME')[1])
local left = 60 - moment % 60
local limits = tonumber(ARGV[1])
local allowed = 1
local counts = {}
for i = 1, limits do
  local key = KEYS[i] .. ':' .. math.floor(moment / 60)
  counts[i] = tonumber(redis.call('GET', key) or '0')
  if counts[i] >= tonumber(ARGV[1 + i]) then allowed = 0 end
end
if allowed == 1 then
  for i = 1, limits do
    local key = KEYS[i] .. ':' .. math.floor(moment / 60)
    counts[i] = redis.call('INCR', key)
    if counts[i] == 1 then redis.call('EXPIRE', key, 120) end
  end
end
for i = 2 + limits, #ARGV, 2 do
  if string.sub(ARGV[i], 1, 4) ~= 'log|' or redis.call('HLEN', KEYS[#KEYS]) < 200000 then
    redis.call('HINCRBY', KEYS[#KEYS], ARGV[i], ARGV[i + 1])
  end
end
return {allowed, left, unpack(counts)}
"""


def _verdict(allowed: bool, left: int, limits: Sequence[Limit], counts: Sequence[int]) -> Verdict:
    tightest = min(zip(limits, counts, strict=True), key=lambda pair: pair[0].most - pair[1])
    limit, count = tightest
    return Verdict(allowed, limit.most, max(limit.most - count, 0), min(max(left, 1), WINDOW_SECONDS))


class LocalCounters:
    """The same semantics within one process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: OrderedDict[tuple[str, int], int] = OrderedDict()
        self._usage: Counter[str] = Counter()

    def take(self, limits: Sequence[Limit], finished: Mapping[str, int]) -> Verdict:
        """Count a request under all its limits, unless one of them is used up; keep what was finished."""
        moment = clock.timestamp()
        window = moment // WINDOW_SECONDS
        with self._lock:
            self._usage.update(finished)
            counts = [self._counts.get((limit.key, window), 0) for limit in limits]
            allowed = all(count < limit.most for limit, count in zip(limits, counts, strict=True))
            if allowed:
                counts = [count + 1 for count in counts]
                for limit, count in zip(limits, counts, strict=True):
                    self._counts[(limit.key, window)] = count
                    self._counts.move_to_end((limit.key, window))  # the busy are forgotten last
                while len(self._counts) > LOCAL_COUNTERS:
                    self._counts.popitem(last=False)
        return _verdict(allowed, WINDOW_SECONDS - moment % WINDOW_SECONDS, limits, counts)

    @property
    def fields(self) -> int:
        """How many different things wait to be written."""
        return len(self._usage)

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


class RedisCounters:
    """Counters that all workers share."""

    def __init__(self, url: str) -> None:
        self._client = redis.Redis.from_url(
            url, socket_timeout=REDIS_TIMEOUT_SECONDS, socket_connect_timeout=REDIS_TIMEOUT_SECONDS
        )
        self._sha = hashlib.sha1(_SCRIPT.encode(), usedforsecurity=False).hexdigest()  # the name Redis gives it

    def take(self, limits: Sequence[Limit], finished: Mapping[str, int]) -> Verdict:
        """Count a request under all its limits, unless one of them is used up; keep what was finished."""
        pairs = [part for field, count in finished.items() for part in (field, count)]
        names = [*(f"limit:{limit.key}" for limit in limits), _USAGE]
        arguments = [len(names), *names, len(limits), *(limit.most for limit in limits), *pairs]
        client: Any = self._client
        try:
            answer = client.execute_command("EVALSHA", self._sha, *arguments)
        except redis.exceptions.NoScriptError:  # a Redis that was restarted or flushed
            answer = client.execute_command("EVAL", _SCRIPT, *arguments)
        allowed, left, *counts = answer
        return _verdict(bool(allowed), left, limits, counts)

    def drain(self) -> tuple[str, dict[str, int]] | None:
        """Return a batch of what was finished: one that was left behind by a crash, or what has come since."""
        client: Any = self._client
        waiting = sorted(client.scan_iter(match=f"{_USAGE}:batch:*", count=1000))
        name = waiting[0].decode() if waiting else f"{_USAGE}:batch:{random_text(22)}"
        if not waiting:
            try:
                client.rename(_USAGE, name)
            except redis.ResponseError:  # no such key: nothing was finished
                return None
        counts = {field.decode(): int(count) for field, count in client.hgetall(name).items()}
        return name.rpartition(":")[2], counts

    def settle(self, batch_id: str) -> None:
        """Forget a batch that is written."""
        self._client.delete(f"{_USAGE}:batch:{batch_id}")


class Counters:
    """What callers use: the shared counters, or the process's own while those do not answer."""

    def __init__(self, shared: RedisCounters | None) -> None:
        self.shared = shared
        self.local = LocalCounters()
        self.failures = 0  # how often the shared ones did not answer; the operator's gauge
        self._not_before = 0.0
        self._lock = threading.Lock()
        self._finished: Counter[str] = Counter()

    def finished(self, field: str) -> None:
        """Note what a finished call left; it travels with the next request's round trip."""
        with self._lock:
            if not field.startswith(LOG_ENTRY) or self.local.fields < MOST_FIELDS:
                self._finished[field] += 1

    def _take_finished(self) -> Counter[str]:
        with self._lock:
            finished, self._finished = self._finished, Counter()
        return finished

    def take(self, limits: Sequence[Limit]) -> Verdict:
        """Count a request. Never raises: limits survive the loss of their store."""
        finished = self._take_finished()
        if self.shared is not None and time.monotonic() >= self._not_before:
            try:
                return self.shared.take(limits, finished)
            except redis.RedisError:
                self._note_failure()
        return self.local.take(limits, finished)

    def _note_failure(self) -> None:
        self.failures += 1
        self._not_before = time.monotonic() + REDIS_PAUSE_SECONDS
        log.warning("The counter store does not answer (failure %d); this process counts by itself.", self.failures)

    def drain(self) -> "list[tuple[LocalCounters | RedisCounters, str, dict[str, int]]]":
        """Return the batches of usage that wait to be written, with the counters that hold them."""
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
