"""PostgreSQL frozen, stopped, restarted, out of connections, or with a table locked, while the service is under load.

Every request is answered within 5 seconds; nearly every request that needs no database, within 200 ms; and nothing that
was acknowledged is lost.
"""

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from tests.faults.load import Ledger, Load, declare, load
from tests.faults.rig import Rig, rig

pytestmark = [pytest.mark.slow, pytest.mark.quiet, pytest.mark.redis, pytest.mark.postgres]

ANSWER_SECONDS = 5.0
PROBE_SECONDS = 0.2
# Another test shares the machine, and all waiting requests continue when PostgreSQL is back: this share of the probes
# has to be in time, and each probe within SLOWEST_PROBE_SECONDS.
PROBE_SHARE = 0.95
SLOWEST_PROBE_SECONDS = 1.5
BACK_SECONDS = 5.0
# Longer than any request may wait.
FROZEN_SECONDS = 4 * ANSWER_SECONDS
LOCKED_SECONDS = ANSWER_SECONDS + 1
APPS = 4
CROWD = 16
# What calls left for usage is in Redis, or in a worker until its next call: so many calls that are counted late.
USAGE_BOUND = 10
USAGE_SECONDS = 30.0
# 502 is /v1's answer, 503 everyone else's; 401 is what a token gets that its app has revoked meanwhile.
DOCUMENTED = {"200", "302", "303", "401", "502", "503"}


@pytest.fixture(scope="module")
def harmed() -> Iterator[Rig]:
    with rig() as made:
        made.service.start_celery(
            "worker", "--beat", "--concurrency", "1", "--schedule", str(made.service.home / "beat")
        )
        yield made


@dataclass
class UnderLoad:
    """The load of the whole module, and those who only call `/v1/me`, so many that all slots are taken."""

    running: Load
    crowd: Ledger

    @property
    def ledgers(self) -> tuple[Ledger, ...]:
        return self.running.ledger, self.running.pages, self.crowd

    def calls(self) -> int:
        """Return how many calls of `/v1/me` were acknowledged."""
        return self.running.ledger.calls + sum(one.outcome == "200" for one in self.crowd.requests)


@pytest.fixture(scope="module")
def everything(harmed: Rig) -> Iterator[UnderLoad]:
    client_id = declare(harmed.service, APPS)
    with load(harmed.service, client_id, APPS) as running:
        found = UnderLoad(running, Ledger())
        for _ in range(CROWD):
            running.begin(_caller(harmed, running.ledger, found.crowd))
        yield found


@pytest.fixture
def under_load(everything: UnderLoad) -> Iterator[Load]:
    """Yield the load; afterwards it has to be back, and everything since within its bounds."""
    began = time.monotonic()
    yield everything.running
    everything.running.wait_until_back(BACK_SECONDS)
    for ledger in everything.ledgers:
        assert ledger.outcomes(since=began) <= DOCUMENTED
        assert ledger.slowest(since=began) < ANSWER_SECONDS
    probes = everything.running.probes
    assert probes.outcomes(since=began) == {"200"}
    assert probes.percentile(PROBE_SHARE, since=began) < PROBE_SECONDS
    assert probes.slowest(since=began) < SLOWEST_PROBE_SECONDS


def _caller(harmed: Rig, ledger: Ledger, crowd: Ledger) -> Callable[[threading.Event], None]:
    """Return someone who calls `/v1/me` as often as it answers."""
    client = harmed.service.client()

    def call(over: threading.Event) -> None:
        while not over.wait(0.1):
            if not ledger.access_tokens:
                continue
            client.headers["Authorization"] = f"Bearer {ledger.access_tokens[-1]}"
            crowd.observe("/v1/me", lambda: client.get("/v1/me"))

    return call


def _failed(running: Load, since: float) -> bool:
    """Whether a request that began since then failed; an app whose token was lost goes on with pages."""
    return any({"502", "503"} & ledger.outcomes(since=since) for ledger in (running.ledger, running.pages))


def test_frozen(harmed: Rig, under_load: Load) -> None:
    began = time.monotonic()
    with harmed.postgres.frozen():
        time.sleep(FROZEN_SECONDS)
    assert _failed(under_load, began)


def test_stopped_and_started_again(harmed: Rig, under_load: Load) -> None:
    began = time.monotonic()
    harmed.postgres.stop()
    try:
        time.sleep(5)
    finally:
        harmed.postgres.start()
    assert _failed(under_load, began)


def test_restarted_at_once(harmed: Rig, under_load: Load) -> None:
    harmed.postgres.stop()
    harmed.postgres.start()


def test_all_connections_ended(harmed: Rig, under_load: Load) -> None:
    for _ in range(3):
        harmed.postgres.end_all_connections()
        time.sleep(0.5)


def test_at_its_connection_limit(harmed: Rig, under_load: Load) -> None:
    """Workers that get no connection stay, and get theirs when there are some; the limit is that of the role."""
    before = harmed.service.worker_processes()
    began = time.monotonic()
    harmed.postgres.execute("ALTER ROLE portal CONNECTION LIMIT 2")
    try:
        harmed.postgres.end_all_connections()
        time.sleep(5)
    finally:
        harmed.postgres.execute("ALTER ROLE portal CONNECTION LIMIT -1")
    assert _failed(under_load, began)
    assert harmed.service.worker_processes() == before


@pytest.mark.parametrize("table", ["oidc_family", "oidc_accesstoken", "django_session"])
def test_a_table_is_locked(harmed: Rig, under_load: Load, table: str) -> None:
    began = time.monotonic()
    with harmed.postgres.locked(table):
        time.sleep(LOCKED_SECONDS)
    ledger = under_load.pages if table == "django_session" else under_load.ledger
    assert {"502", "503"} & ledger.outcomes(since=began)


def test_afterwards_nothing_is_lost_and_usage_is_counted(harmed: Rig, everything: UnderLoad) -> None:
    """Celery has lived through all of it, and writes what is left."""
    everything.running.end()
    assert everything.running.ledger.difference(harmed.postgres) == []
    sql = "SELECT coalesce(sum(count), 0) FROM api_usagebucket WHERE endpoint = 'me' AND status = 200"
    least = everything.calls() - USAGE_BOUND
    deadline = time.monotonic() + USAGE_SECONDS
    while (counted := harmed.postgres.execute(sql)[0][0]) < least and time.monotonic() < deadline:
        time.sleep(0.5)
    assert abs(counted - everything.calls()) <= USAGE_BOUND, harmed.service.logged()[-2000:]
