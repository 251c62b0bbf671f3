"""Tasks are queued behind a request's back, whatever the broker does."""

import socket
import threading
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from django.conf import settings

from accounts.tasks import send_mail
from core import tasks
from devportal.celery import app as celery

pytestmark = pytest.mark.usefixtures("task_threads")


@pytest.fixture
def production(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(celery.conf, "task_always_eager", False)
    monkeypatch.setattr(settings, "CELERY_TASK_ALWAYS_EAGER", False)


def task_that(run: Callable[[Any], object]) -> Any:
    """Return a task of this test alone: a thread of an earlier test may still publish others."""
    return SimpleNamespace(name="task", apply_async=lambda args, **options: run(args))


def test_a_silent_broker_delays_nobody(production: None, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"redis://127.0.0.1:{silent.getsockname()[1]}/0"
        for name in ("broker_url", "broker_write_url"):
            monkeypatch.setitem(celery.conf, name, url)
        began = time.monotonic()
        for pk in range(3):
            tasks.queue_task(send_mail, pk)
        assert time.monotonic() - began < 0.2
        while not tasks._waiting.empty():  # leave nothing to the thread that is still waiting for the broker
            tasks._waiting.get_nowait()


def test_queued_tasks_arrive_in_order(production: None) -> None:
    sent: list[Any] = []
    task = task_that(sent.append)
    for pk in range(100):
        tasks.queue_task(task, pk)
    tasks._waiting.join()
    assert sent == [(pk,) for pk in range(100)]


def test_more_than_can_wait_is_left_to_the_periodic_task(production: None, caplog: pytest.LogCaptureFixture) -> None:
    go_on = threading.Event()
    task = task_that(lambda args: go_on.wait(10))
    for pk in range(tasks.MOST_WAITING + 10):
        tasks.queue_task(task, pk)
    go_on.set()
    tasks._waiting.join()
    assert "left to the periodic task" in caplog.text


def test_in_the_embedded_environment_threads_run_tasks_and_a_slow_one_delays_no_other(
    caplog: pytest.LogCaptureFixture,
) -> None:
    go_on, ran = threading.Event(), threading.Event()

    def run(args: Any) -> None:
        if args == ("slow",):
            go_on.wait(10)
            raise RuntimeError("and it fails")
        ran.set()

    task = task_that(run)
    tasks.queue_task(task, "slow")
    tasks.queue_task(task, "other")
    assert ran.wait(10)
    go_on.set()
    tasks._waiting.join()
    assert "could not be queued" in caplog.text
