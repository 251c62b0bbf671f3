"""Counts what is reported of sign-ins to apps and of token families (docs/monitoring.md#metrics)."""

from typing import Any

from django.dispatch import receiver

from devportal.lib.audit import Event, happened
from devportal.lib.telemetry import metrics
from oidc import sign_in_log

# How the reason of a refusal begins, as its developer reads it -> label.
REASONS = {
    "not Basic": "header_unreadable",
    "Basic ": "header_unreadable",
    "two client ids": "two_client_ids",
    "unknown client": "client_unknown",
    "This secret expired": "secret_expired",
    "The client secret is wrong": "secret_wrong",
    "The client secret is missing": "secret_missing",
    "A secret was sent": "secret_unexpected",
    "The client authenticates in two ways": "two_ways",
    "The client is turned off": "client_off",
    "The project is": "client_off",
    "The authorization has ended: refresh token reused": "family_ended_by_reuse",
    "The authorization has ended": "family_ended",
    "The person removed": "access_removed",
    "The refresh token is unknown": "refresh_token_unknown",
    "The refresh token has expired": "refresh_token_expired",
    "The refresh token was superseded a moment ago": "refresh_token_repeated",
    "The refresh token was superseded": "refresh_token_superseded",
    "The code is unknown": "code_unknown",
    "The code was used before": "code_replayed",
    "The code is older": "code_expired",
    "The code_verifier must": "verifier_malformed",
    "The code_verifier does not fit": "verifier_wrong",
    "redirect_uri is not": "redirect_uri_differs",
    "Another request": "lost_race",
}
# Why a family was ended (`TokenFamily.revoked_why`), of those that are ended one by one.
REVOCATIONS = frozenset({"refresh token reused", "code replayed", "answered again", "revoked by the app"})


def reason_label(reason: str) -> str:
    """Return the label of a reason; `other` for one that is not in REASONS."""
    return next((label for begin, label in REASONS.items() if reason.startswith(begin)), metrics.OTHER)


@receiver(happened)
def count_event(sender: Any, event: Event, **kwargs: Any) -> None:
    """Count a step of a sign-in, a refusal, or the end of a family."""
    if not metrics.is_enabled():
        return
    kind, _, outcome = event.action.partition(".")
    if kind == "sign_in":
        endpoint = event.details["endpoint"]
        metrics.app_signed_in(endpoint, outcome)
        if outcome == "refused":
            reason = event.details.get("reason", "") if endpoint != sign_in_log.AUTHORIZE else ""
            metrics.refused(endpoint, event.details.get("error", ""), reason_label(reason))
    elif event.action == "family.ended":
        why = event.details.get("why", "")
        metrics.family_revoked(why.replace(" ", "_") if why in REVOCATIONS else metrics.OTHER)
