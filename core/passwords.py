"""Password hashing, limited and separate from all other work (docs/architecture.md#processes).

A slow hash takes a quarter of a second of processor time, so a few people who sign in at once would use all of it. A
few threads with low priority compute the hashes one after another; a request that waits for a hash holds no slot.
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

MOST_PASSWORDS = 64  # hashed or waiting, in each process
# Of the hashing threads (Linux): next to one busy thread, each gets a quarter of a processor. With a higher value,
# people who sign in would wait too long on a machine that is busy with tokens.
NICENESS = 5


class HashingPool:
    """Threads that compute hashes, and their queue."""

    def __init__(self, threads: int, *, most: int, seconds: float) -> None:
        self._jobs: SimpleQueue[tuple[Future[str], Callable[[], str]]] = SimpleQueue()
        self._most = most
        self._seconds = seconds
        self._lock = Lock()
        self._count = 0
        for number in range(threads):
            Thread(target=self._work, daemon=True, name=f"passwords {number}").start()

    def run(self, hash_password: Callable[[], str]) -> str:
        """Return the result of `hash_password`. Raises ServiceBusy if too many wait, or after PASSWORD_WAIT_SECONDS."""
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
        if sys.platform == "linux":  # where each thread has its own priority
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
    """Return the pool of this process, which starts when the first password is hashed."""
    return HashingPool(settings.PASSWORD_THREADS, most=MOST_PASSWORDS, seconds=settings.PASSWORD_WAIT_SECONDS)


# A forked process has none of its parent's threads, and `serve --demo` hashes passwords before it forks its workers.
os.register_at_fork(after_in_child=hashing_pool.cache_clear)


class BoundedPBKDF2PasswordHasher(PBKDF2PasswordHasher):
    """Django's hasher, which uses the pool for checks and new hashes. Raises ServiceBusy above its limits."""

    def encode(self, password: str, salt: str, iterations: int | None = None) -> str:
        # Of Django's methods, only this one takes long: verify() and harden_runtime() call it.
        return hashing_pool().run(functools.partial(super().encode, password, salt, iterations))
