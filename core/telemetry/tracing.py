"""OpenTelemetry traces, if OTEL_EXPORTER_OTLP_ENDPOINT is set (docs/monitoring.md#traces).

The packages are in requirements/extras.txt. spans.py decides what leaves the process, whatever the instrumentations
collect.
"""

import functools
import ipaddress
import logging
import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register

from core.http import request_id

log = logging.getLogger(__name__)

PACKAGES = (
    "opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http",
    *(f"opentelemetry.instrumentation.{name}" for name in ("celery", "django", "httpx", "psycopg", "redis")),
)  # fmt: skip
SERVICE_NAME = "openport"
_is_on = False


def is_on() -> bool:
    """Return whether this process is traced."""
    return _is_on


def is_configured() -> bool:
    """Return whether traces should be exported."""
    return bool(settings.OTEL_EXPORTER_OTLP_ENDPOINT)


def missing_packages() -> list[str]:
    """Return the packages that traces need and that are not installed."""
    return [name for name in PACKAGES if not _is_installed(name)]


def _is_installed(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:  # a parent package is missing
        return False


def start(role: str) -> None:
    """Trace this process from now on, if that is configured; call it in each process, after it was forked.

    `role` is web, worker or beat, and part of the service's name. The web middleware is loaded after this.
    """
    if not is_configured():
        return
    if missing := missing_packages():
        log.error("Traces are not exported: %s is not installed (requirements/extras.txt).", missing[0])
        return
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    os.environ.setdefault("OTEL_EXPORTER_OTLP_ENDPOINT", settings.OTEL_EXPORTER_OTLP_ENDPOINT)
    instrument(role, BatchSpanProcessor, OTLPSpanExporter())


@functools.cache
def _instrumentors() -> tuple[Any, ...]:
    from opentelemetry.instrumentation.celery import CeleryInstrumentor
    from opentelemetry.instrumentation.httpx import HTTPXClientInstrumentor
    from opentelemetry.instrumentation.psycopg import PsycopgInstrumentor
    from opentelemetry.instrumentation.redis import RedisInstrumentor

    from core.telemetry.traced import PlacedDjangoInstrumentor

    kinds: tuple[Any, ...] = (
        PlacedDjangoInstrumentor,
        PsycopgInstrumentor,
        RedisInstrumentor,
        CeleryInstrumentor,
        HTTPXClientInstrumentor,
    )
    return tuple(kind() for kind in kinds)


def instrument(role: str, processor: Any, exporter: Any) -> Any:
    """Instrument the libraries, and send their spans through `processor` to `exporter`; return the provider."""
    from opentelemetry import propagate, trace
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider

    from core.telemetry.spans import SafeSpanExporter, TrustingPropagator
    from core.telemetry.traced import AFTER

    global _is_on
    name = os.environ.get("OTEL_SERVICE_NAME", SERVICE_NAME)
    resource = Resource.create({"service.name": f"{name}-{role}", "service.version": settings.VERSION})
    provider = TracerProvider(resource=resource)
    provider.add_span_processor(processor(SafeSpanExporter(exporter)))
    trace.set_tracer_provider(provider)
    propagate.set_global_textmap(TrustingPropagator())
    place = settings.MIDDLEWARE.index(AFTER) + 1
    for instrumentor in _instrumentors():
        instrumentor.instrument(tracer_provider=provider, response_hook=_note_request_id, middleware_position=place)
    _is_on = True
    return provider


def uninstrument() -> None:
    """Undo `instrument` (for tests)."""
    global _is_on
    _is_on = False
    for instrumentor in _instrumentors():
        instrumentor.uninstrument()


def _note_request_id(span: Any, *args: Any) -> None:
    """Set a span's attribute with the id of its request."""
    if span is not None and span.is_recording() and request_id.current() != request_id.NONE:
        span.set_attribute("openport.request_id", request_id.current())


MOST_PORTS = 65535


def _is_ip_address(text: str) -> bool:
    try:
        return bool(ipaddress.ip_address(text))
    except ValueError:
        return False


@register(Tags.security, Tags.compatibility)
def check_telemetry(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Return `devportal.E050` to `E053`: address and ports of metrics, logs, and packages of traces."""
    found: list[CheckMessage] = []
    ports = {name: getattr(settings, name) for name in ("METRICS_PORT", "WORKER_METRICS_PORT", "BEAT_METRICS_PORT")}
    wrong = [name for name, port in ports.items() if not 0 <= port <= MOST_PORTS or port == settings.PORT]
    if wrong:
        text = f"{', '.join(wrong)} must be a separate port, or 0."
        found.append(Error(text, hint="Metrics must not be public.", id="devportal.E050"))
    if not _is_ip_address(settings.METRICS_ADDRESS):
        text = f"METRICS_ADDRESS: {settings.METRICS_ADDRESS!r} is not an IP address."
        found.append(Error(text, hint="Write it like 127.0.0.1 or ::1, without a port.", id="devportal.E050"))
    if settings.LOG_FORMAT not in ("line", "json"):
        found.append(Error("LOG_FORMAT must be line or json.", id="devportal.E051"))
    path = Path(settings.AUDIT_LOG)
    if settings.AUDIT_LOG not in ("", "stdout") and not os.access(path if path.exists() else path.parent, os.W_OK):
        text = f"AUDIT_LOG: the file {path} can't be written."
        found.append(Error(text, hint="Give its folder to the service's user.", id="devportal.E053"))
    if is_configured() and (missing := missing_packages()):
        text = f"OTEL_EXPORTER_OTLP_ENDPOINT is set, but {missing[0]} is not installed."
        found.append(Error(text, hint="Install requirements/extras.txt.", id="devportal.E052"))
    return found
