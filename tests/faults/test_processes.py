"""Server processes that are killed while the service is under load. test_restarts.py restarts them one by one."""

import os
import signal
import time
from collections.abc import Iterator

import pytest

from tests.faults.load import declare, load
from tests.faults.rig import Rig, rig

pytestmark = [pytest.mark.slow, pytest.mark.redis, pytest.mark.postgres]

APPS = 4
BACK_SECONDS = 10.0


@pytest.fixture(scope="module")
def made() -> Iterator[Rig]:
    with rig() as running:
        yield running


@pytest.fixture(scope="module")
def client_id(made: Rig) -> str:
    return declare(made.service, APPS)


def test_a_worker_is_killed(made: Rig, client_id: str) -> None:
    """Its requests break off; the other one goes on, and soon there are two again."""
    before = made.service.worker_processes()
    with load(made.service, client_id, APPS) as running:
        victim = min(before)
        os.kill(victim, signal.SIGKILL)
        time.sleep(0.5)
        since = time.monotonic()
        deadline = since + BACK_SECONDS
        while len(made.service.worker_processes() - {victim}) < len(before) and time.monotonic() < deadline:
            time.sleep(0.1)
        running.wait_until_back(BACK_SECONDS)
        assert running.ledger.outcomes(since=since) == {"200"}
        assert running.probes.outcomes(since=since) == {"200"}
    assert len(made.service.worker_processes()) == len(before)
    assert running.ledger.difference(made.postgres) == []


def test_the_parent_is_killed(made: Rig, client_id: str) -> None:
    """Its workers end by themselves, so that the port is free when the service starts again."""
    workers = made.service.worker_processes()
    with load(made.service, client_id, APPS) as running:
        made.service.stop(signal.SIGKILL)
        deadline = time.monotonic() + BACK_SECONDS
        while any(_runs(pid) for pid in workers) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not any(_runs(pid) for pid in workers)
        made.service.start()
        running.wait_until_back(BACK_SECONDS)
    assert running.ledger.difference(made.postgres) == []


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
