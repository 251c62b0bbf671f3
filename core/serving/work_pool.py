"""Pools of a few threads for work that takes long and needs no database (docs/architecture.md#processes)."""

import os
import sys
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any, TypeVar

from core.http.error_pages import ServiceBusy
from core.serving.slots import lend_slot

# Of the threads (Linux): next to one busy thread, each gets a quarter of a processor. With a higher value, people who
# sign in would wait too long on a machine that is busy with tokens.
NICENESS = 5

Result = TypeVar("Result")


class WorkPool:
    """Threads with low priority, and their queue. `name` says what they work on, in the plural: "passwords"."""

    def __init__(self, name: str, threads: int, *, most: int, seconds: float) -> None:
        self._name = name
        self._jobs: SimpleQueue[tuple[Future[Any], Callable[[], Any]]] = SimpleQueue()
        self._most = most
        self._seconds = seconds
        self._lock = Lock()
        self._count = 0
        for number in range(threads):
            Thread(target=self._work, daemon=True, name=f"{name} {number}").start()

    def run(self, job: Callable[[], Result]) -> Result:
        """Return the result of `job`, which runs in one of the threads while this request holds no slot.

        Raises ServiceBusy if `most` jobs wait or run already, or after `seconds`.
        """
        with self._lock:
            if self._count >= self._most:
                raise ServiceBusy(f"too many {self._name} wait")
            self._count += 1
        try:
            future: Future[Result] = Future()
            self._jobs.put((future, job))
            with lend_slot():
                return self._result(future)
        finally:
            with self._lock:
                self._count -= 1

    def _result(self, future: "Future[Result]") -> Result:
        try:
            return future.result(timeout=self._seconds)
        except TimeoutError:
            future.cancel()
            raise ServiceBusy(f"{self._name} waited too long") from None

    def _work(self) -> None:
        if sys.platform == "linux":  # where each thread has its own priority
            os.setpriority(os.PRIO_PROCESS, 0, NICENESS)
        while True:
            future, job = self._jobs.get()
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(job())
                except BaseException as error:  # noqa: BLE001  (`run` raises it)
                    future.set_exception(error)
