"""Functions by which the endpoints report the steps of sign-ins (oidc/sign_in_log/steps.py).

Each step of a request is counted once, however often its pages are loaded: the pending request in the session
(oidc/authorization/interactions.py) stores which steps were counted.
"""

from typing import Any

from django.contrib.sessions.backends.base import SessionBase

from core import clock
from oidc.authorization import interactions
from oidc.authorization.requests import AuthorizationRequest
from oidc.errors import AuthorizationError, Refusal, TokenRefusal
from oidc.models import Client, Connection
from oidc.sign_in_log.steps import APP_FULL, Endpoint, Step, report
from oidc.values.reasons import Reason

# --- The authorization endpoint ---


def request_arrived(auth_request: AuthorizationRequest) -> None:
    """Report that a request has started. A request that is already pending was counted before."""
    if auth_request.scopes and not auth_request.interaction.is_kept:
        report(Step.SILENT if auth_request.silent else Step.STARTED, auth_request.client.client_id)


def consent_shown(session: SessionBase, auth_request: AuthorizationRequest) -> None:
    """Report that a pending request shows its consent page."""
    if interactions.note_step(session, auth_request.interaction.key, Step.SHOWN):
        report(Step.SHOWN, auth_request.client.client_id)


def consent_allowed(auth_request: AuthorizationRequest) -> None:
    """Report that the person pressed Allow."""
    if not auth_request.interaction.is_answered:
        report(Step.ALLOWED, auth_request.client.client_id)


def app_is_full(session: SessionBase, auth_request: AuthorizationRequest, error: AuthorizationError) -> None:
    """Report that a pending request shows the page of an app that has reached its user limit."""
    is_first = interactions.note_step(session, auth_request.interaction.key, Step.REFUSED)
    _refused(Step.REFUSED, auth_request, error, APP_FULL, is_counted=is_first)


def request_ended(auth_request: AuthorizationRequest, error: AuthorizationError, page: str = "") -> None:
    """Report a request that ended without a code, if it names a client.

    `page` is the log's name for the page that the person sees when the app gets no error: UNAVAILABLE.
    """
    interaction = auth_request.interaction
    has_started = interaction.is_kept or bool(auth_request.scopes)
    step = Step.CANCELLED if error.cancelled else Step.REFUSED if has_started else Step.TURNED_AWAY
    # Already counted: the same form was sent again, or the person returns from the page about the user limit.
    is_repeated = interaction.is_answered or Step.REFUSED in interaction.steps
    _refused(step, auth_request, error, page or error.error, is_counted=not is_repeated)


def _refused(
    step: Step, auth_request: AuthorizationRequest, error: AuthorizationError, code: str, *, is_counted: bool
) -> None:
    if error.client is not None:
        report(
            step,
            error.client.client_id,
            error=code,
            is_counted=is_counted,
            reason=error.reason,
            parameters=error.parameters,
            redirect_uri=auth_request.parameters.get("redirect_uri") or "",
        )


def code_issued(auth_request: AuthorizationRequest, connection: Connection, **details: Any) -> None:
    """Report an issued code, and whether its person is new. If a form is sent twice, only one code counts."""
    client_id = auth_request.client.client_id
    is_counted = not auth_request.interaction.is_answered
    if is_counted:
        if not auth_request.consent_given_now:
            report(Step.SKIPPED, client_id)
        before = connection.authorized_before
        if connection.is_first_consent:
            report(Step.NEW_PERSON, client_id)
        elif before is not None and before.date() < clock.now().date():
            report(Step.RETURNING, client_id)
    report(Step.ISSUED, client_id, is_counted=is_counted, **details)


def sign_out_refused(client: Client, problem: Refusal, uri: str) -> None:
    """Report a sign-out request that was not valid. `uri` is the post_logout_redirect_uri that was sent."""
    report(
        Step.NOT_SIGNED_OUT,
        client.client_id,
        error=problem.error,
        reason=problem.reason,
        parameters=problem.parameters,
        redirect_uri=uri,
    )


# --- The endpoints for apps ---


def refused(
    refusal: TokenRefusal, endpoint: Endpoint | None, grant_type: str | None, redirect_uri: str, claimed: str = ""
) -> None:
    """Report a request that the token, revocation or userinfo endpoint rejected.

    `claimed` is the client id that the request names, if no client was looked up. Such a request is only logged.
    """
    if endpoint != Endpoint.TOKEN:
        step = Step.NO_USERINFO if endpoint == Endpoint.USERINFO else Step.NOT_REVOKED
    elif refusal.reason == Reason.REFRESH_TOKEN_REPEATED:
        step = Step.REPEATED
    else:
        step = Step.NOT_REFRESHED if grant_type == "refresh_token" else Step.NOT_EXCHANGED
    report(
        step,
        refusal.client_id or claimed,
        error=refusal.error,
        is_counted=bool(refusal.client_id),
        is_claimed=bool(claimed),
        reason=refusal.reason,
        parameters=refusal.parameters,
        redirect_uri=redirect_uri,
        family=refusal.family,
    )
