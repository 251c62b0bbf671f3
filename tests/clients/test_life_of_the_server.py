"""How the server ends, asked or killed, and what is still there when it starts again."""

import os
import re
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.clients.app import App, listening
from tests.clients.person import PASSWORD, Person
from tests.services.service import STOP_SECONDS, Service, unmigrated

pytestmark = pytest.mark.slow
WORKER = re.compile(r"worker-\d+ with PID: (\d+)")
ORPHAN_SECONDS = 5
ADA = "ada@example.com"


@pytest.fixture(scope="module")
def installed() -> Iterator[Service]:
    """A service that the tests end and start again, with the same data."""
    with unmigrated() as service:
        service.start()
        yield service


@pytest.fixture
def service(installed: Service) -> Service:
    """The service, which runs; the test may end it as it likes."""
    if not installed.answers():
        installed.start()
    return installed


@pytest.fixture(scope="module")
def app(installed: Service) -> Iterator[App]:
    with listening(installed, "Orbit") as app:
        app.take_credentials(
            installed.provision(
                people=[{"email": ADA, "password": PASSWORD, "given_name": "Ada"}],
                projects=[{"name": "Orbit", "owner": ADA, "clients": [app.declaration()]}],
            )
        )
        yield app


def workers(service: Service) -> list[int]:
    """Return the ids of the worker processes that were started."""
    found = [int(pid) for pid in WORKER.findall(service.logged())]
    assert found, service.logged()
    return found


def is_running(pid: int) -> bool:
    """Tell whether a process runs; one that ended and was not collected yet does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    try:
        return stat.read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        # No such file: it ended just now, or this system has no /proc.
        return not Path("/proc/self").exists()


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


def wait_until_gone(service: Service, seconds: float) -> None:
    """Wait until no worker runs and the port is free. Fails after `seconds`."""
    deadline = time.monotonic() + seconds
    while any(map(is_running, workers(service))) or not is_free(service.port):
        assert time.monotonic() < deadline, service.logged()[-2000:]
        time.sleep(0.05)


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_to_the_server_stops_it(service: Service, how: signal.Signals) -> None:
    assert service.stop(how) == 0
    wait_until_gone(service, 1)
    assert "Traceback" not in service.logged()


def test_ctrl_c_in_its_terminal_stops_it(service: Service) -> None:
    assert service.process is not None
    # A terminal sends the signal to the whole foreground group.
    os.killpg(service.process.pid, signal.SIGINT)
    assert service.process.wait(STOP_SECONDS) == 0
    wait_until_gone(service, 1)
    assert "Traceback" not in service.logged()


def test_a_killed_server_leaves_no_orphan(service: Service) -> None:
    service.stop(signal.SIGKILL)
    wait_until_gone(service, ORPHAN_SECONDS)


def kill(service: Service) -> None:
    """End every process of the service between two instructions, as a crash of the machine would."""
    service.stop(signal.SIGKILL)
    for pid in filter(is_running, workers(service)):
        os.kill(pid, signal.SIGKILL)
    wait_until_gone(service, ORPHAN_SECONDS)


def code_at(url: str) -> str:
    return parse_qs(urlsplit(url).query)["code"][0]


def test_acknowledged_changes_survive_a_kill(service: Service, app: App) -> None:
    ada = Person(service, ADA)
    code = code_at(ada.go(app.authorization_url()))
    exchanged = app.exchange(code)
    kill(service)
    assert exchanged.status_code == 200

    service.start()
    first = exchanged.json()
    assert app.call("/v1/me", first["access_token"]).status_code == 200
    refreshed = app.refresh(first["refresh_token"])
    kill(service)
    assert refreshed.status_code == 200

    service.start()
    second = refreshed.json()
    newest = app.refresh(second["refresh_token"])
    assert newest.status_code == 200, newest.text
    assert app.refresh(second["refresh_token"]).json()["error"] == "invalid_grant"
    silent = ada.go(app.authorization_url(prompt="none"))
    assert ada.asked == []
    assert app.exchange(code_at(silent)).status_code == 200
    assert app.refresh(first["refresh_token"]).json()["error"] == "invalid_grant"
    # The code is known as used too, and sending it again ends the tokens that came from it.
    assert app.exchange(code).json()["error"] == "invalid_grant"
    assert app.call("/v1/me", newest.json()["access_token"]).status_code == 401


def test_a_code_that_was_issued_before_a_kill_works_once_after_it(service: Service, app: App) -> None:
    code = code_at(Person(service, ADA).go(app.authorization_url()))
    kill(service)
    service.start()
    assert app.exchange(code).status_code == 200
    assert app.exchange(code).json()["error"] == "invalid_grant"
