"""A Redis (or Valkey) that only the tests use: in memory, on a free loopback port."""

import contextlib
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import redis

from tests.services import keeper


def why_missing() -> str | None:
    """Return why Redis can't be started here, or None if it can."""
    return None if _program() else "no Redis: neither redis-server nor valkey-server is on the PATH"


@contextlib.contextmanager
def start() -> Iterator[str]:
    """Yield the REDIS_URL of a new server. Raises NotStartedError if the server does not start."""
    port = keeper.free_port()
    with keeper.folder() as home, running(home, port):
        yield f"redis://127.0.0.1:{port}/0"


def running(home: Path, port: int, *options: str, password: str = "") -> contextlib.AbstractContextManager[None]:
    """Run an empty server within a block. Raises NotStartedError."""
    program = _program()
    assert program is not None, why_missing()
    place = ["--bind", "127.0.0.1", "--port", str(port), "--dir", str(home)]
    unsaved = ["--save", "", "--appendonly", "no"]
    client = redis.Redis(port=port, password=password or None)
    return keeper.running([program, *place, *unsaved, *options], home, lambda: _answers(client))


def running_sentinel(home: Path, port: int, config: str) -> contextlib.AbstractContextManager[None]:
    """Run a sentinel with this configuration within a block. Raises NotStartedError."""
    program = _program()
    assert program is not None, why_missing()
    file = home / "sentinel.conf"
    file.write_text(f"port {port}\nbind 127.0.0.1\ndir {home}\n{config}", encoding="utf-8")
    client = redis.Redis(port=port)
    return keeper.running([program, str(file), "--sentinel"], home, lambda: _answers(client))


def room_in_the_minute(seconds: float = 20) -> None:
    """Wait until the current minute of Redis has some seconds left: tests can't change Redis's clock."""
    left = 60 - time.time() % 60
    if left < seconds:
        time.sleep(left + 0.1)


def _program() -> str | None:
    return shutil.which("redis-server") or shutil.which("valkey-server")


def _answers(client: redis.Redis) -> bool:
    try:
        return bool(client.ping())
    except redis.ConnectionError:
        return False
