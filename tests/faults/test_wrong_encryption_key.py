"""With another KEY_ENCRYPTION_KEY every process starts, says so, and goes on with what needs no signing key."""

import subprocess
import sys
import time

import httpx
import pytest

from tests.services.service import ROOT, Service, fresh

pytestmark = pytest.mark.slow

WRONG = "another key of more than thirty-two characters"
TOLD = "KEY_ENCRYPTION_KEY: the active signing key was encrypted with another key"


def test_every_process_keeps_running_and_names_the_setting() -> None:
    with fresh() as service:
        service.start()
        service.stop()
        service.settings |= {"KEY_ENCRYPTION_KEY": WRONG}
        service.start()
        ready = httpx.get(f"{service.address}/health/ready")
        assert (ready.status_code, ready.json()["missing"]) == (503, ["signing_key"])
        assert httpx.get(f"{service.address}/health/live").status_code == 200
        assert len(httpx.get(f"{service.address}/.well-known/jwks").json()["keys"]) == 1
        assert TOLD in service.logged()
        assert "Traceback" not in service.logged()
        assert service.stop() == 0
        check = service.run("check", "--database", "default")
        assert (check.returncode, "devportal.E017" in check.stderr) == (1, True)
        assert_worker_runs_and_tells(service)
        service.settings = {name: value for name, value in service.settings.items() if name != "KEY_ENCRYPTION_KEY"}
        assert service.run("check", "--database", "default").returncode == 0


def assert_worker_runs_and_tells(service: Service) -> None:
    log = service.home / "worker-log"
    with log.open("wb") as file:
        worker = subprocess.Popen(
            [sys.executable, "-m", "celery", "-A", "devportal", "worker", "--pool", "solo", "--loglevel", "INFO"],
            cwd=ROOT,
            env=service.environment(),
            stdout=file,
            stderr=file,
        )
    try:
        deadline = time.monotonic() + 60
        while "ready" not in log.read_text() and time.monotonic() < deadline and worker.poll() is None:
            time.sleep(0.1)
        assert worker.poll() is None, log.read_text()[-3000:]
        assert TOLD in log.read_text()
        assert "ready" in log.read_text()
    finally:
        worker.kill()
        worker.wait()
