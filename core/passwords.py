"""Password hashing, bounded and apart from everything else (docs/architecture.md#processes).

A slow hash takes a quarter of a second of a processor, so a few people who sign in at once would take all of it. Hashes
are computed by a few threads of low priority, one after another; whoever waits for one holds no slot.
"""

import functools
import os
import sys
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from threading import Lock, Thread

from django.conf import settings
from django.contrib.auth.hashers import PBKDF2PasswordHasher

from core.http.error_pages import ServiceBusy
from core.serving.slots import lend_slot

MOST_PASSWORDS = 64  # being hashed and waiting, in each process
# Of the threads that hash (Linux): beside one thread that takes all it can get, each has a quarter of a processor. With
# more, those who sign in would wait too long on a machine that is busy with tokens.
NICENESS = 5


class HashingPool:
    """Threads that hash, and the queue for them."""

    def __init__(self, threads: int, *, most: int, seconds: float) -> None:
        self._jobs: SimpleQueue[tuple[Future[str], Callable[[], str]]] = SimpleQueue()
        self._most = most
        self._seconds = seconds
        self._lock = Lock()
        self._count = 0
        for number in range(threads):
            Thread(target=self._work, daemon=True, name=f"passwords {number}").start()

    def run(self, hash_password: Callable[[], str]) -> str:
        """Return what `hash_password` does. Raises ServiceBusy if too many wait, or after PASSWORD_WAIT_SECONDS."""
        with self._lock:
            if self._count >= self._most:
                raise ServiceBusy("too many passwords wait to be hashed")
            self._count += 1
        try:
            job: Future[str] = Future()
            self._jobs.put((job, hash_password))
            with lend_slot():
                return self._result(job)
        finally:
            with self._lock:
                self._count -= 1

    def _result(self, job: "Future[str]") -> str:
        try:
            return job.result(timeout=self._seconds)
        except TimeoutError:
            job.cancel()
            raise ServiceBusy("a password waited too long to be hashed") from None

    def _work(self) -> None:
        if sys.platform == "linux":  # where a thread has a priority of its own
            os.setpriority(os.PRIO_PROCESS, 0, NICENESS)
        while True:
            job, hash_password = self._jobs.get()
            if job.set_running_or_notify_cancel():
                try:
                    job.set_result(hash_password())
                except BaseException as error:  # noqa: BLE001  (goes to who waits for it)
                    job.set_exception(error)


@functools.cache
def hashing_pool() -> HashingPool:
    """Return the pool of this process, started when the first password is hashed."""
    return HashingPool(settings.PASSWORD_THREADS, most=MOST_PASSWORDS, seconds=settings.PASSWORD_WAIT_SECONDS)


# A process that is forked has none of its parent's threads: `serve --demo` hashes before it makes its workers.
os.register_at_fork(after_in_child=hashing_pool.cache_clear)


class BoundedPBKDF2PasswordHasher(PBKDF2PasswordHasher):
    """Django's hasher; checks and hashes alike take their turn in the pool. Raises ServiceBusy beyond its bounds."""

    def encode(self, password: str, salt: str, iterations: int | None = None) -> str:
        # Of Django's methods this is the one that takes time: verify() and harden_runtime() call it.
        return hashing_pool().run(functools.partial(super().encode, password, salt, iterations))
