"""Webhooks: POST requests of other systems, which the signature of their body authenticates."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.csrf import csrf_exempt

from core.http.client_ip import limit_key
from core.http.responses import envelope
from core.limits.counters import Throttled, check_rate


@dataclass(eq=False)
class WebhookError(Exception):
    """A request is rejected: HTTP status, error code, and message."""

    status: int
    code: str
    message: str
    retry_after: int = 0


def webhook(take: Callable[[HttpRequest], Any]) -> Callable[[HttpRequest], HttpResponse]:
    """Make a view of a function that returns data for JSON, or raises WebhookError."""

    @csrf_exempt
    @wraps(take)
    def view(request: HttpRequest) -> HttpResponse:
        try:
            response = JsonResponse(take(request), safe=False)
        except WebhookError as refused:
            response = JsonResponse(envelope(refused.code, refused.message), status=refused.status)
            if refused.status == 405:
                response["Allow"] = "POST"
            if refused.retry_after:
                response["Retry-After"] = str(refused.retry_after)
        response["Cache-Control"] = "no-store"
        return response

    return view


def read_body(request: HttpRequest, most_bytes: int) -> bytes:
    """Return the body of a POST request. Raises WebhookError for another method or a larger body."""
    if request.method != "POST":
        raise WebhookError(405, "method_not_allowed", "Use POST.")
    try:
        body = request.body
    except RequestDataTooBig:
        body = b" " * (most_bytes + 1)
    if len(body) > most_bytes:
        raise WebhookError(413, "too_large", f"The body has at most {most_bytes} bytes.")
    return body


def count_failure(request: HttpRequest, name: str) -> None:
    """Count an invalid signature by IP address. Raises WebhookError above FAILURES_PER_MINUTE."""
    try:
        check_rate(name, limit_key(request), settings.FAILURES_PER_MINUTE)
    except Throttled as limited:
        text = "Too many requests with an invalid signature."
        raise WebhookError(429, "rate_limited", text, limited.retry_after) from limited
