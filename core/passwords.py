"""Password hashing, limited and separate from all other work (docs/architecture.md#processes).

A slow hash takes a quarter of a second of processor time, so a few people who sign in at once would use all of it. A
few threads with low priority compute the hashes one after another; a request that waits for a hash holds no slot.
"""

import functools
import os
import time
from collections import Counter
from threading import Lock

from django.conf import settings
from django.contrib.auth.hashers import PBKDF2PasswordHasher

from core.serving.slots import lend_slot
from core.serving.work_pool import WorkPool

MOST_PASSWORDS = 64  # hashed or waiting, in each process
# Requests that wait for other sign-ins from their IP address, in each process: from all and from one. The second is
# enough for a class, and leaves room for others.
MOST_PAUSED, MOST_PAUSED_TOGETHER = 64, 24


@functools.cache
def hashing_pool() -> WorkPool:
    """Return the pool of this process, which starts when the first password is hashed."""
    threads, seconds = settings.PASSWORD_THREADS, settings.PASSWORD_WAIT_SECONDS
    return WorkPool("passwords", threads, most=MOST_PASSWORDS, seconds=seconds)


# A forked process has none of its parent's threads, and `serve --demo` hashes passwords before it forks its workers.
os.register_at_fork(after_in_child=hashing_pool.cache_clear)


_paused: Counter[object] = Counter()
_pause_lock = Lock()


def pause(seconds: float, group: object) -> bool:
    """Wait without a slot; return False immediately if too many requests do, in all or of this group."""
    with _pause_lock:
        if _paused.total() >= MOST_PAUSED or _paused[group] >= MOST_PAUSED_TOGETHER:
            return False
        _paused[group] += 1
    try:
        with lend_slot():
            time.sleep(seconds)
    finally:
        with _pause_lock:
            _paused[group] -= 1
            if not _paused[group]:
                del _paused[group]
    return True


class BoundedPBKDF2PasswordHasher(PBKDF2PasswordHasher):
    """Django's hasher, which uses the pool for checks and new hashes. Raises ServiceBusy above its limits."""

    def encode(self, password: str, salt: str, iterations: int | None = None) -> str:
        # Of Django's methods, only this one takes long: verify() and harden_runtime() call it.
        return hashing_pool().run(functools.partial(super().encode, password, salt, iterations))
