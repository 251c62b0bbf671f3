"""Slots: the few requests that Django handles at a time, each with its database connections."""

import contextlib
from collections.abc import Iterator
from queue import Empty, SimpleQueue
from threading import get_ident, local

from django.core.cache import caches
from django.db import OperationalError, connections

from core.http.error_pages import ServiceBusy

_thread = local()  # `pool`: the pool of this thread's slot; `slot`: the slot, None while it is lent


class Slot:
    """A connection to each database, for the thread that holds the slot.

    Django keeps connections per thread, and the server has many more threads than may work at once. A slot's connection
    stays open from one request to the next, and there are never more connections than slots.
    """

    def __init__(self) -> None:
        self._held = [(alias, connections.create_connection(alias)) for alias in connections]
        for _, connection in self._held:
            connection.inc_thread_sharing()  # one thread after the other uses it

    def enter(self) -> None:
        """Set the slot's connections on this thread."""
        for alias, connection in self._held:
            connections[alias] = connection

    def leave(self) -> None:
        """Remove the slot's connections from this thread."""
        for alias, _ in self._held:
            del connections[alias]

    def end_use(self) -> None:
        """Prepare the connections for another request before this one has ended."""
        for _, connection in self._held:
            if hasattr(connection, "end_request"):
                connection.end_request()

    def is_in_transaction(self) -> bool:
        """Return whether one of the connections is in a transaction; a slot can't be lent then."""
        return any(connection.in_atomic_block for _, connection in self._held)


class NoDatabase(Slot):
    """The slot of a request that needs no database: its connections never connect.

    Such a request finds everything in memory. If it uses a database anyway, it fails immediately.
    """

    def __init__(self) -> None:
        super().__init__()
        for _, connection in self._held:
            connection.connect = _refuse_to_connect  # type: ignore[method-assign]


def _refuse_to_connect() -> None:
    raise OperationalError("a request without a slot used the database")


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
        # Clients of Redis and of process memory are thread-safe: one of each is enough for all threads.
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
        self._hold(slot)
        self._share_caches()
        return slot

    def give_back(self) -> None:
        """Release the slot of this thread."""
        slot, _thread.slot, _thread.pool = _thread.slot, None, None
        if slot is None:  # it was lent and not taken again, so newly opened connections belong to this thread
            connections.close_all()
        else:
            self._release(slot)

    @contextlib.contextmanager
    def lend(self) -> Iterator[None]:
        """Let other requests use this thread's slot during a block, and wait for a slot afterwards.

        Raises ServiceBusy if none becomes free.
        """
        slot, _thread.slot = _thread.slot, None
        slot.end_use()  # the time that this request waited must not count for another one
        self._release(slot)
        try:
            yield
        finally:
            try:
                self._hold(self._free.get(timeout=self._seconds))
            except Empty:
                raise ServiceBusy("no slot became free again") from None

    def _hold(self, slot: Slot) -> None:
        slot.enter()
        _thread.slot, _thread.pool = slot, self

    def _release(self, slot: Slot) -> None:
        slot.leave()
        self._free.put(slot)

    def usage(self, name: str = "slots") -> dict[str, float]:
        """Return the number of slots, of taken ones, and of waiting requests, by the names of their gauges."""
        busy = self._count - self._free.qsize()
        return {name: self._count, f"{name}_busy": busy, f"{name}_waiting": len(self._waiting)}

    @contextlib.contextmanager
    def without(self) -> Iterator[None]:
        """Prevent this thread from using a database within the block."""
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


@contextlib.contextmanager
def lend_slot() -> Iterator[None]:
    """Free this request's slot during a block that needs no database, if the request holds one.

    In a transaction the request keeps its slot. Raises ServiceBusy, as SlotPool.lend does.
    """
    slot: Slot | None = getattr(_thread, "slot", None)
    if slot is None or slot.is_in_transaction():
        yield
        return
    with _thread.pool.lend():
        yield
