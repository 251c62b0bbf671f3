"""The roles of the compose file, run by Podman as the file says, with a PostgreSQL and a Redis of the tests."""

import contextlib
import json
import os
import secrets
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx

from tests.image.compose import Role, roles
from tests.services import keeper, podman, postgres
from tests.services.service import as_toml

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
LASTING = ("web", "worker", "mailer", "sender", "beat")
START_SECONDS = 180
# Flags that are not in the compose file, but that a machine may require of every container.
LIMITS = ["--network", "host", "--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1000:1000"]


@dataclass
class Stores:
    """The places of the service's data: a PostgreSQL with its database, the secrets, and the prefix of volume names."""

    superuser: str
    secrets: Path
    volumes: str

    def psql(self, *arguments: str, program: str = "psql", **options: Any) -> None:
        """Run psql, or another program of PostgreSQL, as a superuser. Raises CalledProcessError if it fails."""
        programs = postgres.find_programs()
        assert programs is not None
        podman.run([str(programs / program), *arguments], **options)

    def add_volume(self) -> None:
        podman.podman("volume", "create", f"{self.volumes}-data")

    def remove_volume(self) -> None:
        """Remove the volume. A container that used it may be gone a moment later than its process."""
        line = [*podman.command(), "volume", "rm", "--force", f"{self.volumes}-data"]
        soon(
            lambda: subprocess.run(line, capture_output=True, check=False).returncode == 0, "podman removes the volume"
        )


@contextlib.contextmanager
def stores(home: Path, name: str, mail_port: int, like: Stores | None = None) -> Iterator[Stores]:
    """Yield new stores, created with the files of deploy/: an empty database, and new secrets or those of `like`."""
    folder = home / name
    given = {variable: value for variable, value in os.environ.items() if variable != "TEST_DATABASE_URL"}
    with contextlib.ExitStack() as stack:
        url = stack.enter_context(_own_postgres())
        if like is not None:
            folder.mkdir(mode=0o700)
            for kept in ("secret_key", "key_encryption_key", "database_password"):
                shutil.copy2(like.secrets / kept, folder / kept)  # keep the mode, so that containers can read it
        where = {"DATABASE": f"{urlsplit(url).netloc.rpartition('@')[2]}/portal"}
        mail = {"EMAIL_URL": f"smtp://127.0.0.1:{mail_port}"}
        podman.run([str(DEPLOY / "make-secrets"), str(folder)], env=given | where | mail)
        made = Stores(f"{url.rpartition('/')[0]}", folder, f"portal-test-{secrets.token_hex(4)}")
        password = {"DATABASE_PASSWORD_FILE": str(folder / "database_password")}
        made.psql(f"{made.superuser}/postgres", "--file", str(DEPLOY / "database.sql"), env=given | password)
        made.add_volume()
        stack.callback(made.remove_volume)
        yield made


@contextlib.contextmanager
def _own_postgres() -> Iterator[str]:
    # The role always has the same name, so each stack needs a separate server.
    shared = os.environ.pop("TEST_DATABASE_URL", None)
    try:
        with postgres.start() as url:
            yield url
    finally:
        if shared is not None:
            os.environ["TEST_DATABASE_URL"] = shared


class Stack:
    """One deployment: `once` runs a role that ends, and `running` the roles that keep running."""

    def __init__(self, image: str, held: Stores, variables: dict[str, str], environment: dict[str, str]) -> None:
        self.roles = roles(IMAGE=image, **variables)
        self.stores = held
        self.environment = environment
        self.port = int(environment["PORT"])

    def once(self, name: str, *command: str, **options: Any) -> Any:
        """Run a role, or another command as this role, to its end; return its output."""
        role = self.roles[name]
        flags = ["--interactive"] if "input" in options else []
        return podman.podman("run", "--rm", *flags, *self._flags(role), *(command or role.command), **options).stdout

    def provision(self, **sections: list[dict[str, Any]]) -> dict[str, Any]:
        """Declare people and projects, and return the output of `manage.py provision --json`."""
        command = ["python", "manage.py", "provision", "/dev/stdin", "--json"]
        declared: dict[str, Any] = json.loads(self.once("web", *command, input=as_toml(sections)))
        return declared

    @contextlib.contextmanager
    def running(self) -> Iterator["Stack"]:
        """Run all roles that keep running. The block begins when the service is ready. No log may have a traceback."""
        with contextlib.ExitStack() as stack:
            homes = {name: stack.enter_context(keeper.folder()) for name in LASTING}
            for name, home in homes.items():
                stack.enter_context(self._role(name, home))
            try:
                soon(self._is_ready, "the service", START_SECONDS)
                yield self
                assert not [name for name, home in homes.items() if "Traceback" in _log(home)]
            except BaseException as error:
                for name, home in homes.items():
                    error.add_note(f"--- {name}\n{_log(home)[-3000:]}")
                raise

    def check(self) -> None:
        """Wait until the health checks of all roles that keep running succeed."""
        with ThreadPoolExecutor() as threads:
            list(threads.map(self._check, LASTING))

    @contextlib.contextmanager
    def _role(self, name: str, home: Path) -> Iterator[None]:
        role = self.roles[name]
        container = f"{self.stores.volumes}-{name}"
        line = [*podman.command(), "run", "--rm", "--name", container, *self._flags(role), *role.command]
        exists = [*podman.command(), "container", "exists", container]
        with keeper.running(line, home, lambda: subprocess.run(exists, check=False).returncode == 0):
            yield

    def _flags(self, role: Role) -> list[str]:
        environment = role.environment | self.environment
        given = [word for name, value in environment.items() for word in ("--env", f"{name}={value}")]
        return [*LIMITS, *role.flags(self.stores.secrets, self.stores.volumes), *given, role.service["image"]]

    def _check(self, name: str) -> None:
        line = [*podman.command(), "exec", f"{self.stores.volumes}-{name}", *self.roles[name].check]
        soon(lambda: subprocess.run(line, capture_output=True, check=False).returncode == 0, name, START_SECONDS)

    def _is_ready(self) -> bool:
        try:
            return httpx.get(f"http://127.0.0.1:{self.port}/health/ready").status_code == 200
        except httpx.TransportError:
            return False


def _log(home: Path) -> str:
    return (home / "log").read_text(errors="replace")


def soon(holds: Callable[[], bool], what: str, seconds: float = 30) -> float:
    """Wait until a condition is true, and return how many seconds that took. Fails after `seconds`."""
    begin = time.monotonic()
    while not holds():
        assert time.monotonic() - begin < seconds, f"not within {seconds} s: {what}"
        time.sleep(0.2)
    return time.monotonic() - begin
