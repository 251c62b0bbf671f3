"""The middleware of OpenTelemetry's instrumentation of Django, at its place in this stack."""

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from opentelemetry.instrumentation.django import DjangoInstrumentor
from opentelemetry.instrumentation.django.middleware.otel_middleware import _DjangoMiddleware

from core.http.direct_dispatch import HEALTH_PATHS

# The instrumentation reads the Host header, which must be checked before.
AFTER = "core.http.host_header.HostMiddleware"


class TracingMiddleware(_DjangoMiddleware):
    """Traces all requests except health checks, which accept any Host, and of which there are too many."""

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if request.path_info in HEALTH_PATHS:
            return self.get_response(request)  # type: ignore[no-any-return]  # the library is partly typed
        return super().__call__(request)  # type: ignore[no-any-return,no-untyped-call]


class PlacedDjangoInstrumentor(DjangoInstrumentor):
    """Installs this middleware instead of the library's."""

    _opentelemetry_middleware = f"{TracingMiddleware.__module__}.{TracingMiddleware.__qualname__}"
