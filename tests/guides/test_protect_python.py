"""The guides to protect an API in Python."""

from collections.abc import Callable

import pytest

from tests.clients.quick_start import check_installable
from tests.guides.protecting import ProtectedApi, check_at_once, check_calls, check_later, check_limit
from tests.guides.runs import installed, record_run

pytestmark = pytest.mark.slow


def test_fastapi(protected: Callable[[str], ProtectedApi]) -> None:
    api = protected("fastapi")
    guide = api.guide
    guide.save()
    install, run, _token, call, swap = guide.commands
    check_installable(install)
    guide.run(run)
    check_calls(api, call)
    check_at_once(api)
    check_limit(api, run)

    guide.close()
    app = guide.folder / "app.py"
    code = app.read_text()
    assert code.count("from introspection import read_token") == 1
    app.write_text(code.replace("from introspection import read_token", swap))
    guide.run(run)
    check_calls(api, call)
    check_later(api)
    record_run("protect-fastapi", installed("FastAPI", "PyJWT", "httpx"))


def test_django(protected: Callable[[str], ProtectedApi]) -> None:
    api = protected("django")
    guide = api.guide
    install, start = next(block.code for block in guide.blocks if "startproject" in block.code).splitlines()
    check_installable(install)
    guide.finish(start)
    guide.save()
    _install, run, _token, call = guide.commands
    guide.run(run)
    check_calls(api, call)
    check_at_once(api, keys=False, after=1.1)
    record_run("protect-django", installed("Django", "djangorestframework", "django-oauth-toolkit"))
