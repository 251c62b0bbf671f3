"""Counters in Redis: a Lua script per request, connections, and a circuit breaker for a Redis that does not answer."""

import functools
import hashlib
import logging
import os
import threading
import time
import zlib
from collections import deque
from collections.abc import Sequence
from typing import Any

import redis
from django.conf import settings
from redis.exceptions import ResponseError

from core.credentials import random_text
from core.limits.windows import Batch, Finished, Limit, RateLimitResult, tightest_result
from core.redis_address import connect, is_cluster
from core.telemetry import metrics, tracing

# Seconds for which a Redis that failed is left alone; then one caller asks, and the others still do without.
PAUSE_SECONDS = 1.0

log = logging.getLogger(__name__)


class Breaker:
    """Says whether Redis may be asked, and is told what came of it."""

    def __init__(self) -> None:
        self.failures = 0  # how often Redis did not answer, for monitoring
        self._asked_again_at: float | None = None  # None: closed
        self._lock = threading.Lock()

    @property
    def is_open(self) -> bool:
        return self._asked_again_at is not None

    def may_ask(self) -> bool:
        """Tell whether this caller may ask Redis."""
        if not self.is_open:
            return True
        with self._lock:
            now = time.monotonic()
            if now < (self._asked_again_at or 0):
                return False
            self._asked_again_at = now + PAUSE_SECONDS  # one asks, for all
            return True

    def answered(self) -> None:
        """Note that Redis answered."""
        if self._asked_again_at is not None:
            with self._lock:
                self._asked_again_at = None
            log.info("The counter store answers again.")

    def failed(self, error: Exception) -> None:
        """Note that Redis did not answer, or refused."""
        metrics.redis_failed()
        with self._lock:
            self.failures += 1
            self._asked_again_at = time.monotonic() + PAUSE_SECONDS
        text = "The counter store does not answer (failure %d, %s); this process counts by itself."
        log.warning(text, self.failures, type(error).__name__)


@functools.cache
def process_breaker() -> Breaker:
    """Return this process's breaker."""
    return Breaker()


# For each command the library takes a connection from its pool, asks the socket whether it is still there, and wraps
# it all in functions that retry: longer than the script takes. Here a connection stays out of the pool while it
# works.

# A connection that rested longer is asked whether the server has closed it meanwhile.
RESTED_SECONDS = 0.5


class HeldConnections:
    """Connections taken out of the pool of a redis-py client: as many as there are commands at the same moment."""

    def __init__(self, client: Any) -> None:
        self._pool = client.connection_pool
        self._idle: deque[tuple[Any, float]] = deque()  # the last used one at the right, and since when
        self._process = os.getpid()

    def execute(self, *command: str | int) -> Any:
        """Send a command, once, and return its answer. Raises redis.RedisError as the client's own method does."""
        connection = self._take()
        try:
            connection.send_command(*command, check_health=False)
            answer = connection.read_response()
        except ResponseError:  # an answer all the same
            self._idle.append((connection, time.monotonic()))
            raise
        except BaseException:
            self._drop(connection)
            raise
        self._idle.append((connection, time.monotonic()))
        return answer

    def _take(self) -> Any:
        if self._process != os.getpid():  # a fork: the sockets are the parent's
            self._idle, self._process = deque(), os.getpid()
        try:
            connection, since = self._idle.pop()
        except IndexError:
            return self._pool.get_connection()
        if time.monotonic() - since < RESTED_SECONDS:
            return connection
        self._pool.release(connection)
        return self._pool.get_connection()  # which looks, and connects anew if need be

    def _drop(self, connection: Any) -> None:
        """Close a connection that failed, and those that rest: they lead to the same server."""
        while connection is not None:
            connection.disconnect()
            self._pool.release(connection)
            try:
                connection, _ = self._idle.pop()
            except IndexError:
                connection = None


# Seconds; longer than REDIS_TIMEOUT_SECONDS for draining, since a batch may be large.
DRAIN_TIMEOUT_SECONDS = 5.0
# How many entries of logs are written in one transaction.
ENTRIES_A_BATCH = 2000
# Into how many parts the counters of a Redis Cluster are divided: it can have so many nodes that share the work.
CLUSTER_PARTS = 16
_USAGE = "usage"
_BATCHES = "batches"  # the ids of those that are not settled yet
_ENTRIES = "entries"  # of logs, the oldest first
_TAKEN = "entries:taken"  # which of them are being written: the id of their batch, and how many

# KEYS: one counter a limit, the usage hash, the entries, and what remembers the batch. ARGV: the number of limits,
# each limit's most, the number of counts, each one's field and count, then entries. Limits are looked at first, so that
# a refused request uses up nothing. A batch whose answer came too late is sent again, and counts once. Entries stop at
# a bound: while nobody writes them down, counting goes on.
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

# KEYS: the usage hash, the list of batches. ARGV: the id of a new batch. Returns the id of the oldest batch: one that
# was left behind by a crash, or what has come since; false when there is nothing.
_NEXT_BATCH = """
local waiting = redis.call('LINDEX', KEYS[2], 0)
if waiting then return waiting end
if redis.call('EXISTS', KEYS[1]) == 0 then return false end
redis.call('RENAME', KEYS[1], KEYS[1] .. ':batch:' .. ARGV[1])
redis.call('RPUSH', KEYS[2], ARGV[1])
return ARGV[1]
"""

# KEYS: the entries, and which are taken. ARGV: the id of a new batch, and how many entries it has at most. Returns id
# and entries of the batch that is taken, by whomever, else of a new one; false when there is nothing. Entries stay in
# their place until their batch is settled, and new ones come behind them: after a crash the same batch is found again.
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

# KEYS: a batch of counts, the list of batches, the entries, and which are taken. ARGV: the id of a batch that is
# written, of counts or of entries; another than the taken one has been settled before.
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
    """Counters that all workers share. Of a cluster: one part of them, whose keys begin with its hash tag."""

    def __init__(self, url: str, prefix: str = "", clients: tuple[Any, Any] | None = None) -> None:
        seconds: float = settings.REDIS_TIMEOUT_SECONDS
        patient = max(DRAIN_TIMEOUT_SECONDS, seconds)
        self._client, self._patient = clients or (connect(url, seconds, seconds), connect(url, patient, seconds))
        self._prefix = prefix
        # A cluster's client knows which node a key is on, and traces look on at the client.
        holds = clients is None and not is_cluster(url) and not tracing.is_on()
        self._execute = HeldConnections(self._client).execute if holds else self._client.execute_command
        self._sha = hashlib.sha1(_SCRIPT.encode(), usedforsecurity=False).hexdigest()  # the name Redis gives it

    @property
    def parts(self) -> "Sequence[RedisCounters]":
        """The counters that are drained one by one."""
        return (self,)

    def part_of(self, limits: Sequence[Limit]) -> "RedisCounters":
        """Return the counters that these limits are counted with, all of them in one trip."""
        return self

    def take(self, limits: Sequence[Limit], finished: Finished, batch_id: str = "") -> RateLimitResult:
        """Count a request under all its limits, unless one of them is used up; keep what was finished.

        `batch_id` is the id of what was finished: if it comes again within two minutes, it is not counted again.
        """
        allowed, left, *counts = self._run(limits, Batch(batch_id or random_text(16), finished))
        return tightest_result(bool(allowed), left, limits, counts)

    def keep(self, batch: Batch) -> None:
        """Add the finished usage of a batch, unless it was added before."""
        self._run([], batch)

    def ask(self) -> None:
        """Ask whether Redis answers."""
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
        except redis.exceptions.NoScriptError:  # a Redis that was restarted or flushed
            return self._execute("EVAL", _SCRIPT, len(names), *names, *given)

    def _names(self, *names: str) -> list[str]:
        return [self._prefix + name for name in names]

    def drain(self) -> tuple[str, Finished] | None:
        """Return a batch of counts: one that was left behind by a crash, or what has come since."""
        found = self._patient.eval(_NEXT_BATCH, 2, *self._names(_USAGE, _BATCHES), random_text(22))
        if found is None:
            return None
        batch_id: str = found.decode()
        held = self._patient.hgetall(*self._names(f"{_USAGE}:batch:{batch_id}"))
        return batch_id, Finished({field.decode("utf-8", "replace"): int(count) for field, count in held.items()})

    def drain_entries(self) -> tuple[str, Finished] | None:
        """Return a batch of the oldest entries; settle it before the next one is asked for."""
        names = self._names(_ENTRIES, _TAKEN)
        found = self._patient.eval(_NEXT_ENTRIES, 2, *names, random_text(22), ENTRIES_A_BATCH)
        if found is None:
            return None
        batch_id, entries = found
        return batch_id.decode(), Finished(entries=[entry.decode("utf-8", "replace") for entry in entries])

    def entries_waiting(self) -> int:
        """Return how many entries of logs wait to be written."""
        return sum(int(part._patient.llen(*part._names(_ENTRIES))) for part in self.parts)

    def settle(self, batch_id: str) -> None:
        """Forget a batch that is written, of counts or of entries."""
        names = self._names(f"{_USAGE}:batch:{batch_id}", _BATCHES, _ENTRIES, _TAKEN)
        self._patient.eval(_SETTLE, len(names), *names, batch_id)


class ClusterCounters(RedisCounters):
    """Counters on a Redis Cluster, divided into parts: all keys of a part have one hash tag, and so are on one node.

    The first limit of a request says which part counts it; its other limits have to come with that one always. So a
    request is one round trip here too, and the nodes share the work.
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
    """Return the counters at REDIS_URL. Raises ValueError for an address that is none."""
    return ClusterCounters(url) if is_cluster(url) else RedisCounters(url)
