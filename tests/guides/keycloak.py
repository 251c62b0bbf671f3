"""Keycloak from Maven, for the test that runs it as a broker. `python -m tests.guides.keycloak` installs it."""

import fcntl
import os
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

from tests.guides.packages import INSTALLED, QUICK_START

VERSION = "26.7.3"
HOME = INSTALLED / f"keycloak-{VERSION}"
DATABASE = "keycloakdb.mv.db"
# A client of the realm `master` that may do everything. Each test has a copy of the database, and ends with it.
ADMIN = {"client_id": "admin", "client_secret": "only-for-tests"}
ENVIRONMENT = {"JAVA_OPTS_GC": QUICK_START}


def install() -> Path:
    """Install Keycloak with a new database if needed, and return the folder of its programs.

    This takes more than a minute: Keycloak compiles its configuration, and creates its tables.
    """
    stamp = HOME / ".installed"
    with Path(__file__).open() as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)  # two test processes may get here at the same time
        if not stamp.exists():
            shutil.rmtree(HOME, ignore_errors=True)
            _unpack()
            _run("bin/kc.sh", "build", "--db=dev-file")
            client = [f"--client-id={ADMIN['client_id']}", "--client-secret:env=SECRET"]
            _run("bin/kc.sh", "bootstrap-admin", "service", "--optimized", *client)
            stamp.touch()
    return HOME / "bin"


def start_command(folder: Path, port: int) -> str:
    """Copy the new database into a folder, and return the command that starts Keycloak with it at a port."""
    shutil.copy(HOME / "data" / "h2" / DATABASE, folder)
    database = f"jdbc:h2:file:{folder / DATABASE.partition('.')[0]};NON_KEYWORDS=VALUE"
    options = [f"--db-url={database}", "--cache=local", f"--hostname=http://localhost:{port}"]
    options += ["--http-enabled=true", "--http-host=127.0.0.1", f"--http-port={port}"]
    return shlex.join(["exec", "kc.sh", "start", "--optimized", *options])


def _unpack() -> None:
    artifact = f"-Dartifact=org.keycloak:keycloak-quarkus-dist:{VERSION}:zip"
    INSTALLED.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=INSTALLED) as folder:
        _run("mvn", "-B", "-ntp", "-q", "dependency:unpack", artifact, f"-DoutputDirectory={folder}", folder=folder)
        (Path(folder) / HOME.name).rename(HOME)


def _run(*command: str, folder: str | Path = HOME) -> None:
    settings = {"MAVEN_OPTS": QUICK_START, "SECRET": ADMIN["client_secret"]} | ENVIRONMENT
    done = subprocess.run(
        command,
        cwd=folder,
        env=os.environ | settings,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{shlex.join(command)}\n{done.stdout[-3000:]}"


if __name__ == "__main__":
    install()
