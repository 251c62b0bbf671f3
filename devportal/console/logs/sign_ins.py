"""The sign-in log of a client, as the members of its project read it."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.core.exceptions import ValidationError
from django.db.models import Q
from django.http import HttpRequest

from devportal.console.logs.narrowing import Narrowing, exactly, moment, narrowing, one_of
from devportal.console.models import SignInEvent
from devportal.console.redaction import MARKS
from oidc import registration, reporting
from oidc.errors import DESCRIPTIONS
from oidc.models import Client

Outcome = SignInEvent.Outcome
OUTCOMES: dict[str, str] = {outcome.value: str(outcome.label) for outcome in Outcome}
# Where an app or a browser sent its request; the words are those of the docs.
ENDPOINTS = {
    reporting.AUTHORIZE: "Authorization",
    reporting.TOKEN: "Token",
    reporting.REVOKE: "Revocation",
}
_OF_THE_TOKEN_ENDPOINT = ("invalid_client", "invalid_grant", "unsupported_grant_type", "unauthorized_client")
ERRORS = {error: error for error in sorted({*DESCRIPTIONS, *_OF_THE_TOKEN_ENDPOINT, "unavailable", "app_full"})}
_BADGES = {Outcome.SIGNED_IN.value: "good", Outcome.REFUSED.value: "bad"}


@dataclass(frozen=True)
class Line:
    """One step of a sign-in. `can_add` says that the redirect URL received could be registered as it is."""

    row: SignInEvent
    can_add: bool = False
    why_not: str = ""

    @property
    def badge(self) -> str:
        """How the outcome looks."""
        return _BADGES.get(self.row.outcome, "plain")

    @property
    def endpoint(self) -> str:
        return ENDPOINTS.get(self.row.endpoint, self.row.endpoint)


def asked(request: HttpRequest) -> Narrowing:
    """Return what the address narrows the log to."""
    conditions = {
        "outcome": one_of({outcome: Q(outcome=outcome) for outcome in OUTCOMES}),
        "endpoint": one_of({endpoint: Q(endpoint=endpoint) for endpoint in ENDPOINTS}),
        "error": one_of({error: Q(error=error) for error in ERRORS}),
        "request_id": exactly("request_id"),
        "from": moment("at__gte"),
        "to": moment("at__lt"),
    }
    return narrowing(request, conditions)


def lines(client: Client, rows: Sequence[SignInEvent]) -> list[Line]:
    """Return rows, and for each address that is not registered whether it could be."""
    return [_line(client, row) for row in rows]


def _line(client: Client, row: SignInEvent) -> Line:
    is_mismatch = row.outcome == Outcome.REFUSED and row.endpoint == reporting.AUTHORIZE and row.redirect_uri
    if not is_mismatch or row.redirect_uri in client.registered_redirect_uris:
        return Line(row)
    if any(mark in row.redirect_uri for mark in MARKS):
        return Line(row, why_not="What looks like a secret or a person was left out, so there is nothing to add.")
    try:
        registration.check_redirect_uri(row.redirect_uri)
    except ValidationError as error:
        return Line(row, why_not=error.messages[0])
    return Line(row, can_add=True)
