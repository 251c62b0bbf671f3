"""Outcomes of an authorization request, and issuing the authorization code (RFC 6749 §4.1.2)."""

from dataclasses import dataclass
from typing import Any

from django.contrib.sessions.exceptions import SessionInterrupted
from django.db import transaction
from django.http import HttpRequest

from accounts.sessions.authentication import Authentication, Level
from accounts.sessions.browser_sessions import app_session, hold_session
from oidc.authorization import consent
from oidc.authorization.requests import AuthorizationRequest
from oidc.errors import AuthorizationError
from oidc.models import AuthorizationCode, Client
from oidc.tokens import codes


@dataclass(frozen=True)
class ClientUnavailable:
    """The app is off or its project suspended. This shows a page and never redirects."""

    client: Client


@dataclass(frozen=True)
class UserCapReached:
    """The app is not reviewed and has reached its limit. This shows a page that can return access_denied to the app."""

    client: Client


@dataclass(frozen=True)
class PromptLogin:
    """The person has to sign in. `again` asks for reauthentication, `new` starts at the sign-up page."""

    hint: str = ""
    again: bool = False
    new: bool = False


@dataclass(frozen=True)
class PromptChoice:
    """The person has to choose one of the accounts that are signed in in this browser, or sign in to another one."""


@dataclass(frozen=True)
class PromptStepUp:
    """The person needs a stronger sign-in. If it is not `essential`, they may continue without it."""

    client: Client
    level: Level
    essential: bool


@dataclass(frozen=True)
class PromptConsent:
    """The consent page has to be shown. `missing` are the scopes that the person has not granted yet.

    `optional` are the scopes that the person may leave out, `left_out` the ones that they left out last time.
    """

    client: Client
    scopes: list[str]
    missing: frozenset[str]
    optional: frozenset[str] = frozenset()
    left_out: frozenset[str] = frozenset()


@dataclass(frozen=True)
class RedirectError:
    """An error goes back to the app's redirect URI."""

    error: AuthorizationError


@dataclass(frozen=True)
class IssueCode:
    """The app gets a code for `scopes`, for the person who signed in by `authentication`.

    `left_out` are the requested optional scopes that the person left out. With `consent_given_now` the consent is
    recorded; otherwise it must exist. `request_key` is the interaction's key: an unused code that the same request got
    before is revoked. `returned` are the claims about the authentication that the tokens contain, None for no claims.
    """

    client: Client
    scopes: list[str]
    authentication: Authentication
    request_key: str
    consent_given_now: bool
    returned: dict[str, Any] | None = None
    left_out: frozenset[str] = frozenset()


Outcome = (
    ClientUnavailable
    | UserCapReached
    | PromptLogin
    | PromptChoice
    | PromptStepUp
    | PromptConsent
    | RedirectError
    | IssueCode
)


def issue_code(
    request: HttpRequest, auth_request: AuthorizationRequest, outcome: IssueCode
) -> tuple[AuthorizationCode, str]:
    """Record or look up the consent, and create a code; return its row and the code itself.

    Raises UserCapExceeded if the app has reached its user limit, ConsentMissing if the consent was just withdrawn, Gone
    if the app was just deleted, and SessionInterrupted if the session has just ended.
    """
    account, redirect_uri = auth_request.account, auth_request.redirect_uri
    assert account is not None
    with transaction.atomic():
        if outcome.consent_given_now:
            connection = consent.record_consent(
                account, outcome.client, outcome.scopes, request, left_out=outcome.left_out, redirect_uri=redirect_uri
            )
        else:
            connection = consent.require_consent(account, outcome.client, outcome.scopes, redirect_uri)
        # An app that is told of the end of sessions must not get tokens of one whose end it was not told.
        if outcome.client.has_receivers and not hold_session(request):
            raise SessionInterrupted("The session ended while a code was issued.")
        return codes.create_code(
            connection,
            scopes=outcome.scopes,
            redirect_uri=redirect_uri,
            code_challenge=auth_request.parameters.get("code_challenge") or "",
            nonce=auth_request.parameters.get("nonce") or "",
            authentication=outcome.authentication,
            request_key=outcome.request_key,
            session=app_session(request, outcome.client.client_id),
            returned=outcome.returned,
            sent_resource=bool(auth_request.parameters.resources),
        )
