"""What the rules and the dashboard ask for is really there, in scrapes of a running service, its worker and beat."""

import contextlib
import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from devportal import __version__
from tests.monitoring.test_alerts import ROOT, RULES
from tests.services import keeper
from tests.services.service import Service, running

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
def service(ports: dict[str, int], redis_url: str) -> Iterator[Service]:
    """The service with metrics, its tasks run by Celery as well."""
    given = {"REDIS_URL": redis_url, "METRICS_PORT": str(ports["web"]), "FAILURES_PER_MINUTE": "1"}
    with running(**given) as made:
        yield made


@pytest.fixture(scope="module")
def celery(service: Service, ports: dict[str, int]) -> Iterator[None]:
    # In the embedded environment beat would run the tasks itself.
    production = {
        "ENVIRONMENT": "production",
        "AUTH_URL": "https://auth.example.com",
        "BASE_URL": "https://api.example.com",
        "SECRET_KEY_FILE": str(service.home / "secret_key"),
        "KEY_ENCRYPTION_KEY_FILE": str(service.home / "key_encryption_key"),
        "EMAIL_URL": "smtp+tls://127.0.0.1:1",
        "WORKER_METRICS_PORT": str(ports["worker"]),
        "BEAT_METRICS_PORT": str(ports["beat"]),
    }
    environment = service.environment() | production
    commands = (
        ["worker", "--concurrency", "2", "--without-gossip", "--without-mingle"],
        ["beat", "--schedule", str(service.home / "beat")],
    )
    logs = [service.home / f"{command[0]}.log" for command in commands]
    processes = []
    for command, log in zip(commands, logs, strict=True):
        with log.open("wb") as output:
            processes.append(
                subprocess.Popen(
                    [sys.executable, "-m", "celery", "-A", "devportal", *command],
                    cwd=ROOT,
                    env=environment,
                    stdout=output,
                    stderr=output,
                )
            )
    yield
    for process in processes:
        process.terminate()
    for process in processes:
        process.wait(20)


def use(service: Service) -> None:
    """Send what makes the counters begin that have no value before."""
    base = service.address
    httpx.get(f"{base}/v1/me", headers={"Authorization": "Bearer nobody"})
    httpx.get(f"{base}/health/ready")
    for _ in range(4):  # more than FAILURES_PER_MINUTE, whenever a minute ends
        httpx.post(
            f"{base}/connect/token", data={"grant_type": "refresh_token", "client_id": "x", "refresh_token": "y"}
        )


def test_every_metric_that_is_asked_for_is_scraped(service: Service, celery: None, ports: dict[str, int]) -> None:
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


def test_metrics_are_not_on_the_services_own_port(service: Service) -> None:
    assert httpx.get(f"{service.address}/metrics").status_code == 404
    private = [path for path in Path("/tmp").glob("openport-metrics-*") if path.stat().st_mode & 0o077]
    assert private == []
