"""The metrics of a process: their names, and the functions that count (docs/monitoring.md#metrics).

Labels have few values: names of the URLconf and codes of the service's own tables, never a path, an id or user input.
While metrics are off, each function returns immediately.
"""

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from django.core.exceptions import MiddlewareNotUsed
from django.http import HttpRequest
from django.http.response import HttpResponseBase

PREFIX = "openport_"
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
OTHER = "other"
# Upper bounds of the latency buckets, in seconds.
LATENCIES = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

# Counter -> its labels, and its help text.
COUNTERS: dict[str, tuple[tuple[str, ...], str]] = {
    "server_refusals": (("status",), "Requests refused before Django handles them: no slot, no body, too large"),
    "tokens_issued": (("grant",), "Successful token responses"),
    "refusals": (("endpoint", "error", "reason"), "Refused requests of the sign-in endpoints that apps use"),
    "api_refusals": (("code",), "Refused calls of the developer API"),
    "limits_met": (("limit",), "Requests refused because a limit was reached"),
    "family_revocations": (("reason",), "Token families that were revoked one by one"),
    "leak_reports": (("source", "result"), "Reported credentials, and rejected reports of secret scanners"),
    "sign_ins": (("outcome",), "Sign-ins of people"),
    "app_sign_ins": (("endpoint", "outcome"), "Steps of sign-ins to apps"),
    "redis_failures": ((), "Redis commands that failed or took too long"),
    "audit_log_failures": ((), "Lines of the audit log that could not be written"),
    "mails": (("outcome",), "Attempts to send a mail"),
    "deliveries": (("channel", "outcome"), "Attempts to deliver an event to an app"),
    "task_runs": (("task", "outcome"), "Finished runs of Celery tasks"),
    "tasks_sent": (("task",), "Tasks that were put into a queue"),
}
# Exported as 0 before they happen for the first time: `increase()` does not count a counter's first value.
BEGUN = (
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
        from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

        self.registry = registry = CollectorRegistry()
        self._counters = {
            name: Counter(PREFIX + name, text, labels, registry=registry) for name, (labels, text) in COUNTERS.items()
        }
        self._gauge = Gauge
        self._gauges: dict[str, Any] = {}  # created when they are set: not every process has slots
        name, text = f"{PREFIX}http_request_duration_seconds", "Time to respond to requests, without waiting for a slot"
        self._durations = Histogram(name, text, ("route", "method"), registry=registry, buckets=LATENCIES)
        name, text = f"{PREFIX}http_requests", "Answered requests"
        self._requests = Counter(name, text, ("route", "method", "status"), registry=registry)
        name, text = f"{PREFIX}slot_wait_seconds", "Time for which requests waited for a slot"
        self._waits = Histogram(name, text, registry=registry, buckets=LATENCIES)
        # Cached, because `labels()` takes as long as everything else together.
        self._answered: dict[tuple[str, str, int], tuple[Any, Any]] = {}
        self._counted: dict[tuple[str, ...], Any] = {}

        for name_and_labels in BEGUN:
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


def server_refused(status: int) -> None:
    """Count a request that the server refused before Django handled it."""
    if _recorder is not None:
        _recorder.count("server_refusals", str(status))


def set_gauge(name: str, value: float) -> None:
    """Set one of GAUGES for this process."""
    if _recorder is not None:
        _recorder.set_gauge(name, value)


def token_issued(grant: str) -> None:
    """Count a token response."""
    if _recorder is not None:
        _recorder.count("tokens_issued", grant)


def refused(endpoint: str, error: str, reason: str) -> None:
    """Count a refusal of an endpoint that apps use; `reason` is a code (oidc/reasons.py), never a text."""
    if _recorder is not None:
        _recorder.count("refusals", endpoint, error, reason)


def api_refused(code: str) -> None:
    """Count a refused call of the developer API."""
    if _recorder is not None:
        _recorder.count("api_refusals", code)


def limit_met(limit: str) -> None:
    """Count a request that reached a limit; `limit` is the name of its group, never a key."""
    if _recorder is not None:
        _recorder.count("limits_met", limit)


def family_revoked(reason: str) -> None:
    """Count a token family that was revoked; `reason` is a code (oidc/reasons.py)."""
    if _recorder is not None:
        _recorder.count("family_revocations", reason)


def leak_reported(source: str, result: str) -> None:
    """Count a credential that was reported as leaked, or a rejected report (by its error code)."""
    if _recorder is not None:
        _recorder.count("leak_reports", source, result)


def signed_in(outcome: str) -> None:
    """Count a sign-in of a person, or an attempt."""
    if _recorder is not None:
        _recorder.count("sign_ins", outcome)


def app_signed_in(endpoint: str, outcome: str) -> None:
    """Count a step of a sign-in to an app."""
    if _recorder is not None:
        _recorder.count("app_sign_ins", endpoint, outcome)


def audit_line_failed() -> None:
    """Count a line of the audit log that could not be written."""
    if _recorder is not None:
        _recorder.count("audit_log_failures")


def redis_failed() -> None:
    """Count a Redis command that failed or took too long."""
    if _recorder is not None:
        _recorder.count("redis_failures")


def delivery_tried(channel: str, outcome: str) -> None:
    """Count an attempt to deliver an event to an app: `accepted` or `failed`."""
    if _recorder is not None:
        _recorder.count("deliveries", channel, outcome)


def mail_tried(outcome: str) -> None:
    """Count an attempt to send a mail: `sent`, `refused`, `unreachable` or `broken`."""
    if _recorder is not None:
        _recorder.count("mails", outcome)


def task_finished(task: str, outcome: str) -> None:
    """Count a run of a Celery task."""
    if _recorder is not None:
        _recorder.count("task_runs", task, outcome)


def task_sent(task: str) -> None:
    """Count a task that was put into a queue."""
    if _recorder is not None:
        _recorder.count("tasks_sent", task)


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


class MetricsMiddleware:
    """Counts and times each request by the URL name of its view. Not installed while metrics are off."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        if not is_enabled():
            raise MiddlewareNotUsed
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        began = time.perf_counter()
        response = self.get_response(request)
        match = request.resolver_match
        request_answered(
            match.view_name if match else None, request.method, response.status_code, time.perf_counter() - began
        )
        return response
