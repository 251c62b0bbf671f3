"""What Celery's processes log passes the same filters as the web's lines; nothing tells a task's arguments."""

import json
import logging
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
from celery.signals import setup_logging
from django.conf import settings

from accounts.tasks import send_mail
from core.tasks import HIDDEN, QuietTask
from devportal.celery import app
from tests.services import keeper
from tests.services.service import ROOT

JWT = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJwbGFudGVkIn0.c2lnbmF0dXJl"
PLANTED = f"token={JWT} and {settings.CLIENT_SECRET_PREFIX}plantedplanted and password=hunter2planted"
SECRETS = (JWT, "plantedplanted", "hunter2planted", "argument-planted")
START_SECONDS = 60


def test_celery_leaves_logging_to_the_settings() -> None:
    assert app.conf.worker_hijack_root_logger is False
    assert setup_logging.send(sender=None), "without a receiver Celery sets up its handlers"


def test_every_task_hides_its_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    assert all(isinstance(task, QuietTask) for name, task in app.tasks.items() if not name.startswith("celery."))
    sent: dict[str, Any] = {}
    monkeypatch.setitem(app.conf, "task_always_eager", False)
    monkeypatch.setattr(app, "send_task", lambda *args, **options: sent.update(options))
    send_mail.apply_async(("argument-planted",))
    assert (sent["argsrepr"], sent["kwargsrepr"]) == (HIDDEN, HIDDEN)


@pytest.mark.parametrize("name", ["celery.beat", "celery.worker.strategy", "celery.app.trace"])
def test_tasks_that_succeed_are_not_logged(name: str) -> None:
    """Each logger has one line for a task: beat sends it, a worker receives it, a worker has done it."""
    assert not logging.getLogger(name).isEnabledFor(logging.INFO)
    assert logging.getLogger(name).isEnabledFor(logging.WARNING)


PROGRAM = f"""
from devportal.celery import app

@app.task(name="quiet")
def quiet():
    pass

@app.task(name="planted")
def planted(argument):
    import logging
    logging.getLogger("celery.task").warning("Before: %s", {PLANTED!r})
    print({PLANTED!r})
    raise ValueError({PLANTED!r})
"""


@pytest.fixture(params=["line", "json"])
def worker(redis_url: str, request: pytest.FixtureRequest) -> Iterator[tuple[str, Path]]:
    """A Celery worker with beat's schedule far away, and two tasks more than the service has."""
    with keeper.folder() as home:
        (home / "planted.py").write_text(PROGRAM)
        log = home / "log"
        environment = {
            "PATH": "/usr/bin:/bin",
            "PYTHONPATH": f"{home}:{ROOT}",
            "DATA_DIR": str(home),
            "BROKER_URL": redis_url,
            "LOG_FORMAT": request.param,
            "CELERY_CUSTOM_WORKER_POOL": "",
        }
        command = [sys.executable, "-m", "celery", "-A", "planted", "worker", "--concurrency", "1", "--without-gossip"]
        with log.open("wb") as output:
            process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=output, stderr=output)
        try:
            deadline = time.monotonic() + START_SECONDS
            while b" ready." not in log.read_bytes():
                assert process.poll() is None, log.read_text()[-2000:]
                assert time.monotonic() < deadline, log.read_text()[-2000:]
                time.sleep(0.1)
            yield str(request.param), log
        finally:
            process.terminate()
            process.wait(20)


@pytest.mark.redis
def test_a_secret_in_a_failing_task_is_not_in_the_workers_log(worker: tuple[str, Path], redis_url: str) -> None:
    form, log = worker
    redis.Redis.from_url(redis_url).ping()
    producer = app.__class__("producer", broker=redis_url, task_cls="core.tasks.QuietTask")
    for _ in range(3):
        producer.signature("quiet").apply_async()
    producer.signature("planted", args=("argument-planted",)).apply_async()
    producer.close()
    deadline = time.monotonic() + START_SECONDS
    while "raised unexpected" not in log.read_text():
        assert time.monotonic() < deadline, log.read_text()[-2000:]
        time.sleep(0.1)
    time.sleep(0.3)  # the traceback follows
    text = log.read_text()
    assert [secret for secret in SECRETS if secret in text.partition(" ready.")[2]] == []
    assert "[redacted]" in text
    assert "quiet" not in text.partition(" ready.")[2], "a line for a task that succeeded"
    failed = next(line for line in text.splitlines() if "raised unexpected" in line)
    if form == "json":
        line = json.loads(failed)
        assert line["level"] == "ERROR"
        assert "Traceback" in line["exception"]
        assert len(line["request_id"]) > 8, "the task's id"
    else:
        assert "Traceback" in text
    assert logging.getLevelName(logging.ERROR) in failed
