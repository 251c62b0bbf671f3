"""A PostgreSQL cluster that holds a migrated database: made once for each state of the source, servers start on copies.

To make one takes ten seconds of processor, and a copy of its files a tenth of one. It stays in .cache/clusters for the
next run. It holds what the migrations make. What `post_migrate` adds is added where `migrate` runs again: the first
signing key, which is encrypted with a service's own secret, is among it.
"""

import contextlib
import fcntl
import hashlib
import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import psycopg

from tests.services import keeper, postgres

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / ".cache" / "clusters"
# No operator's database has this name: where it is found, it may be copied.
DATABASE = "migrated_by_the_tests"
OWNER = "portal"
# All that a migration may come from: ours, and with their versions those of the packages.
SOURCES = ("accounts/**/*.py", "api/**/*.py", "devportal/**/*.py", "oidc/**/*.py", "requirements/*.txt")
MIGRATE = """
import django
django.setup()
from django.core.management import call_command
from django.db.models.signals import post_migrate
post_migrate.receivers.clear()
call_command("migrate", verbosity=0, interactive=False)
"""


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
        original = KEPT / _digest(programs)
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


def _digest(programs: Path) -> str:
    # The day, because the migrations make partitions for the days to come.
    digest = hashlib.sha256(f"{programs.parent.name} {datetime.now(UTC):%Y-%m-%d}".encode())
    for path in (Path(__file__), *sorted(path for pattern in SOURCES for path in ROOT.glob(pattern))):
        digest.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()[:32]


def _make(folder: Path) -> None:
    folder.mkdir(mode=0o700)
    with postgres.cluster() as made:
        with made.running():
            with psycopg.connect(f"{made.url}/postgres", autocommit=True) as server:
                server.execute(f"CREATE ROLE {OWNER} LOGIN PASSWORD '{made.password}'".encode())
                server.execute(f"CREATE DATABASE {DATABASE} OWNER {OWNER}".encode())
            _migrate(f"{made.url.replace('//postgres:', f'//{OWNER}:')}/{DATABASE}")
            # Stopped by us and not by its keeper, who would remove the files.
            os.kill(made.pid, signal.SIGINT)
            while (made.home / "data" / "postmaster.pid").exists():
                time.sleep(0.02)
            shutil.copytree(made.home / "data", folder / "data")
        (folder / "password").write_text(made.password)


def _migrate(url: str) -> None:
    with keeper.folder() as home:
        given = {"DATABASE_URL": url, "DATA_DIR": str(home), "ENVIRONMENT": "embedded"}
        given |= {"DJANGO_SETTINGS_MODULE": "devportal.settings", "SECRET_KEY": secrets.token_urlsafe(48)}
        command = [sys.executable, "-c", MIGRATE]
        done = subprocess.run(command, cwd=ROOT, env=os.environ | given, capture_output=True, text=True, check=False)
        if done.returncode:
            raise keeper.NotStartedError(done.stderr[-2000:])
