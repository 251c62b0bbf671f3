"""Issuing the authorization code of a request that passed every check (RFC 6749 §4.1.2)."""

from django.db import transaction
from django.http import HttpRequest

from oidc.authorization import consent
from oidc.authorization.outcomes import IssueCode
from oidc.authorization.requests import AuthorizationRequest
from oidc.models import AuthorizationCode
from oidc.tokens import codes


def issue_code(
    request: HttpRequest, auth_request: AuthorizationRequest, outcome: IssueCode
) -> tuple[AuthorizationCode, str]:
    """Record or look up the consent, and create a code; return its row and the code itself.

    Raises UserCapExceeded if the app has no place for the person, and ConsentMissing if the consent was withdrawn a
    moment ago.
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
        return codes.create_code(
            connection,
            scopes=outcome.scopes,
            redirect_uri=redirect_uri,
            code_challenge=auth_request.parameters.get("code_challenge") or "",
            nonce=auth_request.parameters.get("nonce") or "",
            authentication=outcome.authentication,
            request_key=outcome.request_key,
            told=outcome.told,
        )
