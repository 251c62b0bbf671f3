"""A PostgreSQL cluster with a migrated database, created once for each state of the source. Servers start on copies.

Creating one takes ten seconds of processor time, and copying its files a tenth of a second. It stays in
.cache/clusters for the next run. It only contains what the migrations create. Rows that `post_migrate` adds are
created when `migrate` runs on a copy, because one of them is the first signing key, which is encrypted with the
service's own secret.
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
    """Yield a cluster that is not running yet. It has the database DATABASE, owned by the role OWNER."""
    with postgres.cluster(_copy) as made:
        yield made


def template_on(server: "psycopg.Connection[tuple[str, ...]]") -> str:
    """Return the database to copy new ones from: DATABASE, or PostgreSQL's empty template if the server lacks it."""
    found = server.execute(b"SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]).fetchone()
    return DATABASE if found else "template1"


def _copy(programs: Path, home: Path, user: str | None) -> str:
    """Fill the home of a cluster; return its superuser's password. The first process to come creates the original."""
    KEPT.mkdir(parents=True, exist_ok=True)
    with (KEPT / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        # The day is part of the state, because the migrations create partitions for the next days.
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
            # Stop the server here, because its keeper would also remove the files.
            os.kill(made.pid, signal.SIGINT)
            while (made.home / "data" / "postmaster.pid").exists():
                time.sleep(0.02)
            shutil.copytree(made.home / "data", folder / "data")
        (folder / "password").write_text(made.password)
