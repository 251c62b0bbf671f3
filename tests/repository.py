"""The files of the repository, without the ones that `make` and the tests put beside them."""

import os
from collections.abc import Iterator
from pathlib import Path

MADE = {".cache", ".data", ".git", ".static", ".venv", "__pycache__", "node_modules"}


def walk(root: Path) -> Iterator[Path]:
    """Yield files and folders below `root`, but nothing in MADE.

    `Path.rglob` raises FileNotFoundError if a folder is deleted meanwhile, as in `node_modules` while a test beside
    this one installs packages.
    """
    for folder, inner, files in os.walk(root):
        inner[:] = sorted(name for name in inner if name not in MADE)
        yield from (Path(folder, name) for name in (*inner, *files))
