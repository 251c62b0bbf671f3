"""Server processes that are killed, or restarted one by one, while the service is under load."""

import dataclasses
import os
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import httpx
import pytest

from tests.faults.load import declare, load
from tests.faults.rig import ProductionService, Rig, rig

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


class RoundRobin(httpx.BaseTransport):
    """Passes requests to one server after the other, but to none that is taken out."""

    def __init__(self, pair: "Pair", address: str) -> None:
        self._pair = pair
        self._transports = {one.port: one.transport(address) for one in pair.servers}
        self._turn = 0

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self._turn += 1
        available = [one.port for one in self._pair.servers if one is not self._pair.taken_out]
        port = available[self._turn % len(available)]
        with self._pair.changed:
            self._pair.under_way[port] = self._pair.under_way.get(port, 0) + 1
        try:
            response = self._transports[port].handle_request(request)
            response.read()
            return response
        finally:
            with self._pair.changed:
                self._pair.under_way[port] -= 1
                self._pair.changed.notify_all()


@dataclass
class Pair(ProductionService):
    """Two servers behind a proxy, of which one may be taken out."""

    servers: list[ProductionService] = field(default_factory=list)
    taken_out: ProductionService | None = None
    changed: threading.Condition = field(default_factory=threading.Condition)
    under_way: dict[int, int] = field(default_factory=dict)

    def transport(self, address: str = "192.0.2.1") -> httpx.BaseTransport:
        return RoundRobin(self, address)

    def restart(self, server: ProductionService) -> None:
        """Take a server out, wait for the requests that it has, restart it, and put it back when it is ready."""
        self.taken_out = server
        with self.changed:
            assert self.changed.wait_for(lambda: not self.under_way.get(server.port), 10)
        assert server.stop() == 0
        server.start()
        with server.client() as client:
            assert client.get("/health/ready").status_code == 200
        self.taken_out = None


def test_two_servers_are_restarted_one_by_one(made: Rig, client_id: str) -> None:
    """Nobody notices."""
    first = made.service
    second = ProductionService(first.home, dict(first.settings), workers=2)
    pair = Pair(**{one.name: getattr(first, one.name) for one in dataclasses.fields(first) if one.init})
    pair.servers = [first, second]
    second.start()
    try:
        with load(pair, client_id, APPS) as running:
            for server in pair.servers:
                pair.restart(server)
                time.sleep(0.5)
        assert running.ledger.outcomes() == {"200"}
        assert [one for one in running.pages.requests if one.outcome not in ("200", "302")] == []
        assert running.probes.outcomes() == {"200"}
        assert running.ledger.difference(made.postgres) == []
    finally:
        second.end()
