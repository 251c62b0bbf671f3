"""The guide to protect an API with Go."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.guides.protecting import ProtectedApi, check_at_once, check_calls, check_later, check_limit
from tests.guides.reading import needs
from tests.guides.runs import record_run

pytestmark = [pytest.mark.slow, needs("go")]

LOCK = Path(__file__).parent / "locks" / "go"


def test_go(protected: Callable[[str], ProtectedApi]) -> None:
    api = protected("go")
    guide = api.guide
    guide.save()
    init, load, run, _token, call, get, signature = guide.commands
    guide.finish(init)
    guide.finish("go build -o /dev/null .")  # the first build of a machine compiles the standard library
    guide.run(f"{load}\n{run}")
    check_calls(api, call)
    check_at_once(api)
    check_limit(api, f"{load}\n{run}")

    guide.close()
    (guide.folder / "introspection.go").unlink()
    (guide.folder / "signature.go").write_text(signature)
    lock = (LOCK / "go.mod").read_text()
    module = get.removeprefix("go get ").removesuffix("/oidc")
    version = re.search(rf"^\s*{re.escape(module)} v(\S+)$", lock, re.MULTILINE)
    assert version, "the library of the guide is locked"
    for file in LOCK.iterdir():
        shutil.copy(file, guide.folder)
    guide.finish("go build -o /dev/null .")
    guide.run(f"{load}\n{run}")
    check_calls(api, call)
    check_later(api)
    record_run("protect-go", {"go-oidc": version[1]})
