"""The cache that holds the counts of rate limits: it never evicts entries that have not expired.

django-ratelimit and allauth both use Django's default cache. In the embedded environment that is MemoryCache; in
production Redis, which must not evict either.
"""

import time
from typing import Any

from django.core.cache.backends.locmem import LocMemCache

CULL_FROM = 1000


class MemoryCache(LocMemCache):
    """Django's LocMemCache without a maximum number of entries: only expired ones are dropped."""

    _cache: dict[str, Any]
    _expire_info: dict[str, float | None]

    def __init__(self, name: str, params: dict[str, Any]) -> None:
        super().__init__(name, params)
        self._max_entries = CULL_FROM

    def _cull(self) -> None:
        moment = time.time()
        for key in [key for key, end in self._expire_info.items() if end is not None and end <= moment]:
            del self._cache[key], self._expire_info[key]
        # Looking through all entries again pays off only once there are twice as many.
        self._max_entries = max(CULL_FROM, 2 * len(self._cache))
