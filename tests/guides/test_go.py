"""The guide for Go."""

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.guides.journey import Paths, walk
from tests.guides.reading import OpenGuide, needs
from tests.guides.runs import record_run

pytestmark = [pytest.mark.slow, needs("go")]

LOCK = Path(__file__).parent / "locks" / "go"


def test_go(guide: Callable[..., OpenGuide]) -> None:
    app = guide("go")
    app.save()
    install, load, run = app.commands
    lock = (LOCK / "go.mod").read_text()
    init, get = install.splitlines()
    assert re.search(rf"^module {init.removeprefix('go mod init ')}$", lock, re.MULTILINE)
    versions = {name: _locked(lock, name) for name in get.removeprefix("go get ").split()}
    for file in LOCK.iterdir():
        shutil.copy(file, app.folder)
    # The first build of a machine compiles the standard library.
    app.finish("go build -o /dev/null .")
    app.run(f"{load}\n{run}")
    walk(app, Paths(signed_out_refresh="/refresh"))
    record_run(
        "go", {"go-oidc": versions["github.com/coreos/go-oidc/v3/oidc"], "x/oauth2": versions["golang.org/x/oauth2"]}
    )


def _locked(lock: str, package: str) -> str:
    """Return the version that is locked of the module that has a package."""
    found: list[tuple[str, str]] = re.findall(r"^\s*(\S+) v(\S+)$", lock, re.MULTILINE)
    return next(version for module, version in found if f"{package}{os.sep}".startswith(f"{module}/"))
