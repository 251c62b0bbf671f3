"""Node.js, and the client libraries pinned in tests/clients/package-lock.json."""

import contextlib
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

CLIENTS = Path(__file__).resolve().parents[1] / "clients"
OLDEST = 20
RUN_SECONDS = 60


def why_missing() -> str | None:
    """Return why Node can't be used here, or None if it can."""
    absent = [name for name in ("node", "npm") if shutil.which(name) is None]
    if absent:
        return f"no {' and no '.join(absent)} on the PATH"
    version = subprocess.run(["node", "--version"], capture_output=True, text=True, check=False).stdout.strip()
    major = re.match(r"v(\d+)", version)
    return None if major and int(major[1]) >= OLDEST else f"Node {version} is older than {OLDEST}"


@contextlib.contextmanager
def start() -> Iterator[Path]:
    """Install the client libraries if needed, and yield the folder of the scripts that use them.

    They are installed next to their package.json, because Node looks for modules in the folders above a script.
    """
    install(CLIENTS)
    yield CLIENTS


def run(script: str, *arguments: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run a script of tests/clients and return its exit code and output; the caller checks the exit code."""
    return subprocess.run(
        ["node", CLIENTS / script, *arguments],
        cwd=CLIENTS,
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
        timeout=RUN_SECONDS,
        check=False,
    )


def install(folder: Path) -> Path:
    """Install the packages of a folder's package-lock.json if needed, and return its node_modules."""
    modules = folder / "node_modules"
    lock = (folder / "package-lock.json").read_bytes()
    stamp = modules / ".installed"
    wanted = hashlib.sha256(lock).hexdigest()
    with (folder / "package.json").open() as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)  # two test processes may get here at the same time
        if stamp.exists() and stamp.read_text() == wanted:
            return modules
        subprocess.run(
            ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            check=True,
        )
        stamp.write_text(wanted)
    return modules
