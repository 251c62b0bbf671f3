"""The landed state that upgrades begin from: its source out of git, and which migrations it has.

`BASELINE` is moved when a state has landed that has migrations of its own (docs/upgrades.md#the-baseline).
"""

import io
import subprocess
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BASELINE = "9e5b64267a424ec3fc9664ad0e3fd439db502fe1"
# The newest migration of each app there; later ones obey the rules of tests/upgrades/test_migration_rules.py.
NEWEST = {"accounts": 7, "api": 4, "console": 7, "oidc": 8}


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
