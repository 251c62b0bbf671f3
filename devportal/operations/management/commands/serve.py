"""`manage.py serve`: run the service with one command."""

import ipaddress
import logging
import socket
import sys
from argparse import ArgumentParser, ArgumentTypeError
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import connections
from granian.constants import HTTPModes, Interfaces

from core import settings_checks
from core.environment import restrict_permissions
from core.serving import supervisor
from core.serving.application import raise_open_files
from core.serving.worker import THREADS
from core.serving.worker_start import freeze_loaded_objects
from core.telemetry import exporter
from devportal.operations import readers
from devportal.operations.provisioning.demo import prepare_demo


class Command(BaseCommand):
    """Serve over granian's WSGI interface, because the code is synchronous (docs/operations.md)."""

    help = "Serve the sign-in service, the developer API and the console."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--demo", metavar="FILE", type=Path, help="migrate, provision FILE, print who can sign in")
        parser.add_argument(
            "--address", type=_ip_address, default="127.0.0.1", help="IP address to listen on (default: loopback only)"
        )
        parser.add_argument("--workers", type=int, default=None, help="number of worker processes (embedded: always 1)")

    def handle(self, *args: Any, **options: Any) -> None:
        if settings.EMBEDDED:
            restrict_permissions(settings.DATA_DIR)
            call_command("migrate", verbosity=0)
        if options["demo"]:
            self.stdout.write(prepare_demo(options["demo"]))
        settings_checks.log_stored_dangers()
        freeze_loaded_objects()  # before the first fork, so that pages stay shared
        listener = _passed_listener()
        if settings.METRICS_PORT:
            _start_metrics(listener.getsockname()[0] if listener else options["address"])
        listener = listener or _listen(options["address"])
        # A fork must not share a database connection with its parent.
        connections.close_all()
        server = supervisor.Supervisor(
            settings.WSGI_APPLICATION,
            listener,
            interface=Interfaces.WSGI,
            workers=1 if settings.EMBEDDED else options["workers"] or 2,
            # An HTTP/2 connection can carry hundreds of requests with slow bodies, and no proxy needs HTTP/2 here.
            http=HTTPModes.http1,
            blocking_threads=THREADS,
            # Above this number, no connection is accepted until another one ends.
            backpressure=raise_open_files(),
            respawn_failed_workers=True,
            workers_kill_timeout=10,
            log_access=False,
            log_dictconfig=_logging(),
        )
        sys.stdout.flush()
        logging.getLogger("_granian").addFilter(_says_nothing_of_threads)
        server.run()


def _ip_address(text: str) -> str:
    try:
        return str(ipaddress.ip_address(text))
    except ValueError as error:
        raise ArgumentTypeError(f"{text!r} is not an IP address.") from error


def _passed_listener() -> socket.socket | None:
    """Return the socket from systemd, None if there is none. Raises CommandError if it has another port than PORT."""
    listener = supervisor.passed_listener()
    if listener and listener.getsockname()[1] != settings.PORT:
        port = listener.getsockname()[1]
        raise CommandError(f"PORT is {settings.PORT}, but the socket from systemd has port {port}. Change one of them.")
    return listener


def _listen(address: str) -> socket.socket:
    try:
        return supervisor.listen(address, settings.PORT)
    except OSError as error:
        raise CommandError(f"Can't listen on {address}, PORT {settings.PORT}: {error.strerror}.") from error


def _start_metrics(address: str) -> None:
    """Serve the metrics of the web processes. Raises CommandError if the address or port can't be listened on."""
    try:
        exporter.start(settings.METRICS_ADDRESS, settings.METRICS_PORT, "web", readers.readers(address))
    except OSError as error:
        place = f"METRICS_ADDRESS {settings.METRICS_ADDRESS}, METRICS_PORT {settings.METRICS_PORT}"
        raise CommandError(f"Metrics can't be served on {place}: {error.strerror}.") from error


def _logging() -> dict[str, Any]:
    """Return the logging settings, extended to the server's own lines."""
    own = {"_granian": {"handlers": ["stderr"], "level": "INFO", "propagate": False}}
    return settings.LOGGING | {"loggers": settings.LOGGING["loggers"] | own}


def _says_nothing_of_threads(record: logging.LogRecord) -> bool:
    # Granian warns about many threads, but most of ours only wait for request bodies or are never started.
    return "Python threads" not in record.getMessage()
