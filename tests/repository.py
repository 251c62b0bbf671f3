"""The files of the repository, without the ones that `make` and the tests create there."""

import os
from collections.abc import Iterator
from pathlib import Path

MADE = {".cache", ".data", ".git", ".static", ".venv", "__pycache__", "node_modules"}


def walk(root: Path) -> Iterator[Path]:
    """Yield files and folders below `root`, except those in MADE.

    `Path.rglob` would raise FileNotFoundError if a folder is deleted meanwhile, for example in `node_modules` while
    another test installs packages.
    """
    for folder, inner, files in os.walk(root):
        inner[:] = sorted(name for name in inner if name not in MADE)
        yield from (Path(folder, name) for name in (*inner, *files))
