"""`manage.py serve`, without the server."""

import socket
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connections

from core import settings_checks
from core.serving import supervisor
from core.telemetry import exporter
from devportal.operations.management.commands import serve


def test_loaded_objects_are_frozen_before_forking(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    """Otherwise each process would copy it at its first garbage collection."""
    settings.EMBEDDED, settings.METRICS_PORT = False, 9000
    order: list[str] = []

    class Server:
        def __init__(self, *args: Any, **options: Any) -> None:
            pass

        def run(self) -> None:
            order.append("workers")

    monkeypatch.setattr(supervisor, "Supervisor", Server)
    monkeypatch.setattr(supervisor, "listen", lambda *args: order.append("listen"))
    monkeypatch.setattr(serve, "freeze_loaded_objects", lambda: order.append("freeze"))
    monkeypatch.setattr(exporter, "start", lambda *args: order.append("metrics"))
    monkeypatch.setattr(settings_checks, "log_stored_dangers", lambda: None)
    monkeypatch.setattr(connections, "close_all", lambda: None)
    monkeypatch.setattr(serve, "raise_open_files", lambda: 128)

    serve.Command().handle(demo=None, address="127.0.0.1", workers=1)

    assert order == ["freeze", "metrics", "listen", "workers"]


@pytest.mark.parametrize("taken", [True, False])
def test_an_address_or_port_of_metrics_that_can_not_be_used_is_named(
    taken: bool, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    monkeypatch.setattr(settings_checks, "log_stored_dangers", lambda: None)
    monkeypatch.setattr(serve, "freeze_loaded_objects", lambda: None)
    with socket.create_server(("127.0.0.1", 0)) as other:
        settings.EMBEDDED, settings.METRICS_PORT = False, other.getsockname()[1]
        settings.METRICS_ADDRESS = "127.0.0.1" if taken else "192.0.2.1"  # an address of no machine
        with pytest.raises(CommandError, match=f"METRICS_ADDRESS {settings.METRICS_ADDRESS}, METRICS_PORT"):
            serve.Command().handle(demo=None, address="127.0.0.1", workers=1)


@pytest.mark.parametrize("is_passed", [True, False])
def test_a_port_that_is_taken_or_differs_from_the_one_of_systemd_is_named(
    is_passed: bool, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    monkeypatch.setattr(settings_checks, "log_stored_dangers", lambda: None)
    monkeypatch.setattr(serve, "freeze_loaded_objects", lambda: None)
    with socket.create_server(("127.0.0.1", 0)) as other:
        monkeypatch.setattr(supervisor, "passed_listener", lambda: other if is_passed else None)
        port = other.getsockname()[1]
        settings.EMBEDDED, settings.METRICS_PORT, settings.PORT = False, 0, port - is_passed
        message = f"the socket from systemd has port {port}" if is_passed else f"Can't listen on 127.0.0.1, PORT {port}"
        with pytest.raises(CommandError, match=message):
            serve.Command().handle(demo=None, address="127.0.0.1", workers=1)


@pytest.mark.parametrize("address", ["localhost", "256.1.1.1", "127.0.0.1:8000"])
def test_only_an_ip_address_can_be_listened_on(address: str) -> None:
    with pytest.raises(CommandError, match=r"--address: .* is not an IP address"):
        call_command("serve", "--address", address)
