"""What the rules and the dashboard ask for is really there, in scrapes of a running service, its worker and beat."""

import contextlib
import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from devportal import __version__
from tests.faults.rig import ProductionService, rig
from tests.monitoring.test_alerts import ROOT, RULES
from tests.services import keeper

pytestmark = [pytest.mark.redis, pytest.mark.postgres, pytest.mark.slow]
DASHBOARD = ROOT / "deploy" / "grafana" / "dashboard.json"
NAME = re.compile(r"openport_[a-z_0-9]+")
START_SECONDS = 60
RUN = 'openport_task_runs_total{outcome="succeeded",task="api.tasks.flush_usage"}'
REFUSED = {"grant_type": "refresh_token", "client_id": "x", "refresh_token": "y"}


def asked_for() -> set[str]:
    """Return the names of the metrics that rules and dashboard use."""
    panels: list[dict[str, Any]] = json.loads(DASHBOARD.read_text())["panels"]
    queries = [target["expr"] for panel in panels for target in panel.get("targets", [])]
    found = {name for text in (RULES.read_text(), *queries) for name in NAME.findall(text)}
    assert len(found) > 30
    return found


def scrape(port: int) -> str:
    return httpx.get(f"http://127.0.0.1:{port}/metrics").text


def names_in(text: str) -> set[str]:
    return {line.partition("{")[0].partition(" ")[0] for line in text.splitlines() if not line.startswith("#")}


@pytest.fixture(scope="module")
def ports() -> dict[str, int]:
    return {role: keeper.free_port() for role in ("web", "worker", "beat")}


@pytest.fixture(scope="module")
def service(ports: dict[str, int]) -> Iterator[ProductionService]:
    """The service in production with metrics of all its processes."""
    metrics: dict[str, Any] = {
        "METRICS_PORT": str(ports["web"]),
        "WORKER_METRICS_PORT": str(ports["worker"]),
        "BEAT_METRICS_PORT": str(ports["beat"]),
    }
    with rig(FAILURES_PER_MINUTE="1", **metrics) as made:
        made.service.start_celery("worker", "--concurrency", "2", "--without-gossip", "--without-mingle")
        made.service.start_celery("beat", "--schedule", str(made.service.home / "beat"))
        yield made.service


def use(service: ProductionService) -> None:
    """Send what makes the counters begin that have no value before."""
    client = service.client()
    client.get("/v1/me", headers={"Authorization": "Bearer nobody"})
    client.get("/health/ready")
    for _ in range(4):  # more than FAILURES_PER_MINUTE, whenever a minute ends
        client.post("/connect/token", data=REFUSED)


def test_every_metric_that_is_asked_for_is_scraped(service: ProductionService, ports: dict[str, int]) -> None:
    use(service)
    (service.home / "last-backup").touch()  # as after a backup
    wanted = asked_for() - {"openport_replica_fresh"}  # tests/faults/test_replica.py
    deadline = time.monotonic() + START_SECONDS
    texts = dict.fromkeys(ports, "")
    while not wanted <= (found := set().union(*map(names_in, texts.values()))) or RUN not in texts["worker"]:
        assert time.monotonic() < deadline, sorted(wanted - found)
        time.sleep(0.5)
        with contextlib.suppress(httpx.TransportError):
            texts = {role: scrape(port) for role, port in ports.items()}
    assert 'openport_build_info{role="web",version="' + __version__ + '"} 1.0' in texts["web"]
    assert "openport_slots_busy" not in texts["worker"]
    assert 'openport_state_read{source="broker"} 1.0' in texts["worker"]
    assert 'route="token",status="401"' in texts["web"]
    assert 'openport_limits_met_total{limit="failures"}' in texts["web"]


def test_metrics_are_not_on_the_services_own_port(service: ProductionService) -> None:
    assert service.client().get("/metrics").status_code == 404
    private = [path for path in Path("/tmp").glob("openport-metrics-*") if path.stat().st_mode & 0o077]
    assert private == []
