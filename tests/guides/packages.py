"""Packages that lock files of the tests pin: for the app of a guide for Node, and for applications in Python."""

import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests.services import node

CLIENTS = node.CLIENTS
LOCKS = Path(__file__).parent / "locks"
ROOT = Path(__file__).resolve().parents[2]
INSTALLED = ROOT / ".cache" / "applications"
# Java runs for seconds. Its second compiler would take a third of the processor time, and speed nothing up.
QUICK_START = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


def link_modules(lock_folder: Path, folder: Path) -> None:
    """Give the app in `folder` the packages that `lock_folder` pins, by a link to the installed ones."""
    (folder / "node_modules").symlink_to(node.install(lock_folder))


def copy_modules(lock_folder: Path, folder: Path) -> None:
    """Give the app in `folder` copies of the packages that `lock_folder` pins, for bundlers that follow no links."""
    shutil.copytree(node.install(lock_folder), folder / "node_modules", symlinks=True, copy_function=_link)


def pinned(lock_folder: Path, *packages: str) -> dict[str, str]:
    """Return the pinned versions of packages, by their names."""
    lock = json.loads((lock_folder / "package-lock.json").read_text(encoding="utf-8"))
    return {package: lock["packages"][f"node_modules/{package}"]["version"] for package in packages}


def install_application(name: str) -> Path:
    """Install what locks/<name>.txt pins in a separate environment if needed, and return the folder of its programs."""
    lock = LOCKS / f"{name}.txt"
    home = INSTALLED / f"{name}-{hashlib.sha256(lock.read_bytes()).hexdigest()[:12]}"
    stamp = home / ".installed"
    with lock.open() as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)  # two test processes may get here at the same time
        if not stamp.exists():
            uv = _install_uv()
            _run(uv, "venv", "--quiet", "--clear", "--python", sys.executable, home)
            _run(uv, "pip", "install", "--quiet", "--require-hashes", "--python", home / "bin" / "python", "-r", lock)
            stamp.touch()
    return home / "bin"


def pinned_application(name: str, *packages: str) -> dict[str, str]:
    """Return the versions of packages that locks/<name>.txt pins, by their names."""
    lock = dict(re.findall(r"^([\w.-]+)(?:\[[\w,-]+\])?==(\S+)", (LOCKS / f"{name}.txt").read_text(), re.MULTILINE))
    return {package: lock[package] for package in packages}


def _install_uv() -> Path:
    """Install uv if needed, as `make lock` does. It installs an application in a tenth of pip's time."""
    lock = ROOT / "requirements" / "lock.txt"
    folder = INSTALLED / "uv"
    with lock.open() as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--upgrade"]
        _run(*pip, "--require-hashes", "--target", folder, "-r", lock)
    return folder / "bin" / "uv"


def _run(*command: str | Path) -> None:
    subprocess.run(command, stdin=subprocess.DEVNULL, check=True)


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # another file system
        shutil.copy2(source, target)
