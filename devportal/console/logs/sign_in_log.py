"""The sign-in log of a client: filters and lines."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.core.exceptions import ValidationError
from django.db.models import Q
from django.http import HttpRequest

from devportal.console.logs.filters import ENTRY_FILTERS, LogFilters, choice_filter, parse_filters
from devportal.console.logs.redaction import MARKS
from devportal.console.models import SignInEvent
from oidc import sign_in_log
from oidc.clients import redirect_uris
from oidc.errors import ERROR_DESCRIPTIONS
from oidc.models import Client

Outcome = SignInEvent.Outcome
OUTCOMES: dict[str, str] = {outcome.value: str(outcome.label) for outcome in Outcome}
# The endpoints, with their labels.
ENDPOINTS = {
    sign_in_log.AUTHORIZE: "Authorization",
    sign_in_log.TOKEN: "Token",
    sign_in_log.REVOKE: "Revocation",
}
_OF_THE_TOKEN_ENDPOINT = ("invalid_client", "invalid_grant", "unsupported_grant_type", "unauthorized_client")
ERRORS = {error: error for error in sorted({*ERROR_DESCRIPTIONS, *_OF_THE_TOKEN_ENDPOINT, "unavailable", "app_full"})}
SELECTS = (("outcome", "Outcome", OUTCOMES), ("endpoint", "Endpoint", ENDPOINTS), ("error", "Error", ERRORS))
_BADGES = {Outcome.SIGNED_IN.value: "good", Outcome.REFUSED.value: "bad"}


@dataclass(frozen=True)
class SignInLogEntry:
    """One step of a sign-in. `can_add`: the received redirect URL could be registered as it is."""

    row: SignInEvent
    can_add: bool = False
    why_not: str = ""

    @property
    def badge(self) -> str:
        """The CSS class of the outcome."""
        return _BADGES.get(self.row.outcome, "plain")

    @property
    def endpoint(self) -> str:
        return ENDPOINTS.get(self.row.endpoint, self.row.endpoint)


def read_filters(request: HttpRequest) -> LogFilters:
    """Parse the filters of the query string."""
    conditions = {
        "outcome": choice_filter({outcome: Q(outcome=outcome) for outcome in OUTCOMES}),
        "endpoint": choice_filter({endpoint: Q(endpoint=endpoint) for endpoint in ENDPOINTS}),
        "error": choice_filter({error: Q(error=error) for error in ERRORS}),
    }
    return parse_filters(request, conditions | ENTRY_FILTERS)


def sign_in_log_entries(client: Client, rows: Sequence[SignInEvent]) -> list[SignInLogEntry]:
    """Return the rows, and for each unregistered redirect URL whether it could be registered."""
    return [_line(client, row) for row in rows]


def _line(client: Client, row: SignInEvent) -> SignInLogEntry:
    is_mismatch = row.outcome == Outcome.REFUSED and row.endpoint == sign_in_log.AUTHORIZE and row.redirect_uri
    if not is_mismatch or row.redirect_uri in client.registered_redirect_uris:
        return SignInLogEntry(row)
    if any(mark in row.redirect_uri for mark in MARKS):
        return SignInLogEntry(
            row, why_not="What looks like a secret or a person was left out, so there is nothing to add."
        )
    try:
        redirect_uris.validate_redirect_uri(row.redirect_uri)
    except ValidationError as error:
        return SignInLogEntry(row, why_not=error.messages[0])
    return SignInLogEntry(row, can_add=True)
