"""Metrics of data in the databases, read on each scrape, but with limits on frequency and time."""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as TooLate
from typing import Any, NamedTuple

log = logging.getLogger(__name__)

# A reading is valid for this many seconds, and a scrape waits this many for a new one.
KEEP_SECONDS = 5.0
WAIT_SECONDS = 2.0


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

    def figures(self) -> Sequence[Figure] | None:
        """Return the figures, None if they can't be read now."""
        with self._lock:
            if self._figures is not None and time.monotonic() - self._at < KEEP_SECONDS:
                return self._figures
            if self._pool is None:
                self._pool = ThreadPoolExecutor(1, thread_name_prefix=f"state-{self.reader.source}")
            future = self._future = self._future or self._pool.submit(self.reader.read)
        try:
            figures = future.result(WAIT_SECONDS)
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
        for reading in self._readings:
            figures = reading.figures()
            success.add_metric([reading.reader.source], float(figures is not None))
            for figure in figures or ():
                name = f"openport_{figure.name}"
                family = families.get(name)
                if family is None:
                    family = families[name] = GaugeMetricFamily(name, figure.text, labels=list(figure.labels))
                family.add_metric(list(figure.labels.values()), figure.value)
        yield success
        yield from families.values()
