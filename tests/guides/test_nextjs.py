"""The guide for Next.js, in Next.js itself."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.clients.quick_start import check_installable
from tests.guides.journey import Paths, Press, leaves, refusal_of, walk
from tests.guides.packages import copy_modules, pinned
from tests.guides.reading import READY_SECONDS, OpenGuide
from tests.guides.runs import record_run

pytestmark = [pytest.mark.slow, pytest.mark.node]
LOCK = Path(__file__).parent / "nextjs"
QUIET = {"NEXT_TELEMETRY_DISABLED": "1"}
PATHS = Paths(sign_in=Press("Sign in"), refresh=Press("Refresh"), sign_out=Press("Sign out"))


def test_nextjs(guide: Callable[..., OpenGuide]) -> None:
    app = guide("nextjs")
    app.save()
    install, auth_secret, run = app.commands
    check_installable(install, LOCK)
    (app.folder / "package.json").write_text('{"name": "my-app", "private": true}')  # as `npm init -y` does
    copy_modules(LOCK, app.folder)
    app.run(f"{auth_secret}\n{run}", **QUIET)
    app.person.browser.timeout = READY_SECONDS  # each page is compiled when it is first asked for
    walk(app, PATHS, refusal="Not signed in: OAuthCallbackError")
    assert "access_denied" in app.log.read_text()
    see_what_the_default_does(app)
    record_run("nextjs", pinned(LOCK, "next", "next-auth", "@auth/core"))


def see_what_the_default_does(app: OpenGuide) -> None:
    """Leave `checks` out, as Auth.js has it by itself: what the guide says of that is what one sees."""
    path = app.folder / "auth.js"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(line for line in lines if not line.startswith("  checks:")))
    deadline = time.monotonic() + 30
    while "state=" in (went := leaves(app, PATHS.sign_in)):  # until Next.js has noticed
        assert time.monotonic() < deadline, went
        time.sleep(0.5)
    assert "Not signed in: OAuthCallbackError" in refusal_of(app, PATHS.sign_in)
