"""Counters in Redis: a Lua script for each request, connections, and a circuit breaker."""

import functools
import hashlib
import logging
import os
import threading
import time
import zlib
from collections import deque
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import redis
from django.conf import settings
from redis.exceptions import ResponseError

from core.credentials import random_text
from core.redis_address import connect, is_cluster
from core.telemetry import metrics, tracing

WINDOW_SECONDS = 60
# After a failure, Redis is not asked for this many seconds; then one caller tries while the others still count locally.
PAUSE_SECONDS = 1.0

log = logging.getLogger(__name__)


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


class Breaker:
    """Circuit breaker: decides whether Redis may be asked, from the results that callers report."""

    def __init__(self) -> None:
        self.failures = 0  # how often Redis did not respond, for monitoring
        self._asked_again_at: float | None = None  # None: closed
        self._lock = threading.Lock()

    @property
    def is_open(self) -> bool:
        return self._asked_again_at is not None

    def may_ask(self) -> bool:
        """Return whether this caller may ask Redis."""
        if not self.is_open:
            return True
        with self._lock:
            now = time.monotonic()
            if now < (self._asked_again_at or 0):
                return False
            self._asked_again_at = now + PAUSE_SECONDS  # one caller tries for all
            return True

    def answered(self) -> None:
        """Note that Redis responded."""
        if self._asked_again_at is not None:
            with self._lock:
                self._asked_again_at = None
            log.info("The counter store responds again.")

    def failed(self, error: Exception) -> None:
        """Note that Redis did not respond, or rejected the command."""
        metrics.REDIS_FAILURES.count()
        with self._lock:
            self.failures += 1
            self._asked_again_at = time.monotonic() + PAUSE_SECONDS
        text = "The counter store does not respond (failure %d, %s). This process counts locally."
        log.warning(text, self.failures, type(error).__name__)


@functools.cache
def process_breaker() -> Breaker:
    """Return this process's breaker."""
    return Breaker()


# For each command, the library takes a connection from its pool, checks whether its socket is still open, and wraps all
# of it in retries, which takes longer than the script itself. Here, a connection stays out of the pool while it works.

# A connection that was idle for longer is first checked: the server may have closed it.
RESTED_SECONDS = 0.5


class HeldConnections:
    """Connections taken out of the pool of a redis-py client: as many as commands run at the same moment."""

    def __init__(self, client: Any) -> None:
        self._pool = client.connection_pool
        self._idle: deque[tuple[Any, float]] = deque()  # (connection, idle since); the last used one is at the right
        self._process = os.getpid()

    def execute(self, *command: str | int) -> Any:
        """Send a command once and return its response. Raises redis.RedisError as the client's own method does."""
        connection = self._take()
        try:
            connection.send_command(*command, check_health=False)
            answer = connection.read_response()
        except ResponseError:  # an error response, so the connection still works
            self._idle.append((connection, time.monotonic()))
            raise
        except BaseException:
            self._drop(connection)
            raise
        self._idle.append((connection, time.monotonic()))
        return answer

    def _take(self) -> Any:
        if self._process != os.getpid():  # after a fork, the sockets belong to the parent
            self._idle, self._process = deque(), os.getpid()
        try:
            connection, since = self._idle.pop()
        except IndexError:
            return self._pool.get_connection()
        if time.monotonic() - since < RESTED_SECONDS:
            return connection
        self._pool.release(connection)
        return self._pool.get_connection()  # which checks the connection, and reconnects if needed

    def _drop(self, connection: Any) -> None:
        """Close a connection that failed, and all idle ones: they lead to the same server."""
        while connection is not None:
            connection.disconnect()
            self._pool.release(connection)
            try:
                connection, _ = self._idle.pop()
            except IndexError:
                connection = None


# Seconds; longer than REDIS_TIMEOUT_SECONDS for draining, since a batch may be large.
DRAIN_TIMEOUT_SECONDS = 5.0
# The number of log entries that are written in one transaction.
ENTRIES_A_BATCH = 2000
# The number of parts into which the counters of a Redis Cluster are divided; at most as many nodes share the work.
CLUSTER_PARTS = 16
_USAGE = "usage"
_BATCHES = "batches"  # the ids of batches that are not settled yet
_ENTRIES = "entries"  # log entries, the oldest first
_TAKEN = "entries:taken"  # the entries that are being written: the id of their batch, and their number

# KEYS: one counter per limit, the usage hash, the entries, and the key that remembers the batch. ARGV: the number of
# limits, the maximum of each limit, the number of counts, the field and count of each, then entries. Limits are checked
# first, so that a refused request uses up nothing. A batch whose response came too late is sent again, and counts once.
# Entries are dropped above a bound, so that counting continues while nobody writes them to the database.
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
if KEYS[limits + 3] and redis.call('SET', KEYS[limits + 3], '1', 'EX', 120, 'NX') then
  local first = limits + 3
  local entries = first + 2 * tonumber(ARGV[limits + 2])
  for i = first, entries - 1, 2 do
    redis.call('HINCRBY', KEYS[limits + 1], ARGV[i], ARGV[i + 1])
  end
  local room = 200000 - redis.call('LLEN', KEYS[limits + 2])
  for i = entries, math.min(#ARGV, entries + room - 1) do
    redis.call('RPUSH', KEYS[limits + 2], ARGV[i])
  end
end
return {allowed, left, unpack(counts)}
"""

# KEYS: the usage hash, the list of batches. ARGV: the id of a new batch. Returns the id of the oldest batch, which may
# be one that a crash left behind; false if there is nothing.
_NEXT_BATCH = """
local waiting = redis.call('LINDEX', KEYS[2], 0)
if waiting then return waiting end
if redis.call('EXISTS', KEYS[1]) == 0 then return false end
redis.call('RENAME', KEYS[1], KEYS[1] .. ':batch:' .. ARGV[1])
redis.call('RPUSH', KEYS[2], ARGV[1])
return ARGV[1]
"""

# KEYS: the entries, and the entries that are taken. ARGV: the id of a new batch, and its largest number of entries.
# Returns the id and entries of the batch that is already taken, else of a new one; false if there is nothing. Entries
# stay in place until their batch is settled, and new ones are added after them: after a crash, the same batch is found.
_NEXT_ENTRIES = """
local taken = redis.call('GET', KEYS[2])
if not taken then
  local waiting = math.min(redis.call('LLEN', KEYS[1]), tonumber(ARGV[2]))
  if waiting == 0 then return false end
  taken = ARGV[1] .. ' ' .. waiting
  redis.call('SET', KEYS[2], taken)
end
local id, count = string.match(taken, '^(%S+) (%d+)$')
return {id, redis.call('LRANGE', KEYS[1], 0, count - 1)}
"""

# KEYS: a batch of counts, the list of batches, the entries, and the entries that are taken. ARGV: the id of a batch of
# counts or entries that was written; if it is not the one that is taken, it was settled before.
_SETTLE = """
redis.call('DEL', KEYS[1])
redis.call('LREM', KEYS[2], 0, ARGV[1])
local id, count = string.match(redis.call('GET', KEYS[4]) or '', '^(%S+) (%d+)$')
if id == ARGV[1] then
  redis.call('LTRIM', KEYS[3], count, -1)
  redis.call('DEL', KEYS[4])
end
"""


class RedisCounters:
    """Counters that all workers share. On a cluster, one part of them, whose keys begin with the part's hash tag."""

    def __init__(self, url: str, prefix: str = "", clients: tuple[Any, Any] | None = None) -> None:
        seconds: float = settings.REDIS_TIMEOUT_SECONDS
        patient = max(DRAIN_TIMEOUT_SECONDS, seconds)
        self._client, self._patient = clients or (connect(url, seconds, seconds), connect(url, patient, seconds))
        self._prefix = prefix
        # A cluster's client knows which node has a key, and tracing observes the client.
        holds = clients is None and not is_cluster(url) and not tracing.is_on()
        self._execute = HeldConnections(self._client).execute if holds else self._client.execute_command
        self._sha = hashlib.sha1(_SCRIPT.encode(), usedforsecurity=False).hexdigest()  # Redis's name for the script

    @property
    def parts(self) -> "Sequence[RedisCounters]":
        """Return the counters that are drained one by one."""
        return (self,)

    def part_of(self, limits: Sequence[Limit]) -> "RedisCounters":
        """Return the counters that count these limits, all of them in one round trip."""
        return self

    def take(self, limits: Sequence[Limit], finished: Finished, batch_id: str = "") -> RateLimitResult:
        """Count a request under all its limits unless one of them is reached; store the finished usage.

        `batch_id` identifies the finished usage: if it is sent again within two minutes, it is not counted again.
        """
        allowed, left, *counts = self._run(limits, Batch(batch_id or random_text(16), finished))
        return tightest_result(bool(allowed), left, limits, counts)

    def keep(self, batch: Batch) -> None:
        """Add the finished usage of a batch, unless it was added before."""
        self._run([], batch)

    def ask(self) -> None:
        """Check that Redis responds."""
        self._run([], Batch("", Finished()))

    def _run(self, limits: Sequence[Limit], batch: Batch) -> Any:
        finished = batch.finished
        pairs = [part for field, count in finished.counts.items() for part in (field, count)]
        names = [*(f"limit:{limit.key}" for limit in limits), _USAGE, _ENTRIES]
        if finished:
            names.append(f"parcel:{batch.id}")
        if self._prefix:
            names = [self._prefix + name for name in names]
        given = [len(limits), *(limit.most for limit in limits), len(finished.counts), *pairs, *finished.entries]
        try:
            return self._execute("EVALSHA", self._sha, len(names), *names, *given)
        except redis.exceptions.NoScriptError:  # Redis was restarted or flushed
            return self._execute("EVAL", _SCRIPT, len(names), *names, *given)

    def _names(self, *names: str) -> list[str]:
        return [self._prefix + name for name in names]

    def drain(self) -> tuple[str, Finished] | None:
        """Return a batch of counts: one that a crash left behind, or the counts since then."""
        found = self._patient.eval(_NEXT_BATCH, 2, *self._names(_USAGE, _BATCHES), random_text(22))
        if found is None:
            return None
        batch_id: str = found.decode()
        held = self._patient.hgetall(*self._names(f"{_USAGE}:batch:{batch_id}"))
        return batch_id, Finished({field.decode("utf-8", "replace"): int(count) for field, count in held.items()})

    def drain_entries(self) -> tuple[str, Finished] | None:
        """Return a batch of the oldest entries; settle it before you ask for the next one."""
        names = self._names(_ENTRIES, _TAKEN)
        found = self._patient.eval(_NEXT_ENTRIES, 2, *names, random_text(22), ENTRIES_A_BATCH)
        if found is None:
            return None
        batch_id, entries = found
        return batch_id.decode(), Finished(entries=[entry.decode("utf-8", "replace") for entry in entries])

    def entries_waiting(self) -> int:
        """Return how many log entries wait to be written."""
        return sum(int(part._patient.llen(*part._names(_ENTRIES))) for part in self.parts)

    def settle(self, batch_id: str) -> None:
        """Delete a batch of counts or entries that was written."""
        names = self._names(f"{_USAGE}:batch:{batch_id}", _BATCHES, _ENTRIES, _TAKEN)
        self._patient.eval(_SETTLE, len(names), *names, batch_id)


class ClusterCounters(RedisCounters):
    """Counters on a Redis Cluster, divided into parts: all keys of a part share a hash tag, and so are on one node.

    The first limit of a request selects the part that counts it; its other limits must always come with that one. A
    request is therefore one round trip here too, and the nodes share the work.
    """

    def __init__(self, url: str) -> None:
        super().__init__(url)
        clients = (self._client, self._patient)
        self._parts = [RedisCounters(url, f"{{{number}}}:", clients) for number in range(CLUSTER_PARTS)]

    @property
    def parts(self) -> Sequence[RedisCounters]:
        return self._parts

    def part_of(self, limits: Sequence[Limit]) -> RedisCounters:
        return self._parts[zlib.crc32(limits[0].key.encode("utf-8", "replace")) % CLUSTER_PARTS]


def counters_at(url: str) -> RedisCounters:
    """Return the counters at REDIS_URL. Raises ValueError for an invalid URL."""
    return ClusterCounters(url) if is_cluster(url) else RedisCounters(url)
