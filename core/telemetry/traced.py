"""The middleware of OpenTelemetry's instrumentation of Django, where it stands in this stack."""

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from opentelemetry.instrumentation.django import DjangoInstrumentor
from opentelemetry.instrumentation.django.middleware.otel_middleware import _DjangoMiddleware

from core.http.direct_dispatch import HEALTH_PATHS

# It reads the Host header, which has to be checked before.
AFTER = "core.http.host_header.HostMiddleware"


class TracingMiddleware(_DjangoMiddleware):
    """Traces all requests but health checks, whose Host may be any, and of which there are too many."""

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if request.path_info in HEALTH_PATHS:
            return self.get_response(request)  # type: ignore[no-any-return]  # the library is partly typed
        return super().__call__(request)  # type: ignore[no-any-return,no-untyped-call]


class PlacedDjangoInstrumentor(DjangoInstrumentor):
    """Puts this middleware in place of the library's."""

    _opentelemetry_middleware = f"{TracingMiddleware.__module__}.{TracingMiddleware.__qualname__}"
