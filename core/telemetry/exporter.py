"""Metrics for Prometheus, on a separate port: those of all processes, and figures from the databases.

Each process stores its values in files of a private folder. One more process, forked before the others, adds them up
when it is asked. It shares no lock, thread or connection with the others, ends when their parent ends, and then deletes
the folder.
"""

import contextlib
import logging
import multiprocessing
import os
import shutil
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as TooLate
from pathlib import Path
from socketserver import ThreadingMixIn
from typing import Any, NamedTuple
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from django.conf import settings

log = logging.getLogger(__name__)

# A reading is valid for this many seconds, and a scrape waits this many for all new ones. Prometheus waits for ten.
KEEP_SECONDS = 5.0
WAIT_SECONDS = 5.0


class Figure(NamedTuple):
    """A value of a gauge: name without prefix, help text, labels."""

    name: str
    text: str
    value: float
    labels: Mapping[str, str] = {}


class StateReader(NamedTuple):
    """A source of figures: `source` is a label; `read` may raise anything and take its time."""

    source: str
    read: Callable[[], Sequence[Figure]]


class _Reading:
    """The last figures of a reader. If a reader hangs, only one call runs, and scrapes continue without it."""

    def __init__(self, reader: StateReader) -> None:
        self.reader = reader
        self._lock = threading.Lock()
        self._figures: Sequence[Figure] | None = None
        self._at = 0.0
        self._future: Future[Sequence[Figure]] | None = None
        self._pool: ThreadPoolExecutor | None = None

    def begin(self) -> "Future[Sequence[Figure]] | None":
        """Return the call that reads the figures, None if the last ones are still valid."""
        with self._lock:
            if self._figures is not None and time.monotonic() - self._at < KEEP_SECONDS:
                return None
            if self._pool is None:
                self._pool = ThreadPoolExecutor(1, thread_name_prefix=f"state-{self.reader.source}")
            self._future = self._future or self._pool.submit(self.reader.read)
            return self._future

    def figures(self, future: "Future[Sequence[Figure]] | None", until: float) -> Sequence[Figure] | None:
        """Return the figures, None if they can't be read until then."""
        if future is None:
            return self._figures
        try:
            figures = future.result(max(0.0, until - time.monotonic()))
        except TooLate:
            if not future.done():
                return None
            figures = None
        except Exception:
            log.warning("Metrics of the %s could not be read.", self.reader.source, exc_info=True)
            figures = None
        with self._lock:
            if self._future is future:
                self._future, self._figures, self._at = None, figures, time.monotonic()
        return figures


class StateCollector:
    """Collects the figures of several readers, and reports for each whether it could be read."""

    def __init__(self, readers: Sequence[StateReader]) -> None:
        self._readings = [_Reading(reader) for reader in readers]

    def collect(self) -> Iterable[Any]:
        """Yield the figures as metrics."""
        from prometheus_client.core import GaugeMetricFamily

        families: dict[str, GaugeMetricFamily] = {}
        text = "Whether the metrics of this source could be read (1) or not (0)"
        success = GaugeMetricFamily("openport_state_read", text, labels=["source"])
        until = time.monotonic() + WAIT_SECONDS
        for reading, future in [(reading, reading.begin()) for reading in self._readings]:
            figures = reading.figures(future, until)
            success.add_metric([reading.reader.source], float(figures is not None))
            for figure in figures or ():
                name = f"openport_{figure.name}"
                family = families.get(name)
                if family is None:
                    family = families[name] = GaugeMetricFamily(name, figure.text, labels=list(figure.labels))
                family.add_metric(list(figure.labels.values()), figure.value)
        yield success
        yield from families.values()


FOLDER_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
# Seconds for which a client of the port may be silent.
CLIENT_SECONDS = 10
PARENT_CHECK_SECONDS = 1.0


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore the error: the client has disconnected."""


class _IPv6Server(_Server):
    address_family = socket.AF_INET6


class _Handler(WSGIRequestHandler):
    timeout = CLIENT_SECONDS

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the standard library's name
        """Log nothing: a scrape comes every few seconds."""


def start(address: str, port: int, role: str, readers: Sequence[StateReader] = ()) -> None:
    """Serve metrics on this IP address and port from a separate process; call it before other processes are started.

    Raises OSError if the port can't be listened on.
    """
    folder = Path(tempfile.mkdtemp(prefix="openport-metrics-"))  # mode 700
    os.environ[FOLDER_VARIABLE] = str(folder)
    try:
        application = _application(folder, role, readers)
        server = make_server(address, port, application, _IPv6Server if ":" in address else _Server, _Handler)
    except OSError:
        shutil.rmtree(folder, ignore_errors=True)
        del os.environ[FOLDER_VARIABLE]
        raise
    process = multiprocessing.get_context("fork").Process(
        target=_run, args=(server, folder, os.getpid()), name="metrics", daemon=True
    )
    process.start()
    server.socket.close()


def is_started() -> bool:
    """Return whether this process or its parent has called `start`."""
    return FOLDER_VARIABLE in os.environ


def _application(folder: Path, role: str, readers: Sequence[StateReader]) -> Callable[..., Any]:
    from prometheus_client import CollectorRegistry, make_wsgi_app
    from prometheus_client.core import InfoMetricFamily
    from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

    class Processes(MultiProcessCollector):
        """The values of all processes; gauges of processes that have ended are removed first."""

        def collect(self) -> Iterable[Any]:
            for process in {int(path.stem.rpartition("_")[2]) for path in folder.glob("gauge_live*.db")}:
                if not _lives(process):
                    mark_process_dead(process, str(folder))  # type: ignore[no-untyped-call]
            found: Iterable[Any] = super().collect()  # type: ignore[no-untyped-call]
            return found

    class Build:
        """The version of the program."""

        def collect(self) -> Iterable[Any]:
            yield InfoMetricFamily("openport_build", "The running program", {"version": settings.VERSION, "role": role})

    registry = CollectorRegistry()
    Processes(registry, str(folder))  # type: ignore[no-untyped-call]
    registry.register(Build())
    if readers:
        registry.register(StateCollector(readers))
    return make_wsgi_app(registry)


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _run(server: WSGIServer, folder: Path, parent: int) -> None:
    """Serve until the parent ends this process, or is gone."""
    ended = threading.Event()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C also reaches the parent, which ends the others first
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    for name in (signal.SIGHUP, signal.SIGQUIT, signal.SIGCHLD):
        signal.signal(name, signal.SIG_DFL)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    while os.getppid() == parent and not ended.wait(PARENT_CHECK_SECONDS):
        pass
    shutil.rmtree(folder, ignore_errors=True)
    with contextlib.suppress(OSError):
        server.server_close()
    os._exit(0)
