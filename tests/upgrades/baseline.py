"""The landed state that upgrades begin from: its source out of git, and which migrations it has.

`BASELINE` is moved when a state has landed that has migrations of its own (docs/upgrades.md#the-baseline).
"""

import io
import subprocess
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BASELINE = "b609f773c83232825bfdbd4af7deabb5922c91a9"
# The newest migration of each app there; later ones obey the rules of tests/upgrades/test_migration_rules.py.
NEWEST = {"accounts": 21, "api": 5, "console": 14, "oidc": 20}


def why_missing() -> str | None:
    """Say why the baseline's source is not to be had: a copy without git, or without that commit."""
    command = ["git", "cat-file", "-e", f"{BASELINE}^{{commit}}"]
    try:
        found = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    except FileNotFoundError:
        return "no git, so the state before can't be taken out of it"
    return None if found.returncode == 0 else f"this copy has no commit {BASELINE[:12]}, the state before"


def unpack(folder: Path) -> None:
    """Write the baseline's source into a folder."""
    packed = subprocess.run(["git", "archive", BASELINE], cwd=ROOT, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")


def install_packages(source: Path, folder: Path) -> None:
    """Install what the baseline's source is served with into a folder: packages come and go between two states."""
    command = [sys.executable, "-m", "pip", "install", "-qq", "--disable-pip-version-check", "--no-deps"]
    pinned = ["--require-hashes", "-r", str(source / "requirements" / "runtime.txt")]
    subprocess.run([*command, "--target", str(folder), *pinned], check=True)
