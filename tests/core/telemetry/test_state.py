"""Figures that are read when metrics are asked for: a source that hangs or fails holds nothing up."""

import threading
import time
from collections.abc import Sequence

import pytest
from prometheus_client import CollectorRegistry

from core.telemetry import exporter
from core.telemetry.exporter import Figure, StateCollector, StateReader

FIGURES = [Figure("outbox_waiting", "Mails", 3.0), Figure("queue_length", "Tasks", 7.0, {"queue": "celery"})]


def scrape(*readers: StateReader) -> CollectorRegistry:
    registry = CollectorRegistry()
    registry.register(StateCollector(readers))
    return registry


def test_figures_become_gauges_and_are_kept_for_a_while() -> None:
    calls = []

    def read() -> Sequence[Figure]:
        calls.append(1)
        return FIGURES

    registry = scrape(StateReader("database", read))
    assert registry.get_sample_value("openport_outbox_waiting") == 3.0
    assert registry.get_sample_value("openport_queue_length", {"queue": "celery"}) == 7.0
    assert registry.get_sample_value("openport_state_read", {"source": "database"}) == 1.0
    assert len(calls) == 1


def test_a_failing_reader_is_logged_and_the_others_go_on() -> None:
    def fail() -> Sequence[Figure]:
        raise OSError("away")

    registry = scrape(StateReader("redis", fail), StateReader("database", lambda: FIGURES))
    assert registry.get_sample_value("openport_state_read", {"source": "redis"}) == 0.0
    assert registry.get_sample_value("openport_outbox_waiting") == 3.0


def test_a_reader_that_hangs_is_waited_for_briefly_and_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporter, "WAIT_SECONDS", 0.05)
    released, calls = threading.Event(), []

    def hang() -> Sequence[Figure]:
        calls.append(1)
        released.wait(10)
        return FIGURES

    registry = scrape(StateReader("database", hang))
    began = time.monotonic()
    for _ in range(3):
        assert registry.get_sample_value("openport_state_read", {"source": "database"}) == 0.0
    assert time.monotonic() - began < 1
    assert len(calls) == 1
    released.set()
    monkeypatch.setattr(exporter, "WAIT_SECONDS", 5.0)
    assert registry.get_sample_value("openport_state_read", {"source": "database"}) == 1.0
