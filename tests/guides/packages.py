"""The packages of a guide for Node, which a package-lock.json of the tests pins. The guide's app gets them."""

import json
import os
import shutil
from pathlib import Path

from tests.services import node

CLIENTS = node.CLIENTS


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


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # another file system
        shutil.copy2(source, target)
