"""Several processes add up at one address; what a process was busy with ends with it, what it counted does not."""

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from tests.services import keeper
from tests.services.service import ROOT

# A parent with two children that count, which end when they are told to.
PROGRAM = """
import os, sys, time
import django
django.setup()
from core.telemetry import exporter, metrics
exporter.start("127.0.0.1", int(sys.argv[1]), "web")
print(os.environ[exporter.FOLDER_VARIABLE], flush=True)
children = []
for number in (1, 2):
    child = os.fork()
    if not child:
        metrics.enable()
        for _ in range(number):
            metrics.TOKENS_ISSUED.count("refresh_token")
        metrics.request_answered("token", "POST", 200, 0.02)
        metrics.set_gauge("slots_busy", number)
        time.sleep(60)
        os._exit(0)
    children.append(child)
for line in sys.stdin:
    os.kill(children.pop(), 9)
    os.wait()
"""


@pytest.fixture
def parent() -> Iterator[tuple["subprocess.Popen[str]", Path, Callable[[], str]]]:
    port = keeper.free_port()
    with keeper.folder() as home:
        environment = {
            "PATH": os.environ["PATH"],
            "DATA_DIR": str(home),
            "TMPDIR": str(home),
            "DJANGO_SETTINGS_MODULE": "devportal.settings",
        }
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(port)],
            cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        assert process.stdout is not None
        folder = Path(process.stdout.readline().strip())
        try:
            yield process, folder, lambda: httpx.get(f"http://127.0.0.1:{port}/metrics").text
        finally:
            os.killpg(process.pid, 9)
            process.wait()


def eventually(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        with contextlib.suppress(httpx.TransportError):
            if condition():
                return True
        time.sleep(0.05)
    return False


def test_processes_add_up_and_end(parent: tuple["subprocess.Popen[str]", Path, Callable[[], str]]) -> None:
    process, folder, scrape = parent
    assert folder.stat().st_mode & 0o077 == 0
    assert eventually(lambda: 'openport_tokens_issued_total{grant="refresh_token"} 3.0' in scrape())
    assert 'openport_http_requests_total{method="POST",route="token",status="200"} 2.0' in scrape()
    assert "openport_slots_busy 3.0" in scrape()
    assert 'openport_build_info{role="web"' in scrape()
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()
    assert eventually(lambda: "openport_slots_busy 1.0" in scrape())
    assert 'openport_tokens_issued_total{grant="refresh_token"} 3.0' in scrape()
    # A parent that is killed leaves no folder behind.
    process.kill()
    assert eventually(lambda: not folder.exists())
