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
    """Says why Node can't be used here, or None when it can."""
    absent = [name for name in ("node", "npm") if shutil.which(name) is None]
    if absent:
        return f"no {' and no '.join(absent)} on the PATH"
    version = subprocess.run(["node", "--version"], capture_output=True, text=True, check=False).stdout.strip()
    major = re.match(r"v(\d+)", version)
    return None if major and int(major[1]) >= OLDEST else f"Node {version} is older than {OLDEST}"


@contextlib.contextmanager
def start() -> Iterator[Path]:
    """Installs the client libraries if need be, and yields the folder of the scripts that use them.

    They go beside their package.json, as Node looks for modules upwards from the script.
    """
    install(CLIENTS)
    yield CLIENTS


def run(script: str, *arguments: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Runs a script of tests/clients and returns what it printed; the caller checks its exit code."""
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
    """Installs what a folder's package-lock.json pins, if need be, and returns its node_modules."""
    modules = folder / "node_modules"
    lock = (folder / "package-lock.json").read_bytes()
    stamp = modules / ".installed"
    wanted = hashlib.sha256(lock).hexdigest()
    with (folder / "package.json").open() as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)  # Two test processes may arrive at once.
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
