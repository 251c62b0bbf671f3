"""What the metrics port shows while a part is down or frozen: rules on outages are only as good as these values."""

import os
import re
import signal
import time
from collections.abc import Iterator

import httpx
import pytest

from tests.faults.rig import Rig, rig
from tests.services import keeper

pytestmark = [pytest.mark.redis, pytest.mark.postgres, pytest.mark.slow]
SCRAPE_SECONDS = 10  # Prometheus' default time-out
DATABASE, REDIS = 'openport_ready{part="database"}', 'openport_ready{part="counters"}'
WEB = 'openport_state_read{source="web"}'
PORT = keeper.free_port()


@pytest.fixture(scope="module")
def production() -> Iterator[Rig]:
    with rig(METRICS_PORT=str(PORT)) as made:
        yield made


def scrape() -> dict[str, float]:
    text = httpx.get(f"http://127.0.0.1:{PORT}/metrics", timeout=SCRAPE_SECONDS).text
    return {name: float(value) for name, value in re.findall(r"^(openport_\S+) (\S+)$", text, re.MULTILINE)}


def wait_for(name: str, value: float) -> dict[str, float]:
    deadline = time.monotonic() + 3 * SCRAPE_SECONDS
    while (found := scrape()).get(name) != value:
        assert time.monotonic() < deadline, f"{name} is {found.get(name)}"
        time.sleep(0.5)
    return found


def test_a_database_that_is_down_or_frozen_and_a_web_process_that_is_frozen(production: Rig) -> None:
    well = wait_for(DATABASE, 1)
    assert well[REDIS] == well[WEB] == well['openport_ready{part="signing_key"}'] == 1
    assert 0 < well["openport_media_free_bytes"] <= well["openport_media_size_bytes"]
    production.postgres.stop()
    down = wait_for(DATABASE, 0)
    assert down['openport_state_read{source="database"}'] == 0
    assert down[REDIS] == 1
    production.postgres.start()
    wait_for(DATABASE, 1)
    with production.postgres.frozen():
        wait_for(DATABASE, 0)
    wait_for(DATABASE, 1)
    with production.redis.frozen():
        assert wait_for(REDIS, 0)[DATABASE] == 1
    wait_for(REDIS, 1)
    workers = [pid for pid in production.service.worker_processes() if is_worker(pid)]
    assert len(workers) == 2
    assert production.service.process is not None
    frozen = [production.service.process.pid, *workers]  # the parent first, because it replaces frozen workers
    for pid in frozen:
        os.kill(pid, signal.SIGSTOP)
    try:
        assert DATABASE not in wait_for(WEB, 0)
    finally:
        for pid in reversed(frozen):
            os.kill(pid, signal.SIGCONT)
    wait_for(DATABASE, 1)


def is_worker(pid: int) -> bool:
    """Return whether this process leads a process group (core/serving/worker.py), unlike the one for metrics."""
    return os.getpgid(pid) == pid
