"""Who calls: a credential from the Authorization header becomes a Caller, or one of the documented errors."""

from dataclasses import dataclass

from django.http import HttpRequest
from oauth2_provider.utils import parse_bearer_token

from accounts.models import Account, PairwiseSubject
from api.errors import ApiError
from oidc import tokens
from oidc.errors import BadToken
from oidc.models import Client


@dataclass(frozen=True)
class Caller:
    """A person, as one project knows them, and what the credential may read about them."""

    account: Account
    subject: PairwiseSubject
    client: Client
    scopes: frozenset[str]


def identify(request: HttpRequest) -> Caller:
    """Return the caller. Raises ApiError. A token in the query or body is never read."""
    raw = parse_bearer_token(request.META.get("HTTP_AUTHORIZATION"))
    if raw is None:
        raise ApiError("unauthenticated", "Send a credential as: Authorization: Bearer <credential>.")
    try:
        row = tokens.find_access_token(raw)
    except BadToken as error:
        raise ApiError("invalid_token", "The access token is invalid, expired, or its access was removed.") from error
    connection = row.family.connection
    if connection.client.first_party:
        raise ApiError("invalid_token", "Tokens of the service's own apps are not accepted here.")
    still_allowed = set(tokens.live_scopes(row.family))
    return Caller(
        account=connection.account,
        subject=connection.subject,
        client=connection.client,
        scopes=frozenset(row.scope.split()) & still_allowed,
    )


def require_any(caller: Caller, *scopes: str) -> None:
    """Refuse a caller with none of `scopes`, naming them."""
    if not caller.scopes & set(scopes):
        raise ApiError("insufficient_scope", f"This needs one of the scopes: {', '.join(scopes)}.", scopes)
