"""Caches that hold the counts of rate limits, and the counts of a process while Redis is unreachable."""

import heapq
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from django.conf import settings
from django.core.cache.backends.base import DEFAULT_TIMEOUT, BaseCache
from django.core.cache.backends.locmem import LocMemCache
from django.core.cache.backends.redis import RedisCache, RedisCacheClient

from core.limits.redis import process_breaker
from core.redis_address import LOST, connect

# This many keys take about 20 MB; above it, the keys that expire first are dropped.
MOST_KEYS = 50_000


@dataclass
class _Noted:
    value: object
    end: float  # time.monotonic


class Shadow:
    """Keys that expire. Thread-safe, bounded by MOST_KEYS."""

    def __init__(self) -> None:
        self._noted: dict[str, _Noted] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._noted)

    def add(self, key: str, value: object, seconds: float) -> bool:
        """Add a key unless it exists; return whether it was added."""
        now = time.monotonic()
        with self._lock:
            if (noted := self._noted.get(key)) and noted.end > now:
                return False
            if len(self._noted) >= MOST_KEYS:
                self._make_room(now)
            self._noted[key] = _Noted(value, now + seconds)
            return True

    def get(self, key: str) -> object:
        """Return a key's value, None if it does not exist."""
        noted = self._noted.get(key)
        return noted.value if noted and noted.end > time.monotonic() else None

    def count(self, key: str, delta: int) -> int | None:
        """Add to a count and return it, None if it does not exist."""
        with self._lock:
            noted = self._noted.get(key)
            if noted is None or not isinstance(noted.value, int):
                return None
            noted.value += delta
            return noted.value

    def heard(self, key: str, shared: int, delta: int = 0) -> int:
        """Store the count that Redis returned after this process added `delta`; return the higher of both counts."""
        with self._lock:
            noted = self._noted.get(key)
            if noted is None or not isinstance(noted.value, int):
                return shared
            noted.value = max(noted.value + delta, shared)
            return noted.value

    def forget(self, key: str) -> bool:
        """Delete a key; return whether it existed."""
        with self._lock:
            return self._noted.pop(key, None) is not None

    def clear(self) -> None:
        """Delete all keys."""
        with self._lock:
            self._noted.clear()

    def _make_room(self, now: float) -> None:
        self._noted = {key: noted for key, noted in self._noted.items() if noted.end > now}
        if len(self._noted) >= MOST_KEYS:
            soon = heapq.nsmallest(MOST_KEYS // 10, self._noted, key=lambda key: self._noted[key].end)
            for key in soon:
                del self._noted[key]


# django-ratelimit and allauth both use Django's default cache. The embedded environment uses MemoryCache. Production
# uses FailoverCache, which is Redis, and continues in the process while Redis is unavailable (docs/limits.md).

CULL_FROM = 1000
T = TypeVar("T")

# KEYS: a count. ARGV: the number to add. One round trip, where the library takes two; false if there is no such count.
_INCREASE = "if redis.call('EXISTS', KEYS[1]) == 1 then return redis.call('INCRBY', KEYS[1], ARGV[1]) end return false"


class MemoryCache(LocMemCache):
    """Django's LocMemCache without a maximum number of entries: it only drops expired ones."""

    _cache: dict[str, Any]
    _expire_info: dict[str, float | None]

    def __init__(self, name: str, params: dict[str, Any]) -> None:
        super().__init__(name, params)
        self._max_entries = CULL_FROM

    def _cull(self) -> None:
        moment = time.time()
        for key in [key for key, end in self._expire_info.items() if end is not None and end <= moment]:
            del self._cache[key], self._expire_info[key]
        # Scanning all entries again is only worth it when there are twice as many.
        self._max_entries = max(CULL_FROM, 2 * len(self._cache))


class _Client(RedisCacheClient):
    """Django's client of Redis, for all forms of REDIS_URL."""

    def __init__(self, servers: list[str], **options: Any) -> None:
        super().__init__(servers)
        seconds: float = settings.REDIS_TIMEOUT_SECONDS
        self._connected = connect(servers[0], seconds, seconds)

    def get_client(self, key: Any = None, *, write: bool = False) -> Any:
        return self._connected

    def incr(self, key: Any, delta: int) -> int:
        count: int | None = self._connected.eval(_INCREASE, 1, key, delta)
        if count is None:
            raise ValueError(f"Key '{key}' not found.")
        return count


class FailoverCache(RedisCache):
    """Redis; while it is unavailable, this process. No method raises because of Redis.

    Keys that are added with an expiry (counts of limits, used one-time codes) are also stored in the process, which
    continues with them during an outage. All other entries are missing meanwhile, as entries of a cache may be.
    """

    def __init__(self, server: str, params: dict[str, Any]) -> None:
        super().__init__(server, params)
        self._servers = [server]  # one URL, which may contain commas
        self._class = _Client
        self._shadow = Shadow()

    def _ask(self, command: Callable[[], T]) -> T | None:
        """Return the response of Redis, None if it is unavailable."""
        breaker = process_breaker()
        if not breaker.may_ask():
            return None
        try:
            answer = command()
        except LOST as error:
            breaker.failed(error)
            return None
        except ValueError:  # the count does not exist
            breaker.answered()
            raise
        breaker.answered()
        return answer

    def _made(self, key: Any, timeout: Any, version: int | None) -> tuple[str, Any]:
        return self.make_and_validate_key(key, version=version), self.get_backend_timeout(timeout)

    def add(self, key: Any, value: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None) -> bool:
        made, seconds = self._made(key, timeout, version)
        is_new = seconds is None or self._shadow.add(made, value, seconds)
        added = self._ask(lambda: self._cache.add(made, value, seconds))
        # A key that this process knows is not new, even if Redis has lost it.
        return is_new if added is None else added and is_new

    def incr(self, key: Any, delta: int = 1, version: int | None = None) -> int:
        made = self.make_and_validate_key(key, version=version)
        try:
            shared = self._ask(lambda: self._cache.incr(made, delta))
        except ValueError:
            shared = None  # Redis was flushed since the count was added
        if shared is not None:
            return self._shadow.heard(made, shared, delta)
        count = self._shadow.count(made, delta)
        if count is None:
            raise ValueError(f"Key '{key}' not found.")
        return count

    def get(self, key: Any, default: Any = None, version: int | None = None) -> Any:
        made = self.make_and_validate_key(key, version=version)
        shared = self._ask(lambda: self._cache.get(made, None))
        if type(shared) is int:
            return self._shadow.heard(made, shared)
        here = self._shadow.get(made) if shared is None else shared
        return default if here is None else here

    def set(self, key: Any, value: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None) -> None:
        made, seconds = self._made(key, timeout, version)
        self._shadow.forget(made)
        self._ask(lambda: self._cache.set(made, value, seconds))

    def delete(self, key: Any, version: int | None = None) -> bool:
        made = self.make_and_validate_key(key, version=version)
        here = self._shadow.forget(made)
        return bool(self._ask(lambda: self._cache.delete(made))) or here

    def touch(self, key: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None) -> bool:
        made, seconds = self._made(key, timeout, version)
        return bool(self._ask(lambda: self._cache.touch(made, seconds)))

    def clear(self) -> None:
        self._shadow.clear()
        self._ask(self._cache.clear)

        # One key at a time: the keys of a cluster are on several nodes.

    has_key = BaseCache.has_key
    get_many = BaseCache.get_many
    set_many = BaseCache.set_many
    delete_many = BaseCache.delete_many
