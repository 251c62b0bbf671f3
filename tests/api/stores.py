"""A Redis that is stopped, unreachable or slow, and measurements of what callers notice."""

import contextlib
import logging
import os
import signal
import socket
import statistics
import threading
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

import redis

from core.limits.counters import Counters
from core.limits.redis import PAUSE_SECONDS
from tests.api.calls import ME, call

log = logging.getLogger(__name__)


def process_of(url: str) -> int:
    """Return the process id of a Redis."""
    client = redis.Redis.from_url(url)
    info = client.info("server")
    client.close()
    return int(info["process_id"])


@contextlib.contextmanager
def stopped(url: str) -> Iterator[None]:
    """Freeze a Redis within the block; its connections stay open."""
    process = process_of(url)
    os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(process, signal.SIGCONT)


class SlowRoad:
    """A proxy in front of a Redis, which delays every response by `delay` seconds."""

    def __init__(self, url: str) -> None:
        self.delay = 0.0
        self.lead_to(url)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"redis://127.0.0.1:{self._listener.getsockname()[1]}/0"
        threading.Thread(target=self._accept, daemon=True).start()

    def lead_to(self, url: str) -> None:
        """Carry new connections to another Redis; existing ones stay where they are."""
        parts = urlsplit(url)
        self._target = (parts.hostname or "127.0.0.1", parts.port or 6379)

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                try:
                    far = socket.create_connection(self._target)
                except OSError:  # Redis is stopped at the moment
                    near.close()
                    continue
                threading.Thread(target=self._carry, args=(near, far, False), daemon=True).start()
                threading.Thread(target=self._carry, args=(far, near, True), daemon=True).start()

    def _carry(self, source: socket.socket, target: socket.socket, late: bool) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if late:
                    time.sleep(self.delay)
                target.sendall(data)
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


@contextlib.contextmanager
def slow_road(url: str) -> Iterator[SlowRoad]:
    """Yield a proxy in front of the Redis at `url`."""
    road = SlowRoad(url)
    try:
        yield road
    finally:
        road.close()


def statuses_of(credential: str, calls: int) -> list[int]:
    """Make this many calls, and return their statuses."""
    return [call(ME, credential).status_code for _ in range(calls)]


def go_on(credential: str, shared: Counters) -> float:
    """Call for some seconds, and return how much slower the calls were that noticed the failure of the store.

    The fastest of these calls counts: others may have waited for a busy machine, but waiting for the store would slow
    down all of them.
    """
    waited: list[float] = []
    others: list[float] = []
    deadline = time.monotonic() + 2.5 * PAUSE_SECONDS
    while time.monotonic() < deadline:
        before, started = shared.failures, time.perf_counter()
        assert statuses_of(credential, 1) == [200]
        (waited if shared.failures > before else others).append(time.perf_counter() - started)
    assert 1 <= len(waited) <= 4, "one call a second asks whether it is back, and no other waits"
    usual = statistics.median(others)
    slower = [round((seconds - usual) * 1000) for seconds in waited]
    log.info(
        "Usually %.1f ms (%d calls); beyond that %s ms where the store was asked.", usual * 1000, len(others), slower
    )
    return min(waited) - usual
