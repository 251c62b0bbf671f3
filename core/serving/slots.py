"""Slots: the few requests that Django handles at a time, each with its database connections."""

import contextlib
from collections.abc import Iterator
from queue import Empty, SimpleQueue
from threading import get_ident, local

from django.core.cache import caches
from django.db import OperationalError, connections

from core.http.error_pages import ServiceBusy

_thread = local()  # `pool`: whose slot this thread holds; `slot`: the slot, None while it is lent


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

    def end_use(self) -> None:
        """Prepare the connections for another request before this one has ended."""
        for _, connection in self._held:
            if hasattr(connection, "end_request"):
                connection.end_request()

    def is_in_transaction(self) -> bool:
        """Tell whether one of the connections is amid a transaction, which goes with the slot."""
        return any(connection.in_atomic_block for _, connection in self._held)


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
        self._hold(slot)
        self._share_caches()
        return slot

    def give_back(self) -> None:
        """Release the slot of this thread."""
        slot, _thread.slot, _thread.pool = _thread.slot, None, None
        if slot is None:  # lent, and not got back: what was opened meanwhile is this thread's
            connections.close_all()
        else:
            self._release(slot)

    @contextlib.contextmanager
    def lend(self) -> Iterator[None]:
        """Let other requests work in this thread's slot during a block, and wait for one after it.

        Raises ServiceBusy if none becomes free.
        """
        slot, _thread.slot = _thread.slot, None
        slot.end_use()  # what this request waited for must not come off another's allowance
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
        """Return, by the names of gauges, how many slots there are, are taken, and are waited for."""
        busy = self._count - self._free.qsize()
        return {name: self._count, f"{name}_busy": busy, f"{name}_waiting": len(self._waiting)}

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


@contextlib.contextmanager
def lend_slot() -> Iterator[None]:
    """Have this request hold no slot during a block that needs no database, if it holds one and can part with it.

    Amid a transaction it keeps its slot. Raises ServiceBusy, as SlotPool.lend does.
    """
    slot: Slot | None = getattr(_thread, "slot", None)
    if slot is None or slot.is_in_transaction():
        yield
        return
    with _thread.pool.lend():
        yield
