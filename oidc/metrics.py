"""Metrics of sign-ins to apps and of token families (docs/monitoring.md#metrics)."""

from typing import Any

from django.dispatch import receiver

from core.audit import Event, happened
from core.telemetry import metrics
from oidc.sign_in_steps import KIND, Outcome


@receiver(happened)
def count_event(sender: Any, event: Event, **kwargs: Any) -> None:
    """Count a step of a sign-in, a rejected request, or the end of a token family."""
    if not metrics.is_enabled():
        return
    kind, _, outcome = event.action.partition(".")
    if kind == KIND:
        endpoint = event.details["endpoint"]
        metrics.app_signed_in(endpoint, outcome)
        if outcome == Outcome.REFUSED:
            metrics.refused(endpoint, event.details["error"], event.details["reason"])
    elif event.action == "family.ended":
        metrics.family_revoked(event.details["reason"])
