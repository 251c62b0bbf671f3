"""Small tables that every request needs, kept in the process and reloaded behind the requests (`Snapshot`)."""

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from django.db import DatabaseError, connection

log = logging.getLogger(__name__)

Value = TypeVar("Value")

# How long a request waits while a thread loads the first value, or a new one instead of a value that is too old. Then
# it fails, or uses the old value, so that requests never pile up.
LOAD_SECONDS = 0.1
RETRY_SECONDS = 1.0
# A value that has been stale for longer is too old: no request has asked for it in the meantime.
STALE_SECONDS = 1.0


class NotLoaded(DatabaseError):
    """Another thread is loading the first value."""


class Snapshot(Generic[Value]):
    """A value that `load` reads from the database, given the previous one or None.

    A value older than `max_age()` seconds is stale: it is still returned while a background thread loads a new one. In
    a process that was idle it may be hours old, so requests then wait for the new one, but not for a slow database. A
    value must never change after it was loaded, because all threads share it. `name` is for threads and messages.
    """

    def __init__(self, name: str, load: Callable[[Value | None], Value], max_age: Callable[[], float]) -> None:
        self._name, self._load, self._max_age = name, load, max_age
        self._lock = threading.Lock()
        self._value: Value | None = None
        self._cleared = object()  # another one after each `clear`
        self._is_stale_allowed = False
        self._loaded_at = self._reload_at = self._failed_at = float("-inf")  # of time.monotonic()

    def current(self) -> Value:
        """Return the value. Raises NotLoaded, or another DatabaseError if the first value can't be loaded."""
        value = self._value
        if value is None:
            return self._first()
        now = time.monotonic()
        stale_for = now - self._loaded_at - self._max_age()
        if stale_for <= 0 or self._is_stale_allowed:
            return value
        if now - self._failed_at > RETRY_SECONDS and self._lock.acquire(blocking=False):
            self._reload_at = now
            threading.Thread(target=self._reload_and_release, daemon=True, name=self._name).start()
        return self._reloaded(value) if stale_for > STALE_SECONDS else value

    def _reloaded(self, value: Value) -> Value:
        """Return the value that a thread is loading; `value` if that has taken LOAD_SECONDS since it began."""
        left = self._reload_at + LOAD_SECONDS - time.monotonic()
        if left > 0 and self._lock.acquire(timeout=left):
            self._lock.release()
        current = self._value
        return value if current is None else current

    def reload(self) -> Value:
        """Load the value now and return it."""
        with self._lock:
            return self._replace()

    def replace(self, value: Value) -> None:
        """Use `value` from now on."""
        self._value, self._loaded_at = value, time.monotonic()

    def clear(self) -> None:
        """Drop the value, so that the next use loads it again, also if a thread is loading one now."""
        self._cleared = object()
        self._value = None

    @contextlib.contextmanager
    def in_transaction(self) -> Iterator[None]:
        """Let the value contain what this thread's transaction has stored, and drop it at the end.

        No other thread reloads it meanwhile, because it would not see that yet.
        """
        self.clear()
        self._is_stale_allowed = True
        try:
            yield
        finally:
            self._is_stale_allowed = False
            self.clear()

    def preload(self) -> None:
        """Load the first value. If the database is down, a thread tries again each second."""
        try:
            self.reload()
        except DatabaseError:
            log.warning("Can't load yet, because the database does not respond: %s.", self._name)
            threading.Thread(target=self._load_until_there, daemon=True, name=self._name).start()

    def _first(self) -> Value:
        if not self._lock.acquire(timeout=LOAD_SECONDS):
            raise NotLoaded(f"Another thread is loading: {self._name}.")
        try:
            return self._value if self._value is not None else self._replace()
        finally:
            self._lock.release()

    def _replace(self) -> Value:
        before = self._cleared
        value = self._load(self._value)
        if self._cleared is before:
            self.replace(value)
        return value

    def _reload_and_release(self) -> None:
        try:
            self._replace()
        except Exception:  # the current value stays in use; a request after RETRY_SECONDS tries again
            self._failed_at = time.monotonic()
            log.exception("Can't reload: %s. The current value stays in use.", self._name)
        finally:
            connection.close()
            self._lock.release()

    def _load_until_there(self) -> None:
        while self._value is None:
            time.sleep(RETRY_SECONDS)
            with contextlib.suppress(DatabaseError):
                self.current()
        connection.close()
