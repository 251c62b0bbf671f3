"""The guide for terminal tools: an account of oidc-agent, and tokens from it."""

import json
import os
import re
import subprocess
import time
from collections.abc import Callable

import httpx
import pytest

from tests.guides.reading import OpenGuide, accepts, needs
from tests.guides.runs import record_run

pytestmark = [pytest.mark.slow, needs("oidc-agent", "oidc-gen", "oidc-token", "oidc-add", "curl")]

SECONDS = 30
# oidc-agent wants a registered port, above which the system gives others away.
PORTS = range(20_000 + os.getpid() % 10_000, 32_000)


@pytest.fixture
def app(guide: Callable[..., OpenGuide], monkeypatch: pytest.MonkeyPatch) -> OpenGuide:
    """The guide, read with a separate home folder and an agent that ends with the test."""
    opened = guide("terminal", port=next(port for port in PORTS if not accepts(port)))
    opened.save()
    monkeypatch.setenv("HOME", str(opened.folder))
    monkeypatch.setenv("OIDC_ENCRYPTION_PW", "a password for the file")
    monkeypatch.delenv("DISPLAY", raising=False)
    (opened.folder / ".config").mkdir()
    return opened


@pytest.fixture
def agent(app: OpenGuide, monkeypatch: pytest.MonkeyPatch) -> None:
    start = app.commands[1].splitlines()[0]
    said = app.finish(f'{start} > /dev/null; echo "$OIDC_SOCK $OIDCD_PID"').split()
    monkeypatch.setenv("OIDC_SOCK", said[0])
    monkeypatch.setenv("OIDCD_PID", said[1])


def sign_in(app: OpenGuide, command: str) -> "tuple[subprocess.Popen[bytes], str]":
    """Begin a sign-in and walk the person through it; return the command as it runs, and what the browser shows."""
    with app.log.open("wb") as log:
        process = subprocess.Popen(
            ["bash", "-c", command],
            cwd=app.folder,
            env=app.environment | os.environ,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    app._running.append(process)
    deadline = time.monotonic() + SECONDS
    while not (found := re.search(rf"{re.escape(app.service.address)}/connect/authorize\S+", app.log.read_text())):
        assert time.monotonic() < deadline, app.log.read_text()
        assert process.poll() is None, app.log.read_text()
        time.sleep(0.1)
    arrived_at = app.person.go(found[0])
    return process, httpx.get(arrived_at, follow_redirects=True, timeout=20).text


@pytest.mark.usefixtures("agent")
def test_terminal(app: OpenGuide) -> None:
    _install, _start, gen, call, refresh, add, delete = app.commands
    process, _page = sign_in(app, gen)
    assert process.wait(SECONDS) == 0, app.log.read_text()
    before = json.loads(app.finish(call))
    assert (before["email"], before["name"]) == (app.person.email, "Ada Lovelace")
    first, second = app.finish("oidc-token my-app"), app.finish(refresh)
    assert first != second
    # The agent forgets the account, and reads it from its file, which has the rotated token.
    app.finish("oidc-add --remove my-app")
    app.finish(add)
    assert app.finish(refresh) != second
    assert json.loads(app.finish(call))["id"] == before["id"]
    app.finish(delete)
    assert not (app.folder / ".config/oidc-agent/my-app").exists()
    with pytest.raises(AssertionError):
        app.finish("oidc-token my-app")
    printed = app.finish("oidc-gen --version")
    record_run("terminal", {"oidc-agent": printed.split()[-1]})


@pytest.mark.usefixtures("agent")
def test_declining(app: OpenGuide) -> None:
    app.person.decision = "cancel"
    process, page = sign_in(app, app.commands[2])
    assert "access_denied" in page
    process.kill()
    with pytest.raises(AssertionError):
        app.finish("oidc-token my-app")
