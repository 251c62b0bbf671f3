"""The billing webhook, POST /hooks/billing (docs/plans.md#a-billing-system-reports)."""

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.csrf import csrf_exempt

from accounts.plans import billing
from accounts.plans.billing import WebhookError
from core.http.client_ip import limit_key
from core.limits.counters import Throttled, check_rate

MAX_BODY_BYTES = 64 * 1024


@csrf_exempt
def billing_webhook(request: HttpRequest) -> HttpResponse:
    """Apply a billing system's event about one subscription; its signature authenticates it."""
    try:
        response = JsonResponse({"applied": _take(request)})
    except WebhookError as refused:
        body = {"error": {"code": refused.code, "message": refused.message}}
        response = JsonResponse(body, status=refused.status)
        if refused.status == 405:
            response["Allow"] = "POST"
        if refused.retry_after:
            response["Retry-After"] = str(refused.retry_after)
    response["Cache-Control"] = "no-store"
    return response


def _take(request: HttpRequest) -> bool:
    secret: str = settings.BILLING_SECRET
    if not secret:
        raise WebhookError(404, "not_found", "The billing webhook is off: BILLING_SECRET is not set.")
    if request.method != "POST":
        raise WebhookError(405, "method_not_allowed", "Use POST.")
    body = _body(request)
    timestamp, signature = (request.headers.get(f"Billing-{name}", "") for name in ("Timestamp", "Signature"))
    try:
        billing.verify_signature(secret, timestamp, signature, body)
    except WebhookError:
        _count_failure(request)
        raise
    return billing.apply_notification(body)


def _count_failure(request: HttpRequest) -> None:
    """Count an event with an invalid signature by IP address. Raises WebhookError above FAILURES_PER_MINUTE."""
    try:
        check_rate("billing failures", limit_key(request), settings.FAILURES_PER_MINUTE)
    except Throttled as limited:
        raise WebhookError(
            429, "rate_limited", "Too many events with an invalid signature.", limited.retry_after
        ) from limited


def _body(request: HttpRequest) -> bytes:
    try:
        body = request.body
    except RequestDataTooBig:
        body = b" " * (MAX_BODY_BYTES + 1)
    if len(body) > MAX_BODY_BYTES:
        raise WebhookError(413, "too_large", f"An event has at most {MAX_BODY_BYTES} bytes.")
    return body
