"""Metrics that a test switches on."""

from collections.abc import Callable, Iterator

import pytest

from core.telemetry import metrics

Value = Callable[..., float]


@pytest.fixture
def value() -> Iterator[Value]:
    """Turn on metrics, and return a function to read one: `value("tokens_issued_total", grant="refresh_token")`."""
    metrics.disable()
    registry = metrics.enable().registry

    def read(name: str, **labels: str) -> float:
        return registry.get_sample_value(f"openport_{name}", labels) or 0.0

    yield read
    metrics.disable()
