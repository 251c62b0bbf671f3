"""The guides for Node: Express, and no framework at all."""

from collections.abc import Callable

import pytest

from tests.clients.quick_start import check_installable
from tests.guides.journey import Paths, walk
from tests.guides.packages import CLIENTS, link_modules, pinned
from tests.guides.reading import OpenGuide
from tests.guides.runs import record_run

pytestmark = [pytest.mark.slow, pytest.mark.node]


@pytest.mark.parametrize(("name", "libraries"), [("express", ["express", "openid-client"]), ("node", ["oauth4webapi"])])
def test_node(guide: Callable[..., OpenGuide], name: str, libraries: list[str]) -> None:
    app = guide(name)
    app.save()
    install, run = app.commands
    check_installable(install)
    link_modules(CLIENTS, app.folder)
    app.run(run)
    walk(app, Paths(signed_out_refresh="/refresh"))
    record_run(name, pinned(CLIENTS, *libraries))
