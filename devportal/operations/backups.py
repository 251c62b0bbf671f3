"""Backups of the database and uploaded files. Each one is restored as a test (docs/operations.md#backups)."""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import quote

from django.conf import settings
from django.core.management.base import CommandError
from django.db import connection
from psycopg import pq
from psycopg.conninfo import make_conninfo

from core import clock

FOLDER, LAST = settings.DATA_DIR / "backups", settings.DATA_DIR / "last-backup"
DUMP, FILES = "database.dump", "media.tar"
FORMAT = ("--format=custom", "--no-owner", "--no-privileges")
RESTORE = ("--exit-on-error", "--no-owner", "--no-privileges")
SERVER = "-c listen_addresses='' -c fsync=off -c autovacuum=off"


def back_up(keep: int) -> Path:
    """Create a backup, restore it into a temporary server, delete all but the newest backups, and return its folder."""
    FOLDER.mkdir(mode=0o700, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=FOLDER, prefix=".") as temporary:
        new = Path(temporary) / "new"
        new.mkdir(mode=0o700)
        source, secrets = _database()
        _run([_program("pg_dump"), *FORMAT, "--file", new / DUMP, "--dbname", source], secrets)
        if settings.MEDIA_ROOT.exists():
            # People may delete their pictures meanwhile: tar then ends with 1.
            _run(["tar", "-C", settings.DATA_DIR, "-cf", new / FILES, settings.MEDIA_ROOT.name], most=1)
        with _temporary_server(Path(temporary)) as socket:
            _run([_program("pg_restore"), *RESTORE, "--dbname", f"host={socket} dbname=postgres", new / DUMP])
            _check(f"postgresql://portal@/postgres?host={quote(socket)}")
        finished = new.rename(FOLDER / clock.now().strftime("%Y-%m-%dT%H%M%SZ"))
    LAST.touch()
    for old in sorted(FOLDER.glob("2*"))[:-keep]:
        shutil.rmtree(old)
    return finished


def restore(folder: Path) -> None:
    """Restore a backup into the empty database of the settings, and its files into DATA_DIR."""
    if connection.introspection.table_names():
        raise CommandError("The database is not empty. Create a new one with deploy/database.sql.")
    target, secrets = _database()
    _run([_program("pg_restore"), *RESTORE, "--dbname", target, folder / DUMP], secrets)
    if (folder / FILES).exists():
        _run(["tar", "-C", settings.DATA_DIR, "-xf", folder / FILES])


@contextlib.contextmanager
def _temporary_server(home: Path) -> Iterator[str]:
    """Yield the folder with the socket of a new PostgreSQL, which only this user can enter."""
    data: list[str | Path] = ["--pgdata", home / "data"]
    _run([_program("initdb"), "--username=portal", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync", *data])
    _run([_program("pg_ctl"), "start", "--log", home / "log", "--options", f"{SERVER} -k '{home}'", *data])
    try:
        yield str(home)
    finally:
        _run([_program("pg_ctl"), "stop", "--mode=immediate", *data])


def _check(url: str) -> None:
    """Check that the restored database fits the source and KEY_ENCRYPTION_KEY."""
    others = {name: value for name, value in os.environ.items() if name != "DATABASE_URL_FILE"}
    for command in (["check", "--database", "default"], ["migrate", "--check"]):
        _run([sys.executable, "-m", "django", *command], others | {"DATABASE_URL": url})


def _database() -> tuple[str, Mapping[str, str]]:
    """Return the database of the settings as a conninfo string, and the environment with its password."""
    known = {option.keyword.decode() for option in pq.Conninfo.get_defaults()}
    options = {name: value for name, value in connection.get_connection_params().items() if name in known}
    return make_conninfo("", **options | {"password": None}), os.environ | {"PGPASSWORD": options.get("password", "")}


def _program(name: str) -> Path:
    """Return the path of a program of the newest PostgreSQL on this machine that has a server."""
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    if found := shutil.which("initdb"):
        versions.append(Path(found).resolve())
    if not versions:
        raise CommandError("Install the PostgreSQL server on this machine, for the test restore. It need not run.")
    return versions[-1].with_name(name)


def _run(command: list[str | Path], environment: Mapping[str, str] | None = None, most: int = 0) -> None:
    done = subprocess.run(  # noqa: S603  (no part comes from a request)
        command, capture_output=True, text=True, check=False, env=environment, stdin=subprocess.DEVNULL
    )
    if done.returncode > most:
        raise CommandError(f"{Path(command[0]).name} failed:\n{done.stdout[-1000:]}{done.stderr[-2000:]}")
