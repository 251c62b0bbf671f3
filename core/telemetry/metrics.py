"""The metrics of a process: their names, and the functions that count (docs/monitoring.md#metrics).

Labels have few values: names of the URLconf and codes of the service's own tables, never a path, an id or user input.
While metrics are off, each function returns immediately.
"""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

PREFIX = "openport_"
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
OTHER = "other"
# Upper bounds of the latency buckets, in seconds.
LATENCIES = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True)
class Counter:
    """A counter, its help text and its labels: `metrics.TOKENS_ISSUED.count(grant)`."""

    name: str
    text: str
    labels: tuple[str, ...] = ()

    def count(self, *labels: str) -> None:
        """Add one, under these values of the labels."""
        if _recorder is not None:
            _recorder.count(self.name, *labels)


SERVER_REFUSALS = Counter(
    "server_refusals", "Requests refused before Django handles them: no slot, no body, too large", ("status",)
)
TOKENS_ISSUED = Counter("tokens_issued", "Successful token responses", ("grant",))
REFUSALS = Counter(
    "refusals", "Refused requests of the sign-in endpoints that apps use", ("endpoint", "error", "reason")
)
API_REFUSALS = Counter("api_refusals", "Refused calls of the developer API", ("code",))
LIMITS_MET = Counter("limits_met", "Requests refused because a limit was reached", ("limit",))
FAMILY_REVOCATIONS = Counter("family_revocations", "Token families that were revoked one by one", ("reason",))
LEAK_REPORTS = Counter(
    "leak_reports", "Reported credentials, and rejected reports of secret scanners", ("source", "result")
)
SIGN_INS = Counter("sign_ins", "Sign-ins of people", ("outcome",))
APP_SIGN_INS = Counter("app_sign_ins", "Steps of sign-ins to apps", ("endpoint", "outcome"))
REDIS_FAILURES = Counter("redis_failures", "Redis commands that failed or took too long")
AUDIT_LOG_FAILURES = Counter("audit_log_failures", "Lines of the audit log that could not be written")
MAILS = Counter("mails", "Attempts to send an email", ("outcome",))
DELIVERIES = Counter("deliveries", "Attempts to deliver an event to an app", ("channel", "outcome"))
TASK_RUNS = Counter("task_runs", "Finished runs of Celery tasks", ("task", "outcome"))
TASKS_SENT = Counter("tasks_sent", "Tasks that were put into a queue", ("task",))
COUNTERS = {each.name: each for each in list(vars().values()) if isinstance(each, Counter)}
# Exported as 0 before they happen for the first time: `increase()` does not count a counter's first value.
STARTED = (
    *(("server_refusals", status) for status in ("413", "503")),
    *(("tokens_issued", grant) for grant in ("authorization_code", "refresh_token")),
    *(("family_revocations", reason) for reason in ("ended_refresh_token_reused", "ended_code_replayed")),
    *(("sign_ins", outcome) for outcome in ("succeeded", "wrong_password", "wrong_code")),
    ("redis_failures",),
    ("audit_log_failures",),
    *(("deliveries", channel, outcome) for channel in ("logout", "events") for outcome in ("accepted", "failed")),
    *(("mails", outcome) for outcome in ("sent", "refused", "unreachable", "broken")),
)
GAUGES: dict[str, str] = {
    "slots": "Requests of programs that can be handled at once",
    "slots_busy": "Requests of programs that are being handled",
    "slots_waiting": "Requests of programs that wait for a slot",
    "page_slots": "Requests of pages that can be handled at once",
    "page_slots_busy": "Requests of pages that are being handled",
    "page_slots_waiting": "Requests of pages that wait for a slot",
    "bodies_under_way": "Requests whose body is being received",
}


class Recorder:
    """The metric objects of this process, with a child for each combination of label values that has occurred."""

    def __init__(self) -> None:
        # Imported here: at import, the library checks whether values are shared with other processes.
        import prometheus_client as library

        self.registry = registry = library.CollectorRegistry()
        self._counters = {
            each.name: library.Counter(PREFIX + each.name, each.text, each.labels, registry=registry)
            for each in COUNTERS.values()
        }
        self._gauge = library.Gauge
        self._gauges: dict[str, Any] = {}  # created when they are set: not every process has slots
        name, text = f"{PREFIX}http_request_duration_seconds", "Time to respond to requests, without waiting for a slot"
        self._durations = library.Histogram(name, text, ("route", "method"), registry=registry, buckets=LATENCIES)
        name, text = f"{PREFIX}http_requests", "Answered requests"
        self._requests = library.Counter(name, text, ("route", "method", "status"), registry=registry)
        name, text = f"{PREFIX}slot_wait_seconds", "Time for which requests waited for a slot"
        self._waits = library.Histogram(name, text, registry=registry, buckets=LATENCIES)
        # Cached, because `labels()` takes as long as everything else together.
        self._answered: dict[tuple[str, str, int], tuple[Any, Any]] = {}
        self._counted: dict[tuple[str, ...], Any] = {}

        for name_and_labels in STARTED:
            self._begin(name_and_labels)

    def _begin(self, name_and_labels: tuple[str, ...]) -> Any:
        name, *labels = name_and_labels
        counter = self._counters[name]
        child = self._counted[name_and_labels] = counter.labels(*labels) if labels else counter
        return child

    def count(self, *name_and_labels: str) -> None:
        """Add one to a counter."""
        (self._counted.get(name_and_labels) or self._begin(name_and_labels)).inc()

    def answered(self, route: str, method: str, status: int, seconds: float) -> None:
        """Record the response to a request."""
        children = self._answered.get((route, method, status))
        if children is None:
            children = self._requests.labels(route, method, status), self._durations.labels(route, method)
            self._answered[route, method, status] = children
        children[0].inc()
        children[1].observe(seconds)

    def waited(self, seconds: float) -> None:
        """Record how long a request waited for a slot."""
        self._waits.observe(seconds)

    def set_gauge(self, name: str, value: float) -> None:
        """Set a gauge of GAUGES."""
        if name not in self._gauges:
            # The sum over living processes: a process that has ended is not busy.
            self._gauges[name] = self._gauge(
                PREFIX + name, GAUGES[name], registry=self.registry, multiprocess_mode="livesum"
            )
        self._gauges[name].set(value)


_recorder: Recorder | None = None


def enable() -> Recorder:
    """Switch metrics on in this process. If several processes share them, call core/telemetry/exporter.py first."""
    global _recorder
    if _recorder is None:
        _recorder = Recorder()
    return _recorder


def disable() -> None:
    """Switch metrics off again (for tests)."""
    global _recorder
    _recorder = None


def is_enabled() -> bool:
    """Return whether this process records metrics."""
    return _recorder is not None


def request_answered(route: str | None, method: str | None, status: int, seconds: float) -> None:
    """Record the response to a request: its URL name, if it has one, and its duration."""
    if _recorder is not None:
        _recorder.answered(route or OTHER, method if method in METHODS else OTHER, status, seconds)


def slot_waited(seconds: float) -> None:
    """Record how long a request waited for its slot."""
    if _recorder is not None:
        _recorder.waited(seconds)


def set_gauge(name: str, value: float) -> None:
    """Set one of GAUGES for this process."""
    if _recorder is not None:
        _recorder.set_gauge(name, value)


SAMPLE_SECONDS = 1.0


def start_sampling(read: Callable[[], Mapping[str, float]]) -> None:
    """Set the gauges that `read` returns once a second from now on; do nothing while metrics are off."""
    if is_enabled():
        threading.Thread(target=_run, args=(read,), daemon=True, name="gauges").start()


def sample_once(read: Callable[[], Mapping[str, float]]) -> None:
    """Set the gauges once."""
    for name, value in read().items():
        set_gauge(name, value)


def _run(read: Callable[[], Mapping[str, float]]) -> None:
    while True:
        sample_once(read)
        time.sleep(SAMPLE_SECONDS)
