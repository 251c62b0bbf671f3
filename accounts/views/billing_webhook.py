"""The billing webhook, POST /hooks/billing (docs/plans.md#a-billing-system-reports)."""

from django.conf import settings
from django.http import HttpRequest

from accounts.plans import billing
from core.http.webhooks import WebhookError, count_failure, read_body, webhook

MAX_BODY_BYTES = 64 * 1024


@webhook
def billing_webhook(request: HttpRequest) -> dict[str, bool]:
    """Apply a billing system's event about one subscription; its signature authenticates it."""
    secret: str = settings.BILLING_SECRET
    if not secret:
        raise WebhookError(404, "not_found", "The billing webhook is off: BILLING_SECRET is not set.")
    body = read_body(request, MAX_BODY_BYTES)
    timestamp, signature = (request.headers.get(f"Billing-{name}", "") for name in ("Timestamp", "Signature"))
    try:
        signed_at = billing.verify_signature(secret, timestamp, signature, body)
    except WebhookError:
        count_failure(request, "billing failures")
        raise
    return {"applied": billing.apply_notification(body, signed_at)}
