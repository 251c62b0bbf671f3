"""Calls at the same moment, each with a separate connection to PostgreSQL, which is closed at the end."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from django.db import connection, connections

T = TypeVar("T")


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


def somebody_waits_for_us() -> bool:
    """Return whether another connection waits for a lock that this thread's transaction holds.

    Other tests use the same server at the same time, and their connections wait for locks too.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))")
        return cursor.fetchone() is not None
