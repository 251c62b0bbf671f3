"""The counters that all workers share: on Redis, one script a request, by Redis's own clock."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import redis

from devportal.lib.credentials import random_text
from devportal.lib.ratelimit.windows import Batch, Limit, RateLimitResult, tightest_result

REDIS_TIMEOUT_SECONDS = 0.05
# Whoever drains has time: a batch may be large.
DRAIN_TIMEOUT_SECONDS = 5.0
_USAGE = "usage"
_BATCHES = "batches"  # the ids of those that are not settled yet

# KEYS: one counter a limit, the usage hash, and what remembers the parcel. ARGV: the number of limits, each limit's
# most, then field and count pairs of finished usage. Counts first, so that a refused request uses up nothing. A parcel
# whose answer came too late is sent again, and counts once. Log entries, which are each a field of their own, stop at a
# bound: while nobody writes them down, counting goes on.
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
local usage = KEYS[limits + 1]
if KEYS[limits + 2] and redis.call('SET', KEYS[limits + 2], '1', 'EX', 120, 'NX') then
  for i = 2 + limits, #ARGV, 2 do
    if string.sub(ARGV[i], 1, 4) ~= 'log|' or redis.call('HLEN', usage) < 200000 then
      redis.call('HINCRBY', usage, ARGV[i], ARGV[i + 1])
    end
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


class RedisCounters:
    """Counters that all workers share."""

    def __init__(self, url: str) -> None:
        self._client = self._connect(url, REDIS_TIMEOUT_SECONDS)
        self._patient = self._connect(url, DRAIN_TIMEOUT_SECONDS)
        self._sha = hashlib.sha1(_SCRIPT.encode(), usedforsecurity=False).hexdigest()  # the name Redis gives it

    @staticmethod
    def _connect(url: str, seconds: float) -> Any:
        return redis.Redis.from_url(url, socket_timeout=seconds, socket_connect_timeout=REDIS_TIMEOUT_SECONDS)

    def take(self, limits: Sequence[Limit], finished: Mapping[str, int], parcel: str = "") -> RateLimitResult:
        """Count a request under all its limits, unless one of them is used up; keep what was finished.

        `parcel` is the id of what was finished: if it comes again within two minutes, it is not counted again.
        """
        allowed, left, *counts = self._run(limits, Batch(parcel or random_text(16), finished))
        return tightest_result(bool(allowed), left, limits, counts)

    def keep(self, parcel: Batch) -> None:
        """Keep what was finished, unless it is here already."""
        self._run([], parcel)

    def _run(self, limits: Sequence[Limit], parcel: Batch) -> Any:
        pairs = [part for field, count in parcel.fields.items() for part in (field, count)]
        names = [*(f"limit:{limit.key}" for limit in limits), _USAGE]
        if parcel.fields:
            names.append(f"parcel:{parcel.id}")
        arguments = [len(names), *names, len(limits), *(limit.most for limit in limits), *pairs]
        try:
            return self._client.execute_command("EVALSHA", self._sha, *arguments)
        except redis.exceptions.NoScriptError:  # a Redis that was restarted or flushed
            return self._client.execute_command("EVAL", _SCRIPT, *arguments)

    def drain(self) -> tuple[str, dict[str, int]] | None:
        """Return a batch of what was finished: one that was left behind by a crash, or what has come since."""
        found = self._patient.eval(_NEXT_BATCH, 2, _USAGE, _BATCHES, random_text(22))
        if found is None:
            return None
        batch_id: str = found.decode()
        held = self._patient.hgetall(self._name(batch_id))
        return batch_id, {field.decode("utf-8", "replace"): int(count) for field, count in held.items()}

    def settle(self, batch_id: str) -> None:
        """Forget a batch that is written."""
        with self._patient.pipeline(transaction=True) as pipeline:
            pipeline.delete(self._name(batch_id))
            pipeline.lrem(_BATCHES, 0, batch_id)
            pipeline.execute()

    @staticmethod
    def _name(batch_id: str) -> str:
        return f"{_USAGE}:batch:{batch_id}"
