"""The guide for FastAPI."""

from collections.abc import Callable

import pytest

from tests.clients.quick_start import check_installable
from tests.guides.journey import Paths, walk
from tests.guides.reading import OpenGuide
from tests.guides.runs import installed, record_run

pytestmark = pytest.mark.slow


def test_fastapi(guide: Callable[..., OpenGuide]) -> None:
    app = guide("fastapi")
    app.save()
    install, run = app.commands
    check_installable(install)
    app.run(run)
    walk(app, Paths(signed_out_refresh="/refresh"))
    record_run("fastapi", installed("FastAPI", "Starlette", "Authlib"))
