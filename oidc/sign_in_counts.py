"""Counts of sign-ins by client and hour, for the console's analytics (docs/console.md#analytics): no person in them.

Each step is counted once for a request, however often its pages are loaded: what was counted stands with the pending
request in the session (oidc/authorization/interactions.py). Only steps of clients that exist are counted, and errors
come from a short list, so the counts that wait are few whatever is sent.
"""

from enum import StrEnum

from django.contrib.sessions.backends.base import SessionBase

from devportal.lib import clock, count_buffer
from oidc import sign_in_log
from oidc.authorization import interactions
from oidc.authorization.requests import AuthorizationRequest
from oidc.errors import TokenRefusal
from oidc.models import Client, Connection
from oidc.reasons import Reason

KIND = "sign_in"
HOUR = 3600  # seconds


class Step(StrEnum):
    """What is counted. `refused` and the four after it, and `cancelled`, have an error code beside them."""

    STARTED = "started"  # a valid request of somebody who may be asked
    SILENT = "silent"  # a valid request with prompt=none
    SHOWN = "shown"  # the consent page
    SKIPPED = "skipped"  # a code without it: all was allowed before
    ALLOWED = "allowed"
    CANCELLED = "cancelled"
    ISSUED = "issued"
    EXCHANGED = "exchanged"
    TURNED_AWAY = "turned_away"  # an authorization request that was not valid
    REFUSED = "refused"  # a request that had started
    NOT_EXCHANGED = "not_exchanged"
    NOT_REFRESHED = "not_refreshed"
    REPEATED = "repeated"  # a refresh with a token that was superseded a moment before, which is not NOT_REFRESHED
    NOT_REVOKED = "not_revoked"
    REFRESHED = "refreshed"
    REVOKED = "revoked"
    NEW_PERSON = "new_person"  # the first authorization ever
    RETURNING = "returning"  # the first one of a day (UTC) of somebody who had authorized the app before


def count(step: Step, client_id: str, error: str = "") -> None:
    """Count a step of a client that exists, in the present hour."""
    hour = clock.timestamp() // HOUR
    count_buffer.add(KIND, f"{client_id}{count_buffer.SEPARATOR}{hour}{count_buffer.SEPARATOR}{step.value}|{error}")


# --- The authorization endpoint ---


def request_arrived(auth_request: AuthorizationRequest) -> None:
    """Count a request that starts, once until it has its answer: one that is pending already has been counted."""
    if auth_request.scopes and not auth_request.interaction.is_kept:
        count(Step.SILENT if auth_request.silent else Step.STARTED, auth_request.client.client_id)


def consent_shown(session: SessionBase, auth_request: AuthorizationRequest) -> None:
    """Count that a pending request shows its consent page."""
    if interactions.note_step(session, auth_request.interaction.key, Step.SHOWN):
        count(Step.SHOWN, auth_request.client.client_id)


def consent_allowed(auth_request: AuthorizationRequest) -> None:
    """Count that the person pressed Allow."""
    if not auth_request.interaction.is_answered:
        count(Step.ALLOWED, auth_request.client.client_id)


def app_is_full(session: SessionBase, auth_request: AuthorizationRequest) -> None:
    """Count that a pending request shows the page of an app that takes nobody more."""
    if interactions.note_step(session, auth_request.interaction.key, Step.REFUSED):
        count(Step.REFUSED, auth_request.client.client_id, sign_in_log.APP_FULL)


def request_ended(auth_request: AuthorizationRequest, client: Client, error: str, *, cancelled: bool) -> None:
    """Count a request that got no code."""
    interaction = auth_request.interaction
    if interaction.is_answered or Step.REFUSED in interaction.steps:
        return  # the same form again, or the way back from the page of an app that is full
    has_started = interaction.is_kept or bool(auth_request.scopes)
    refused = Step.REFUSED if has_started else Step.TURNED_AWAY
    count(Step.CANCELLED if cancelled else refused, client.client_id, error)


def code_issued(auth_request: AuthorizationRequest, connection: Connection) -> None:
    """Count a code, and whether its person is new; of a form that is sent twice, one code, since one stays."""
    if auth_request.interaction.is_answered:
        return
    client_id = auth_request.client.client_id
    if not auth_request.consent_given_now:
        count(Step.SKIPPED, client_id)
    count(Step.ISSUED, client_id)
    before = connection.authorized_before
    if connection.is_first_consent:
        count(Step.NEW_PERSON, client_id)
    elif before is not None and before.date() < clock.now().date():
        count(Step.RETURNING, client_id)


# --- The endpoints for apps ---

_REFUSALS = {"authorization_code": Step.NOT_EXCHANGED, "refresh_token": Step.NOT_REFRESHED}


def token_refused(refusal: TokenRefusal, grant_type: str | None) -> None:
    """Count a refusal of the token endpoint, by the grant that was asked for; of an unknown client nothing."""
    if refusal.client_id:
        step = _REFUSALS.get(grant_type or "", Step.NOT_EXCHANGED)
        count(
            Step.REPEATED if refusal.reason == Reason.REFRESH_TOKEN_REPEATED else step, refusal.client_id, refusal.error
        )


def revocation_refused(refusal: TokenRefusal) -> None:
    """Count a refusal of the revocation endpoint; of an unknown client nothing."""
    if refusal.client_id:
        count(Step.NOT_REVOKED, refusal.client_id, refusal.error)
