"""The sign-in log of a client: filters and lines."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Q
from django.http import HttpRequest

from devportal.console.logs.filters import ENTRY_FILTERS, LogFilters, choice_filter, parse_filters
from devportal.console.models import SignInEvent
from oidc.reason_texts import REASONS
from oidc.reasons import Reason
from oidc.sign_in_steps import APP_FULL, UNAVAILABLE, Endpoint, Outcome

OUTCOMES = {outcome.value: str(outcome.label) for outcome in Outcome}
ENDPOINTS = {endpoint.value: str(endpoint.label) for endpoint in Endpoint}
_NEVER_LOGGED = {"invalid_token", "insufficient_scope", ""}  # those of userinfo, which has no log, and of no refusal
_LOGGED = {text.error for text in REASONS.values()} - _NEVER_LOGGED
ERRORS = {error: error for error in sorted({*_LOGGED, UNAVAILABLE, APP_FULL})}
REASONS_BY_CODE = {reason.value: reason.value for reason in sorted(Reason)}
SELECTS = (
    ("outcome", "Outcome", OUTCOMES),
    ("endpoint", "Endpoint", ENDPOINTS),
    ("error", "Error", ERRORS),
    ("reason", "Reason", REASONS_BY_CODE),
)
_BADGES = {
    Outcome.CODE_ISSUED.value: "accent",
    Outcome.SIGNED_IN.value: "good",
    Outcome.REFRESHED.value: "good",
    Outcome.CANCELLED.value: "warn",
    Outcome.REFUSED.value: "bad",
}
# What each outcome means, for the page of an entry.
MEANINGS = {
    Outcome.CODE_ISSUED.value: "The app was sent a code. It signs the person in once the app has exchanged it.",
    Outcome.SIGNED_IN.value: "The app exchanged its code, and got tokens.",
    Outcome.REFRESHED.value: "The app got new tokens for its refresh token.",
    Outcome.REVOKED.value: "The app revoked a token. All that came from the same sign-in has ended.",
    Outcome.CANCELLED.value: "The person did not go on, and the app was told so.",
    Outcome.REFUSED.value: "The request was refused.",
}


@dataclass(frozen=True)
class SignInLogEntry:
    """One step of a sign-in."""

    row: SignInEvent

    @property
    def badge(self) -> str:
        """The CSS class of the outcome."""
        return _BADGES.get(self.row.outcome, "plain")

    @property
    def endpoint(self) -> str:
        return ENDPOINTS.get(self.row.endpoint, self.row.endpoint)

    @property
    def meaning(self) -> str:
        return MEANINGS.get(self.row.outcome, "")


def read_filters(request: HttpRequest) -> LogFilters:
    """Parse the filters of the query string."""
    conditions = {
        "outcome": choice_filter({outcome: Q(outcome=outcome) for outcome in OUTCOMES}),
        "endpoint": choice_filter({endpoint: Q(endpoint=endpoint) for endpoint in ENDPOINTS}),
        "error": choice_filter({error: Q(error=error) for error in ERRORS}),
        "reason": choice_filter({reason: Q(reason=reason) for reason in REASONS_BY_CODE}),
    }
    return parse_filters(request, conditions | ENTRY_FILTERS)


def sign_in_log_entries(rows: Sequence[SignInEvent]) -> list[SignInLogEntry]:
    """Return the rows as their page shows them."""
    return [SignInLogEntry(row) for row in rows]
