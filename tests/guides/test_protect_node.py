"""The guide to protect an API with Express."""

from collections.abc import Callable

import pytest

from tests.clients.quick_start import check_installable
from tests.guides.packages import CLIENTS, link_modules, pinned
from tests.guides.protecting import ProtectedApi, check_at_once, check_calls, check_later, check_limit
from tests.guides.runs import record_run

pytestmark = [pytest.mark.slow, pytest.mark.node]


def test_express(protected: Callable[[str], ProtectedApi]) -> None:
    api = protected("express")
    guide = api.guide
    guide.save()
    install, run, _token, call, swap = guide.commands
    check_installable(install)
    link_modules(CLIENTS, guide.folder)
    guide.run(run)
    check_calls(api, call)
    check_at_once(api)
    check_limit(api, run)

    guide.close()
    app = guide.folder / "app.mjs"
    code = app.read_text()
    used = 'import { readToken } from "./introspection.mjs";'
    assert code.count(used) == 1
    app.write_text(code.replace(used, swap))
    guide.run(run)
    check_calls(api, call)
    check_later(api)
    record_run("protect-express", pinned(CLIENTS, "express", "jose"))
