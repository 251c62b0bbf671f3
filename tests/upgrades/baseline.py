"""The version from which upgrade tests begin: 0.1.0, the first release (docs/upgrades.md#the-baseline)."""

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BASELINE = "34aa8a18535ca40ce18e396e6b5641c8aa4d9579"  # the commit of 0.1.0
# The newest migration of each app in 0.1.0. Later ones obey the rules of tests/upgrades/test_migration_rules.py.
NEWEST = {"accounts": 1, "api": 2, "console": 2, "oidc": 1, "operations": 1, "review": 1}


def why_missing() -> str | None:
    """Return why the baseline's source is not available (no git, or a clone without the commit), None if it is."""
    command = ["git", "cat-file", "-e", f"{BASELINE}^{{commit}}"]
    try:
        found = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    except FileNotFoundError:
        return "git is not installed, so the source of 0.1.0 can't be read"
    return None if found.returncode == 0 else f"this copy has no commit {BASELINE}, which is 0.1.0"


def unpack(folder: Path) -> None:
    """Write the baseline's source into a folder."""
    packed = subprocess.run(["git", "archive", BASELINE], cwd=ROOT, capture_output=True, check=True).stdout
    subprocess.run(["tar", "-x", "-C", folder], input=packed, check=True)


def copy_source(folder: Path) -> None:
    """Write the present source into a folder."""
    ignored = shutil.ignore_patterns(".*", "__pycache__", "node_modules", "tests")
    shutil.copytree(ROOT, folder, ignore=ignored, dirs_exist_ok=True)


def install_packages(source: Path, folder: Path) -> None:
    """Install the packages that the baseline pins into a folder; do nothing if the present state pins the same."""
    pins = Path("requirements", "runtime.txt")
    if (source / pins).read_text() == (ROOT / pins).read_text():
        return
    command = [sys.executable, "-m", "pip", "install", "-qq", "--disable-pip-version-check", "--no-deps"]
    pinned = ["--require-hashes", "-r", str(source / pins)]
    subprocess.run([*command, "--target", str(folder), *pinned], check=True)
