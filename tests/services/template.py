"""The migrated database that each test process starts from a copy of: migrating takes longer than a hundred tests.

It is made once for each state of the migrations and models, which a digest names, and holds what the migrations
themselves make. Each copy adds what comes with `post_migrate` (the first signing key among it, encrypted with the
process's own secret): Django runs `migrate` on it as on any test database, and finds nothing to apply.

On SQLite the file stays in .cache/databases for the next run. A PostgreSQL of the tests' own begins with the template
(tests/services/migrated.py); on another server it is made here, once.
Run as a module, this is the program that migrates the database of DATABASE_URL or DATA_DIR.
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
# What the migrated database depends on: our migrations and models, the list of apps, and the packages' versions. What
# the migrations import besides is added by `_sources`. All other edits keep the database.
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
# No operator's database has this name: where it is found, it may be copied.
ON_POSTGRES = "template_of_the_tests"


@contextlib.contextmanager
def copied(connection: BaseDatabaseWrapper) -> Iterator[None]:
    """Have Django make its test database from the template, for the length of a block; call it before Django does."""
    test: dict[str, Any] = connection.settings_dict["TEST"]
    if connection.vendor == "postgresql":
        _make_on_postgres(os.environ["DATABASE_URL"])
        test["TEMPLATE"] = ON_POSTGRES
        yield
        return
    test["NAME"] = IN_MEMORY
    # The database lives as long as somebody is connected to it.
    with contextlib.closing(sqlite3.connect(IN_MEMORY, uri=True)) as held:
        _copy_file(held)
        yield


def _copy_file(held: sqlite3.Connection) -> None:
    """Copy the migrated SQLite file of this state of the source; who comes first makes it, and others wait."""
    file = KEPT / f"{digest()}.sqlite3"
    KEPT.mkdir(parents=True, exist_ok=True)
    with (KEPT / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not file.exists():
            for old in KEPT.glob("*.sqlite3"):
                old.unlink()
            with keeper.folder() as home:
                migrate(DATA_DIR=str(home))
                # Moved in one step: a run that is ended amid this leaves nothing that looks complete.
                part = file.with_suffix(".part")
                with contextlib.closing(sqlite3.connect(home / "db.sqlite3")) as made:
                    made.execute("VACUUM INTO ?", [str(part)])
                part.replace(file)
        # Still locked: a run of another state of the source would remove the file.
        with contextlib.closing(sqlite3.connect(file)) as template:
            template.backup(held)


def _make_on_postgres(url: str) -> None:
    """Make the template, if no other test process has."""
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
    """Migrate the database that the settings name. Raises NotStartedError when that fails."""
    command = [sys.executable, "-m", "tests.services.template"]
    done = subprocess.run(
        command, cwd=PROJECT, env={**os.environ, **settings}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise keeper.NotStartedError(done.stderr[-2000:])


def digest(*more: str) -> str:
    """Return a name for the source files that the migrated database depends on, and for `more`."""
    digest = hashlib.sha256(" ".join([sys.version, sqlite3.sqlite_version, *more]).encode())
    for path in sorted(_sources()):
        digest.update(f"{path.relative_to(PROJECT)}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()[:32]


def _sources() -> set[Path]:
    """Return the files of SOURCES, and the modules of ours that migrations import."""
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
