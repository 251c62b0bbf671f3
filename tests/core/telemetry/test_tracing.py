"""Traces go to a collector when one is configured, and nothing of them is a secret."""

import gzip
import importlib.util
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.machinery import ModuleSpec
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import SystemCheckError
from django.test import RequestFactory
from opentelemetry import trace
from opentelemetry.instrumentation.wsgi import wsgi_getter
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from core.telemetry.spans import TrustingPropagator, safe_attributes
from tests.services import keeper
from tests.services.service import ROOT, own_database

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

# A separate process: the instrumentations change the libraries for good.
PROGRAM = """
import io, json, logging, os
import django
django.setup()
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from core.telemetry import tracing
from django.core.management import call_command
call_command("migrate", verbosity=0)
from opentelemetry.sdk.trace.export import BatchSpanProcessor
provider = tracing.instrument("web", BatchSpanProcessor, OTLPSpanExporter())
import httpx, redis
from django.db import connection
from django.test import Client
from accounts.tasks import send_mail
from devportal.celery import app

SECRET = os.environ["PLANTED"]
browser = Client(raise_request_exception=False, SERVER_NAME="localhost")
browser.cookies["openport_session"] = SECRET
browser.get(f"/connect/authorize?code={SECRET}&state={SECRET}", headers={"user-agent": SECRET, "referer": SECRET})
browser.post("/account/login/", {"login": "ada@example.com", "password": SECRET})
browser.post("/connect/token", {"grant_type": "authorization_code", "code": SECRET, "client_secret": SECRET})
browser.get("/v1/me", headers={"authorization": "Bearer " + SECRET})
browser.get(f"/{SECRET}/nowhere?token={SECRET}")
browser.get("/.well-known/jwks", headers={"traceparent": os.environ["PARENT"]})
assert browser.get("/health/live", headers={"host": "192.0.2.7"}).status_code == 200
with connection.cursor() as cursor:
    try:
        cursor.execute("SELECT * FROM oidc_client WHERE client_id = %s AND nothing = %s", [SECRET, SECRET])
    except Exception:
        pass
store = redis.Redis.from_url(os.environ["REDIS_URL"])
store.set(SECRET, SECRET)
try:
    store.execute_command("EVAL", SECRET, 0)
except redis.RedisError:
    pass
try:
    httpx.post(f"http://127.0.0.1:1/{SECRET}?key={SECRET}", headers={"authorization": SECRET}, json={"a": SECRET})
except httpx.HTTPError:
    pass

@app.task(name="planted")
def planted(argument):
    raise ValueError(argument)

planted.apply((SECRET,))
provider.shutdown()
"""


class Collector(ThreadingHTTPServer):
    """A collector on a loopback port that keeps what it gets."""

    def __init__(self) -> None:
        self.received: list[bytes] = []
        super().__init__(("127.0.0.1", 0), Keeper)


class Keeper(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.received.append(gzip.decompress(body) if self.headers["Content-Encoding"] == "gzip" else body)
        self.send_response(200)
        self.end_headers()

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture
def collector() -> Iterator[Collector]:
    server = Collector()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()


@pytest.mark.slow
@pytest.mark.redis
def test_a_planted_secret_is_in_no_span(collector: Collector, redis_url: str) -> None:
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    secret = "Xplantedsecretplantedsecretplanted7"
    with keeper.folder() as home, own_database() as database:
        given = database | {
            "DATA_DIR": str(home),
            "DJANGO_SETTINGS_MODULE": "devportal.settings",
            "REDIS_URL": redis_url,
            "PLANTED": secret,
            "PARENT": PARENT,
            "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{collector.server_port}",
            "OTEL_SEMCONV_STABILITY_OPT_IN": "http/dup,database/dup",
            # An operator may ask for headers; they are not exported all the same.
            "OTEL_INSTRUMENTATION_HTTP_CAPTURE_HEADERS_SERVER_REQUEST": ".*",
            "OTEL_PYTHON_DJANGO_TRACED_REQUEST_ATTRS": "path_info,COOKIES,META",
        }
        kept = {"PATH": os.environ["PATH"]}
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM], cwd=ROOT, env=kept | given, capture_output=True, text=True, check=False
        )
    assert done.returncode == 0, done.stderr[-3000:]
    exported = b"".join(collector.received)
    assert secret.encode() not in exported
    parsed = [ExportTraceServiceRequest.FromString(body) for body in collector.received]
    spans = [span for one in parsed for r in one.resource_spans for scope in r.scope_spans for span in scope.spans]
    names = {span.name for span in spans}
    assert {"GET .well-known/jwks", "POST connect/token", "SET", "run/planted", "POST"} <= names, names
    assert "GET health/live" not in names
    jwks = next(span for span in spans if span.name == "GET .well-known/jwks")
    assert "openport.request_id" in {one.key for one in jwks.attributes}
    assert jwks.trace_id.hex() not in PARENT, "a stranger's trace was continued"


def context_of(peer: str = "127.0.0.1") -> Any:
    request = RequestFactory().get("/", headers={"traceparent": PARENT}, REMOTE_ADDR=peer)
    found = TrustingPropagator().extract(request.META, getter=wsgi_getter)
    return trace.get_current_span(found).get_span_context()


def test_only_a_proxy_that_is_trusted_continues_a_trace(settings: Any) -> None:
    assert not context_of().is_valid
    settings.TRUSTED_PROXIES = ["127.0.0.0/8"]
    assert format(context_of().trace_id, "032x") in PARENT
    assert not context_of("192.0.2.7").is_valid


def test_tasks_continue_the_trace_that_queued_them() -> None:
    exporter = InMemorySpanExporter()
    from opentelemetry.sdk.trace import TracerProvider

    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    headers: dict[str, str] = {}
    with provider.get_tracer("test").start_as_current_span("queue") as span:
        TrustingPropagator().inject(headers)
        found = trace.get_current_span(TrustingPropagator().extract(headers)).get_span_context()
        assert found.trace_id == span.get_span_context().trace_id
    assert set(headers) == {"traceparent"}


def test_unknown_attributes_are_not_exported() -> None:
    given = {"http.url": "https://a/?code=1", "db.statement": "SELECT %s", "http.request.header.cookie": "a", "new": 1}
    assert safe_attributes(given) == {"db.statement": "SELECT %s"}
    assert safe_attributes({"db.system": "redis", "db.statement": "SET a"}) == {"db.system": "redis"}


def test_a_check_names_the_packages_that_are_missing(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.OTEL_EXPORTER_OTLP_ENDPOINT = "http://127.0.0.1:4318"
    call_command("check")
    real = importlib.util.find_spec

    def without_celery(name: str) -> ModuleSpec | None:
        return None if name.endswith("celery") else real(name)

    monkeypatch.setattr("core.telemetry.tracing.find_spec", without_celery)
    with pytest.raises(SystemCheckError, match=r"requirements/extras\.txt"):
        call_command("check")


def test_without_an_endpoint_nothing_is_imported() -> None:
    program = "import devportal.wsgi, sys, json; print(json.dumps(list(sys.modules)))"
    with keeper.folder() as home:
        environment = {"PATH": os.environ["PATH"], "DATA_DIR": str(home)}
        done = subprocess.run(
            [sys.executable, "-c", program], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
        )
    # redis-py imports the SDK where it is installed.
    loaded = {"opentelemetry.instrumentation", "core.telemetry.spans", "core.telemetry.traced"}
    assert not loaded & set(json.loads(done.stdout))
