"""`manage.py serve`, without the server."""

from typing import Any

import granian
import pytest
from django.db import connections

from core import settings_checks
from core.telemetry import exporter
from devportal.operations.management.commands import serve


def test_loaded_objects_are_frozen_before_forking(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    """Otherwise each process would copy it at its first garbage collection."""
    settings.EMBEDDED, settings.METRICS_PORT = False, 9000
    order: list[str] = []

    class Server:
        def __init__(self, *args: Any, **options: Any) -> None:
            pass

        def serve(self, **options: Any) -> None:
            order.append("workers")

    monkeypatch.setattr(granian, "Granian", Server)
    monkeypatch.setattr(serve, "freeze_loaded_objects", lambda: order.append("freeze"))
    monkeypatch.setattr(exporter, "start", lambda *args: order.append("metrics"))
    monkeypatch.setattr(settings_checks, "log_stored_dangers", lambda: None)
    monkeypatch.setattr(connections, "close_all", lambda: None)
    monkeypatch.setattr(serve, "raise_open_files", lambda: 128)

    serve.Command().handle(demo=None, address="127.0.0.1", workers=1)

    assert order == ["freeze", "metrics", "workers"]
