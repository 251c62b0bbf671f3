"""What a process knows by itself of counts that are in Redis: what goes on counting while Redis is lost.

Each count that a process adds to in Redis is noted here as well, as high as it was heard of. So a lost Redis does not
begin anew with whoever has guessed a few times already, nor does one that was flushed; and what was counted in an
outage still counts after it, however often the two alternate.
"""

import heapq
import threading
import time
from dataclasses import dataclass

# Of this many keys about 20 MB are kept; beyond it those go first that end first.
MOST_KEYS = 50_000


@dataclass
class _Noted:
    value: object
    end: float  # time.monotonic


class Shadow:
    """Keys with an end. Thread-safe, bounded by MOST_KEYS."""

    def __init__(self) -> None:
        self._noted: dict[str, _Noted] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._noted)

    def add(self, key: str, value: object, seconds: float) -> bool:
        """Note a key that is not noted yet; tell whether it was not."""
        now = time.monotonic()
        with self._lock:
            if (noted := self._noted.get(key)) and noted.end > now:
                return False
            if len(self._noted) >= MOST_KEYS:
                self._make_room(now)
            self._noted[key] = _Noted(value, now + seconds)
            return True

    def get(self, key: str) -> object:
        """Return a key's value, None if it is not noted."""
        noted = self._noted.get(key)
        return noted.value if noted and noted.end > time.monotonic() else None

    def count(self, key: str, delta: int) -> int | None:
        """Add to a count and return it, None if it is not noted."""
        with self._lock:
            noted = self._noted.get(key)
            if noted is None or not isinstance(noted.value, int):
                return None
            noted.value += delta
            return noted.value

    def heard(self, key: str, shared: int, delta: int = 0) -> int:
        """Note what Redis says of a count, after this process added `delta`; return the higher of the two counts."""
        with self._lock:
            noted = self._noted.get(key)
            if noted is None or not isinstance(noted.value, int):
                return shared
            noted.value = max(noted.value + delta, shared)
            return noted.value

    def forget(self, key: str) -> bool:
        """Drop a key; tell whether it was noted."""
        with self._lock:
            return self._noted.pop(key, None) is not None

    def clear(self) -> None:
        """Drop everything."""
        with self._lock:
            self._noted.clear()

    def _make_room(self, now: float) -> None:
        self._noted = {key: noted for key, noted in self._noted.items() if noted.end > now}
        if len(self._noted) >= MOST_KEYS:
            soon = heapq.nsmallest(MOST_KEYS // 10, self._noted, key=lambda key: self._noted[key].end)
            for key in soon:
                del self._noted[key]
