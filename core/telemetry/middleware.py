"""The middleware that measures requests."""

import time
from collections.abc import Callable

from django.core.exceptions import MiddlewareNotUsed
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from core.telemetry import metrics


class MetricsMiddleware:
    """Counts and times each request by the URL name of its view. Not installed while metrics are off."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        if not metrics.is_enabled():
            raise MiddlewareNotUsed
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        began = time.perf_counter()
        response = self.get_response(request)
        match = request.resolver_match
        metrics.request_answered(
            match.view_name if match else None, request.method, response.status_code, time.perf_counter() - began
        )
        return response
