"""Slots: the few requests that Django handles at a time, each with its database connections."""

import contextlib
from collections.abc import Iterator
from queue import Empty, SimpleQueue
from threading import get_ident, local

from django.core.cache import caches
from django.db import OperationalError, connections


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


class NoDatabase(Slot):
    """What a request has that takes no slot: connections that are never made, whoever shares them.

    What such a request needs is in memory. Should it ask a database all the same, it is refused at once.
    """

    def __init__(self) -> None:
        super().__init__()
        for _, connection in self._held:
            connection.connect = _refuse_to_connect  # type: ignore[method-assign]


def _refuse_to_connect() -> None:
    raise OperationalError("a request without a slot asked a database")


class SlotPool:
    """All slots, and the queue for them."""

    def __init__(self, count: int, *, most_waiting: int, seconds: float) -> None:
        self._count = count
        self._free: SimpleQueue[Slot] = SimpleQueue()
        for _ in range(count):
            self._free.put(Slot())
        self._no_database = NoDatabase()
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

    @contextlib.contextmanager
    def without(self) -> Iterator[None]:
        """Keep this thread from asking a database within the block."""
        self._no_database.enter()
        try:
            yield
        finally:
            self._no_database.leave()

    def _share_caches(self) -> None:
        if hasattr(self._thread, "has_caches"):
            return
        for alias, cache in self._caches:
            caches[alias] = cache
        self._thread.has_caches = True
