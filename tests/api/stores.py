"""A Redis that is stopped, unreachable or slow."""

import contextlib
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

import redis


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
