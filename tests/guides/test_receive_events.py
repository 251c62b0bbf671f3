"""The guides to receive events."""

from collections.abc import Callable

import pytest

from tests.clients.quick_start import check_installable
from tests.guides.packages import CLIENTS, link_modules, pinned
from tests.guides.receiving import Receiver, check_receiver
from tests.guides.runs import installed, record_run
from tests.guides.test_django import UNSET

pytestmark = pytest.mark.slow


@pytest.mark.node
def test_express(receiver: Callable[[str], Receiver]) -> None:
    app = receiver("express")
    app.guide.save()
    _first_install, _first_run, install, mount, run = app.guide.commands
    check_installable(install)
    link_modules(CLIENTS, app.guide.folder)
    app.append("app.mjs", mount)
    app.guide.run(run)
    check_receiver(app)
    record_run("events-express", pinned(CLIENTS, "express", "jose"))


def test_fastapi(receiver: Callable[[str], Receiver]) -> None:
    app = receiver("fastapi")
    app.guide.save()
    _first_install, _first_run, install, mount, run = app.guide.commands
    check_installable(install)
    app.append("app.py", mount)
    app.guide.run(run)
    check_receiver(app)
    record_run("events-fastapi", installed("FastAPI", "PyJWT"))


def test_django(receiver: Callable[[str], Receiver]) -> None:
    app = receiver("django")
    commands = [block.code for block in app.guide.blocks if not block.file]
    first_install, _first_run, install, settings, mount, run = commands
    check_installable(install)
    app.guide.finish(" && ".join(code.splitlines()[1] for code in (first_install, install)), **UNSET)
    app.guide.save()
    app.append("mysite/local.py", settings)
    app.append("mysite/app.py", mount)
    app.guide.run(" && ".join(run.splitlines()), **UNSET)
    check_receiver(app)
    record_run("events-django", installed("Django", "PyJWT", "mozilla-django-oidc"))
