"""Which parts of a span are exported, and whose traces are continued (docs/monitoring.md#traces).

The instrumentations collect URLs with queries, statements and error messages. A list of what may be exported is shorter
than a list of exceptions, and also covers what future versions collect.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from opentelemetry.context import Context
from opentelemetry.propagators.textmap import TextMapPropagator
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.trace import Status
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from core.http import client_ip
from core.logging import redact

ATTRIBUTES = frozenset(
    {
        "celery.action", "celery.state", "celery.task_name", "db.name", "db.namespace", "db.operation",
        "db.operation.name", "db.system", "db.system.name", "error.type", "http.flavor", "http.method",
        "http.request.method", "http.response.status_code", "http.route", "http.scheme", "http.status_code",
        "messaging.destination", "messaging.destination.name", "messaging.message.id", "messaging.message_id",
        "messaging.operation", "messaging.system", "net.peer.name", "net.peer.port", "net.transport",
        "network.protocol.version", "network.transport", "openport.request_id", "server.address", "server.port",
        "url.scheme",
    }
)  # fmt: skip
# SQL statements have placeholders instead of parameters; Redis commands are not exported.
STATEMENTS = ("db.statement", "db.query.text")
LONGEST_STATEMENT = 2000
LONGEST_TEXT = 200
# Attributes of an exception event; its message and traceback may contain anything.
EVENT_ATTRIBUTES = ("exception.type", "exception.escaped")


def safe_attributes(attributes: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the attributes that may be exported."""
    given = dict(attributes or {})
    kept = {name: _text(given[name], LONGEST_TEXT) for name in given if name in ATTRIBUTES}
    if "redis" not in (given.get("db.system"), given.get("db.system.name")):
        kept |= {name: _text(given[name], LONGEST_STATEMENT) for name in STATEMENTS if name in given}
    return kept


def _text(value: Any, longest: int) -> Any:
    return redact(value)[:longest] if isinstance(value, str) else value


def safe_span(span: ReadableSpan) -> ReadableSpan:
    """Return the span with only the parts that may be exported."""
    events = [
        Event(event.name, {name: value for name, value in (event.attributes or {}).items() if name in EVENT_ATTRIBUTES},
              event.timestamp)
        for event in span.events
    ]  # fmt: skip
    return ReadableSpan(
        name=_text(span.name, LONGEST_TEXT),
        context=span.context,
        parent=span.parent,
        resource=span.resource,
        attributes=safe_attributes(span.attributes),
        events=events,
        kind=span.kind,
        status=Status(span.status.status_code),  # without the description, which is an error message
        start_time=span.start_time,
        end_time=span.end_time,
        instrumentation_scope=span.instrumentation_scope,
    )


class SafeSpanExporter(SpanExporter):
    """Passes spans to another exporter, reduced to what may leave the process."""

    def __init__(self, exporter: SpanExporter) -> None:
        self._exporter = exporter

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Export the spans."""
        return self._exporter.export([safe_span(span) for span in spans])

    def shutdown(self) -> None:
        """Shut the other exporter down."""
        self._exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30000) -> bool:
        """Flush the other exporter."""
        return self._exporter.force_flush(timeout_millis)


class TrustingPropagator(TextMapPropagator):
    """W3C Trace Context, read from a request only if it comes from one of TRUSTED_PROXIES.

    Otherwise strangers could write into other people's traces, or have everything sampled. Tasks carry the context of
    the process that queued them. Baggage is neither read nor sent.
    """

    def __init__(self) -> None:
        self._inner = TraceContextTextMapPropagator()

    def extract(self, carrier: Any, context: Context | None = None, getter: Any = None) -> Context:
        """Return the context in the carrier; a new one if it comes from a stranger."""
        if isinstance(carrier, dict) and "REMOTE_ADDR" in carrier and not client_ip.is_proxy(carrier["REMOTE_ADDR"]):
            return context if context is not None else Context()
        return self._inner.extract(carrier, context, getter) if getter else self._inner.extract(carrier, context)

    def inject(self, carrier: Any, context: Context | None = None, setter: Any = None) -> None:
        """Write the context into an outgoing carrier."""
        if setter:
            self._inner.inject(carrier, context, setter)
        else:
            self._inner.inject(carrier, context)

    @property
    def fields(self) -> set[str]:
        """Return the headers that are used."""
        return self._inner.fields
