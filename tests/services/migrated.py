"""A PostgreSQL cluster that holds a migrated database: made once for each state of the source, servers start on copies.

To make one takes ten seconds of processor, and a copy of its files a tenth of one. It stays in .cache/clusters for the
next run. It holds what the migrations make. What `post_migrate` adds is added where `migrate` runs again: the first
signing key, which is encrypted with a service's own secret, is among it.
"""

import contextlib
import fcntl
import os
import shutil
import signal
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import psycopg

from tests.services import postgres, template

KEPT = template.PROJECT / ".cache" / "clusters"
DATABASE = template.ON_POSTGRES
OWNER = "portal"


@contextlib.contextmanager
def cluster() -> Iterator[postgres.Cluster]:
    """Yield a cluster that does not run yet, with the database DATABASE and the role OWNER, which owns it."""
    with postgres.cluster(_copy) as made:
        yield made


def template_on(server: "psycopg.Connection[tuple[str, ...]]") -> str:
    """Return the name of the database that new ones are copies of: DATABASE, or what is empty where that is not."""
    found = server.execute(b"SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]).fetchone()
    return DATABASE if found else "template1"


def _copy(programs: Path, home: Path, user: str | None) -> str:
    """Fill the home of a cluster; return its superuser's password. Who comes first makes the original."""
    KEPT.mkdir(parents=True, exist_ok=True)
    with (KEPT / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        # The day, because the migrations make partitions for the days to come.
        state = (Path(__file__).read_text(), programs.parent.name, f"{datetime.now(UTC):%Y-%m-%d}")
        original = KEPT / template.digest(*state)
        if not original.exists():
            for old in KEPT.glob("*/"):
                shutil.rmtree(old)
            _make(KEPT / "part")
            (KEPT / "part").rename(original)
        shutil.copytree(original / "data", home / "data")
    if user is not None:
        for path in (home / "data", *(home / "data").rglob("*")):
            shutil.chown(path, user)
    return (original / "password").read_text()


def _make(folder: Path) -> None:
    folder.mkdir(mode=0o700)
    with postgres.cluster() as made:
        with made.running():
            with psycopg.connect(f"{made.url}/postgres", autocommit=True) as server:
                server.execute(f"CREATE ROLE {OWNER} LOGIN PASSWORD '{made.password}'".encode())
                server.execute(f"CREATE DATABASE {DATABASE} OWNER {OWNER}".encode())
            template.migrate(DATABASE_URL=f"{made.url.replace('//postgres:', f'//{OWNER}:')}/{DATABASE}")
            # Stopped by us and not by its keeper, who would remove the files.
            os.kill(made.pid, signal.SIGINT)
            while (made.home / "data" / "postmaster.pid").exists():
                time.sleep(0.02)
            shutil.copytree(made.home / "data", folder / "data")
        (folder / "password").write_text(made.password)
