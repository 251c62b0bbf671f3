"""Values that a process keeps (core/database/snapshots.py)."""

import threading
from collections.abc import Callable
from types import SimpleNamespace

import pytest
from django.db import DatabaseError

from core.database import snapshots
from core.database.snapshots import NotLoaded, Snapshot


def _counting() -> Callable[[int | None], int]:
    return lambda previous: (previous or 0) + 1


def test_a_value_is_loaded_once_while_it_is_fresh() -> None:
    kept = Snapshot("numbers", _counting(), lambda: 60.0)
    assert (kept.current(), kept.current()) == (1, 1)


def test_a_stale_value_is_returned_while_a_thread_loads_a_new_one(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded, threads = threading.Event(), list[str]()
    kept = Snapshot("numbers", _counting(), lambda: -1.0)
    assert kept.current() == 1
    replace = kept._replace

    def observed() -> int:
        threads.append(threading.current_thread().name)
        value = replace()
        loaded.set()
        return value

    monkeypatch.setattr(kept, "_replace", observed)
    assert kept.current() == 1
    assert loaded.wait(5)
    assert threads == ["numbers"]
    assert kept._value == 2


def test_a_failed_reload_keeps_the_value_and_is_not_repeated_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    attempts: list[int] = []
    kept = Snapshot("numbers", _counting(), lambda: -1.0)
    kept.current()

    def fail() -> int:
        attempts.append(1)
        raise DatabaseError

    monkeypatch.setattr(kept, "_replace", fail)
    monkeypatch.setattr("core.database.snapshots.connection", SimpleNamespace(close=lambda: None))
    kept._lock.acquire()
    kept._reload_and_release()
    assert (kept.current(), len(attempts)) == (1, 1)


def test_a_request_does_not_wait_long_for_the_first_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshots, "FIRST_LOAD_SECONDS", 0.01)
    kept = Snapshot("numbers", _counting(), lambda: 60.0)
    with kept._lock, pytest.raises(NotLoaded):
        kept.current()


def test_a_cleared_value_is_loaded_again() -> None:
    kept = Snapshot("numbers", _counting(), lambda: 60.0)
    kept.current()
    kept.clear()
    assert kept.current() == 1


def test_a_value_that_is_cleared_while_it_is_loaded_is_not_kept() -> None:
    """A change that is committed after a thread has read the table counts at the next use."""
    numbers = [1]

    def load(previous: int | None) -> int:
        read = numbers[0]
        if read == 1:
            numbers[0] = 2  # the change, with the `clear` that follows its commit
            kept.clear()
        return read

    kept = Snapshot("numbers", load, lambda: 60.0)
    assert [kept.current(), kept.current()] == [1, 2]
