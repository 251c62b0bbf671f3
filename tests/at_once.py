"""Calls at the same moment, each with a separate connection to PostgreSQL, which is closed at the end."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

from django.db import connection, connections, transaction

T = TypeVar("T")
SECONDS = 20  # the longest that one call is waited for


def at_once(count: int, act: Callable[[int], T]) -> list[T]:
    """Call `act` in `count` threads at the same moment and return the results. An exception of a call is raised."""
    barrier = threading.Barrier(count)

    def run(number: int) -> T:
        try:
            barrier.wait(timeout=30)
            return act(number)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count)))


def together(*acts: Callable[[], Any]) -> list[str]:
    """Call all functions at the same moment. Return for each "done", or the name of the exception that it raised."""

    def one(number: int) -> str:
        try:
            acts[number]()
        except Exception as refusal:  # noqa: BLE001  (each test says which it expects)
            return type(refusal).__name__
        return "done"

    return at_once(len(acts), one)


def someone_waits_for_us() -> bool:
    """Return whether another connection waits for a lock that this thread's transaction holds.

    Other tests use the same server at the same time, and their connections wait for locks too.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))")
        return cursor.fetchone() is not None


def blocked_by(first: Callable[[], Any], second: Callable[[], T]) -> T:
    """Call `first`, and commit it once `second`, which another connection calls, waits for it; return what that did."""

    def run() -> T:
        try:
            return second()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            first()
            waiting: Future[T] = pool.submit(run)
            wait_until(lambda: waiting.done() or someone_waits_for_us())
            assert not waiting.done(), "it did not wait"
        return waiting.result(SECONDS)


@contextmanager
def meanwhile(act: Callable[[], Any]) -> Iterator[Callable[..., bool]]:
    """Yield a function that starts `act` on another connection, and returns once that has ended or waits for us.

    The function returns whether it waits, and takes any arguments, so that it can receive a signal. At the end, `act`
    is waited for, and its exception raised.
    """
    started: list[Future[Any]] = []

    def run() -> None:
        try:
            act()
        finally:
            connections.close_all()

    def begin(*args: Any, **options: Any) -> bool:
        started.append(pool.submit(run))
        wait_until(lambda: started[-1].done() or someone_waits_for_us())
        return not started[-1].done()

    with ThreadPoolExecutor(1) as pool:
        yield begin
        assert started
        for each in started:
            each.result(SECONDS)


def wait_until(what: Callable[[], bool]) -> None:
    """Wait until `what` returns True, at most `SECONDS`."""
    deadline = time.monotonic() + SECONDS
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.01)
