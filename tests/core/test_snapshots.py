"""Values that a process keeps (core/database/snapshots.py)."""

import threading
import time
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
    kept = Snapshot("numbers", _counting(), lambda: -0.5)
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
    monkeypatch.setattr(snapshots, "LOAD_SECONDS", 0.01)
    kept = Snapshot("numbers", _counting(), lambda: 60.0)
    with kept._lock, pytest.raises(NotLoaded):
        kept.current()


def test_no_other_thread_replaces_what_a_transaction_has_stored() -> None:
    stored, by_thread = [1], list[str]()

    def load(previous: int | None) -> int:
        by_thread.append(threading.current_thread().name)
        return stored[0]

    kept = Snapshot("numbers", load, lambda: -60.0)
    kept.current()
    with kept.in_transaction():
        stored[0] = 2
        assert (kept.reload(), kept.current(), kept.current()) == (2, 2, 2)
        assert set(by_thread) == {threading.current_thread().name}
        stored[0] = 1  # it is rolled back
    assert kept.current() == 1


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


def test_requests_at_once_in_a_process_that_was_idle_use_no_old_value() -> None:
    numbers, loading = [1], threading.Event()

    def load(previous: int | None) -> int:
        read = numbers[0]
        if previous is not None:
            loading.set()
            time.sleep(0.02)
        return read

    kept = Snapshot("numbers", load, lambda: 60.0)
    kept.current()
    numbers[0] = 2
    kept._loaded_at -= 3600
    first: list[int] = []
    thread = threading.Thread(target=lambda: first.append(kept.current()))
    thread.start()
    assert loading.wait(5)
    assert kept.current() == 2
    thread.join()
    assert first == [2]


def test_a_database_that_hangs_delays_requests_of_an_idle_process_once() -> None:
    numbers, goes_on = [1], threading.Event()

    def load(previous: int | None) -> int:
        if previous is not None:
            goes_on.wait(5)
        return numbers[0]

    kept = Snapshot("numbers", load, lambda: 60.0)
    kept.current()
    kept._loaded_at -= 3600
    assert kept.current() == 1
    began = time.monotonic()
    assert [kept.current() for _ in range(20)] == [1] * 20
    assert time.monotonic() - began < snapshots.LOAD_SECONDS
    goes_on.set()
