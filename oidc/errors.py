"""Errors of the sign-in service: codes with their public descriptions, and exceptions with a reason for the log."""

from dataclasses import dataclass

from oidc.models import Client

# Every error that the authorization endpoint may send to an app, with its public description.
ERROR_DESCRIPTIONS = {
    "access_denied": "The person pressed Cancel.",
    "consent_required": "Access was not yet granted.",
    "interaction_required": "The person has to do something that prompt=none does not allow.",
    "invalid_request": "The request is malformed.",
    "invalid_scope": "The client may not use one of these scopes.",
    "login_required": "The person is not signed in.",
    "registration_not_supported": "The registration parameter is not supported.",
    "request_not_supported": "The request parameter is not supported.",
    "request_uri_not_supported": "The request_uri parameter is not supported.",
    "server_error": "The service failed; try again.",
    "temporarily_unavailable": "The service is busy; try again shortly.",
    "unmet_authentication_requirements": "The person did not sign in as strongly as was asked for.",
    "unsupported_response_type": "The only response type is code.",
}


@dataclass(eq=False)
class AuthorizationError(Exception):
    """An authorization error response (RFC 6749 §4.1.2.1, OpenID Connect Core 3.1.2.6).

    `description` may be shown to anybody, `reason` to the developer of `client`, once one is found. `may_redirect` is
    False until the redirect URL is trusted: then the person gets a page, and nothing is sent anywhere. `cancelled`: the
    person declined.
    """

    code: str
    description: str = ""
    may_redirect: bool = True
    reason: str = ""
    client: Client | None = None
    cancelled: bool = False  # by the person
    redirect_uri: str = ""  # of the request, once it is known to be a registered one

    @property
    def public_description(self) -> str:
        return self.description or ERROR_DESCRIPTIONS[self.code]


@dataclass(eq=False)
class TokenRefusal(Exception):
    """A request to the token or revocation endpoint that is refused (RFC 6749 §5.2).

    The app gets `error` and `description`, with the HTTP status; `reason` is for its developer, who reads it in the
    sign-in log of the client `client_id` ("" where none is known). `authenticated` tells that the client is what it
    claims, as far as its type can, `proven` that it showed a secret.
    """

    error: str
    reason: str = ""
    client_id: str = ""
    description: str = ""
    status: int = 400
    authenticated: bool = False
    proven: bool = False


class InvalidClient(TokenRefusal):
    """Client authentication failed (RFC 6749 §5.2); `client_id` is what the request claims, if one has that id."""

    def __init__(self, reason: str, client_id: str = "") -> None:
        super().__init__("invalid_client", reason, client_id, status=401)


class MultipleAuthenticationMethods(TokenRefusal):
    """A request authenticates its client in two ways (RFC 6749 §2.3)."""

    def __init__(self) -> None:
        text = "The client authenticates in two ways."
        super().__init__("invalid_request", text, description=text)


class InvalidToken(Exception):
    """An invalid token; the argument is the reason, for the log."""


class UserCapExceeded(Exception):
    """An unverified app has reached its limit of people (docs/sign-in.md#unverified-apps)."""


class ConsentMissing(Exception):
    """There is no consent (any more) for the scopes of a code that would be issued."""
