"""A PostgreSQL and a Redis that a test may freeze, stop and start again."""

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import redis as redis_client

from tests.services import keeper, migrated, redis
from tests.services.postgres import Cluster

GONE_SECONDS = 15


@dataclass
class Engine:
    """A server program with its children, as the operating system sees it."""

    _life: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)

    @property
    def pid(self) -> int:
        raise NotImplementedError

    def run(self) -> contextlib.AbstractContextManager[None]:
        raise NotImplementedError

    def start(self) -> None:
        """Start the server, and wait until it responds."""
        self._life.enter_context(self.run())

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stop the server by a signal and keep its data. SIGINT is PostgreSQL's "fast" shutdown."""
        pid = self.pid
        os.kill(pid, how)
        deadline = time.monotonic() + GONE_SECONDS
        while _is_alive(pid):
            assert time.monotonic() < deadline, "the server does not end"
            time.sleep(0.02)
        self._life.close()

    def end(self) -> None:
        """Stop the server for the last time, even if it is frozen."""
        self.thaw()
        self._life.close()

    def freeze(self) -> None:
        """Stop all processes of the server: connections stay open, but it no longer responds."""
        for pid in self._processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)

    def thaw(self) -> None:
        for pid in self._processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    @contextlib.contextmanager
    def frozen(self) -> Iterator[None]:
        """Freeze the server within a block."""
        self.freeze()
        try:
            yield
        finally:
            self.thaw()

    def _processes(self) -> list[int]:
        try:
            pid = self.pid
        except (OSError, redis_client.RedisError):
            return []
        return [pid, *children(pid)]


@dataclass
class Postgres(Engine):
    """A PostgreSQL with the database `portal`, which belongs to a role with the same name."""

    cluster: Cluster = field(kw_only=True)
    settings: dict[str, str] = field(default_factory=dict)

    @property
    def pid(self) -> int:
        return self.cluster.pid

    @property
    def url(self) -> str:
        """The URL of the database, for the role that owns it."""
        return f"{self.cluster.url.replace('//postgres:', '//portal:')}/portal"

    def run(self) -> contextlib.AbstractContextManager[None]:
        return self.cluster.running(**self.settings)

    def execute(self, sql: str, database: str = "portal", *params: Any) -> list[Any]:
        """Run one statement on a separate connection, and return its rows."""
        address = f"{self.cluster.url}/{database}"
        with psycopg.connect(address, autocommit=True, application_name="the test", connect_timeout=5) as connection:
            cursor = connection.execute(sql.encode(), params or None)
            return cursor.fetchall() if cursor.description else []

    def end_all_connections(self) -> None:
        """End all connections to the database, except the one that runs this statement."""
        self.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = 'portal' AND pid <> pg_backend_pid()"
        )

    @contextlib.contextmanager
    def locked(self, table: str) -> Iterator[None]:
        """Lock a table against readers and writers within a block."""
        with psycopg.connect(self.url, application_name="the test") as connection:
            connection.execute(f'LOCK TABLE "{table}" IN ACCESS EXCLUSIVE MODE'.encode())
            yield
            connection.rollback()


@dataclass
class Redis(Engine):
    """A Redis that loses its data when it stops."""

    home: Path = field(kw_only=True)
    port: int = field(default_factory=keeper.free_port)
    _pid: int = 0

    @property
    def pid(self) -> int:
        return self._pid

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    @property
    def client(self) -> Any:
        return redis_client.Redis(port=self.port, socket_timeout=5)

    def run(self) -> contextlib.AbstractContextManager[None]:
        self.home.mkdir(exist_ok=True)  # its keeper may have removed the folder when the server was stopped
        return redis.running(self.home, self.port)

    def start(self) -> None:
        super().start()
        self._pid = int(self.client.info("server")["process_id"])

    def _processes(self) -> list[int]:
        return [self._pid] if self._pid and _is_alive(self._pid) else []


@contextlib.contextmanager
def own_postgres(**settings: str) -> Iterator[Postgres]:
    """Yield a running PostgreSQL with a migrated database `portal`."""
    with migrated.cluster() as cluster:
        engine = Postgres(cluster=cluster, settings=settings)
        engine.start()
        try:
            engine.execute(f"ALTER DATABASE {migrated.DATABASE} RENAME TO portal", "postgres")
            yield engine
        finally:
            engine.end()


@contextlib.contextmanager
def own_redis() -> Iterator[Redis]:
    """Yield a running Redis."""
    with keeper.folder() as home:
        engine = Redis(home=home)
        engine.start()
        try:
            yield engine
        finally:
            engine.end()


def _is_alive(pid: int) -> bool:
    """Return whether a process is running. One that has ended, but still waits for its parent (zombie), is not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in ("Z", "X")


def children(pid: int) -> list[int]:
    """Return the children of a process (Linux)."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if int((folder / "stat").read_text(encoding="ascii").rpartition(")")[2].split()[1]) == pid:
                found.append(int(folder.name))
    return found
