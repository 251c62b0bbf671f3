"""Slots: the few requests that Django handles at a time, each with its database connections."""

from queue import Empty, SimpleQueue
from threading import get_ident, local

from django.core.cache import caches
from django.db import connections


class Slot:
    """A slot: a connection to each database, for the thread that holds the slot.

    Django keeps one a thread, and the server has many more threads than may work at once. A connection that goes with
    the place stays open from one request to the next, and there are never more than places.
    """

    def __init__(self) -> None:
        self._held = [(alias, connections.create_connection(alias)) for alias in connections]
        for _, connection in self._held:
            connection.inc_thread_sharing()  # by one thread after the other

    def enter(self) -> None:
        """Set the slot's connections on this thread."""
        for alias, connection in self._held:
            connections[alias] = connection

    def leave(self) -> None:
        """Remove the slot's connections from this thread."""
        for alias, _ in self._held:
            del connections[alias]


class SlotPool:
    """All slots, and the queue for them."""

    def __init__(self, count: int, *, most_waiting: int, seconds: float) -> None:
        self._count = count
        self._free: SimpleQueue[Slot] = SimpleQueue()
        for _ in range(count):
            self._free.put(Slot())
        self._waiting: set[int] = set()
        self._most_waiting = most_waiting
        self._seconds = seconds
        # Clients of Redis and of this process's memory may be used by several threads at once: one is enough for all.
        self._caches = [(alias, caches.create_connection(alias)) for alias in caches]
        self._thread = local()

    def take(self) -> Slot | None:
        """Return a slot for this thread; None if too many wait already, or after SLOT_WAIT_SECONDS."""
        if self._free.empty() and len(self._waiting) >= self._most_waiting:
            return None
        self._waiting.add(get_ident())
        try:
            slot = self._free.get(timeout=self._seconds)
        except Empty:
            return None
        finally:
            self._waiting.discard(get_ident())
        slot.enter()
        if not hasattr(self._thread, "has_caches"):
            self._share_caches()
        return slot

    def give_back(self, slot: Slot) -> None:
        """Release a slot."""
        slot.leave()
        self._free.put(slot)

    def usage(self) -> dict[str, float]:
        """Return how many slots there are, how many are taken, and how many threads wait for one."""
        busy = self._count - self._free.qsize()
        return {"slots": self._count, "slots_busy": busy, "slots_waiting": len(self._waiting)}

    def _share_caches(self) -> None:
        for alias, cache in self._caches:
            caches[alias] = cache
        self._thread.has_caches = True
