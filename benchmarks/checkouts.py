"""Check out other commits of this repository into separate folders."""

import subprocess
from pathlib import Path

from benchmarks import processes
from benchmarks.interpreters import CACHE, ROOT

UNPACK = ["tar", "-xf", "-", "-C"]


def full_id(commit: str, repository: Path = ROOT) -> str:
    """Return the full id of a commit, which may be given in any form that git accepts. Raises NotReady."""
    return _git(["rev-parse", "--verify", "--end-of-options", f"{commit}^{{commit}}"], repository).decode().strip()


def check_out(commit: str, repository: Path = ROOT, cache: Path = CACHE) -> Path:
    """Return a folder with the files of a commit. A folder of an earlier run is used again. Raises NotReady.

    The repository itself is not changed.
    """
    whole = full_id(commit, repository)
    folder = cache / f"checkout-{whole[:16]}"
    if not folder.exists():
        packed = _git(["archive", "--format=tar", whole], repository)
        # Rename the folder only when it is complete, so that an aborted run leaves no half-filled one.
        partial = folder.with_suffix(".partial")
        partial.mkdir(parents=True, exist_ok=True)
        subprocess.run([*UNPACK, partial], input=packed, check=True)
        partial.rename(folder)
    return folder


def state(repository: Path = ROOT) -> str:
    """Return the short id of the commit that is checked out, and whether files differ from it; "" without git."""
    try:
        commit = _git(["rev-parse", "--short", "HEAD"], repository).decode().strip()
        changed = _git(["status", "--porcelain", "--untracked-files=no"], repository).strip()
    except processes.NotReady:
        return ""
    return f"{commit}, with changes" if changed else commit


def _git(arguments: list[str], repository: Path) -> bytes:
    done = subprocess.run(["git", *arguments], cwd=repository, capture_output=True, check=False)
    if done.returncode:
        raise processes.NotReady(done.stderr.decode(errors="replace").strip())
    return done.stdout
