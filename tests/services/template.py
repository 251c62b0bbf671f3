"""The migrated database that each test process copies at its start: migrating takes longer than a hundred tests.

It is created once for each state of the migrations and models, which a digest identifies. It only contains what the
migrations create. Django runs `migrate` on each copy, as on any test database, and finds nothing to apply. The rows
that `post_migrate` adds are created then, because one of them is the first signing key, which is encrypted with the
process's own secret.

On SQLite, the file stays in .cache/databases for the next run. A PostgreSQL that the tests start already contains the
template (tests/services/migrated.py); on another server, it is created here, once.
Run as a module, this program migrates the database of DATABASE_URL or DATA_DIR.
"""

import contextlib
import fcntl
import hashlib
import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
from django.db.backends.base.base import BaseDatabaseWrapper

from tests.services import keeper

PROJECT = Path(__file__).resolve().parents[2]
KEPT = PROJECT / ".cache" / "databases"
APPS = ("accounts", "api", "core", "devportal", "oidc")
# The files that the migrated database depends on: our migrations and models, the list of apps, and the versions of
# packages. `_sources` adds further modules that migrations import. After other changes, the database is used again.
SOURCES = (
    *(f"{app}/**/migrations/*.py" for app in APPS),
    *(f"{app}/**/models/*.py" for app in APPS),
    "api/models.py",
    "devportal/settings/django.py",
    "requirements/*.txt",
    "tests/services/template.py",
)
IMPORTED = re.compile(rf"^(?:from|import) ((?:{'|'.join(APPS)})[\w.]*)", re.MULTILINE)
IN_MEMORY = "file:tests?mode=memory&cache=shared"
# No database of an operator has this name, so a database with this name may be copied.
ON_POSTGRES = "template_of_the_tests"


@contextlib.contextmanager
def copied(connection: BaseDatabaseWrapper) -> Iterator[None]:
    """Within the block, let Django create its test database from the template. Enter it before Django does that."""
    test: dict[str, Any] = connection.settings_dict["TEST"]
    if connection.vendor == "postgresql":
        _make_on_postgres(os.environ["DATABASE_URL"])
        test["TEMPLATE"] = ON_POSTGRES
        yield
        return
    test["NAME"] = IN_MEMORY
    # The database in memory exists as long as there is a connection to it.
    with contextlib.closing(sqlite3.connect(IN_MEMORY, uri=True)) as held:
        _copy_file(held)
        yield


def _copy_file(held: sqlite3.Connection) -> None:
    """Copy the migrated SQLite file of this state of the source. The first process creates it, and others wait."""
    file = KEPT / f"{digest()}.sqlite3"
    KEPT.mkdir(parents=True, exist_ok=True)
    with (KEPT / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not file.exists():
            for old in KEPT.glob("*.sqlite3"):
                old.unlink()
            with keeper.folder() as home:
                migrate(DATA_DIR=str(home))
                # The file is renamed when it is complete, so that an interrupted run leaves no incomplete file.
                part = file.with_suffix(".part")
                with contextlib.closing(sqlite3.connect(home / "db.sqlite3")) as made:
                    made.execute("VACUUM INTO ?", [str(part)])
                part.replace(file)
        # Keep the lock while copying, because a run of another state of the source would delete the file.
        with contextlib.closing(sqlite3.connect(file)) as template:
            template.backup(held)


def _make_on_postgres(url: str) -> None:
    """Create the template, unless another test process already has."""
    server = url.rpartition("/")[0]
    with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
        connection.execute("SELECT pg_advisory_lock(1)")
        if connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [ON_POSTGRES]).fetchone() is None:
            part = f"{ON_POSTGRES}_part"
            connection.execute(f"DROP DATABASE IF EXISTS {part}")
            connection.execute(f"CREATE DATABASE {part}")
            migrate(DATABASE_URL=f"{server}/{part}")
            connection.execute(f"ALTER DATABASE {part} RENAME TO {ON_POSTGRES}")


def migrate(**settings: str) -> None:
    """Migrate the database of these settings. Raises NotStartedError if that fails."""
    command = [sys.executable, "-m", "tests.services.template"]
    done = subprocess.run(
        command, cwd=PROJECT, env={**os.environ, **settings}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise keeper.NotStartedError(done.stderr[-2000:])


def digest(*more: str) -> str:
    """Return a digest of the source files that the migrated database depends on, and of `more`."""
    digest = hashlib.sha256(" ".join([sys.version, sqlite3.sqlite_version, *more]).encode())
    for path in sorted(_sources()):
        digest.update(f"{path.relative_to(PROJECT)}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()[:32]


def _sources() -> set[Path]:
    """Return the files of SOURCES, and our modules that migrations import."""
    found = {path for pattern in SOURCES for path in PROJECT.glob(pattern)}
    for migration in [path for path in found if path.parent.name == "migrations"]:
        for name in IMPORTED.findall(migration.read_text(encoding="utf-8")):
            module = PROJECT.joinpath(*name.split("."))
            found |= {path for path in (module.with_suffix(".py"), module / "__init__.py") if path.exists()}
    return found


def _main() -> None:
    import django
    from django.core.management import call_command
    from django.db.models.signals import post_migrate

    os.environ["DJANGO_SETTINGS_MODULE"] = "devportal.settings"
    django.setup()
    post_migrate.receivers.clear()
    call_command("migrate", verbosity=0, interactive=False)


if __name__ == "__main__":
    _main()
