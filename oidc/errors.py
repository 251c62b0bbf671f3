"""Errors of the sign-in service: codes with their public descriptions, and exceptions with a reason for the log."""

from dataclasses import dataclass

from oidc.models import Client
from oidc.token_errors import TOKEN_ERRORS

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
    page: str = "request"  # where no app may be told: the anchor of the page's documentation, below `page-`

    @property
    def public_description(self) -> str:
        return self.description or ERROR_DESCRIPTIONS.get(self.code, "The request is refused.")


@dataclass(eq=False)
class TokenRefusal(Exception):
    """A request to the token or revocation endpoint that is refused (RFC 6749 §5.2).

    `kind` names a row of TOKEN_ERRORS: the app gets its `error`, `description` and `status`. `reason` is for
    the app's developer, who reads it in the sign-in log of the client `client_id` ("" where none is known); without
    one the description stands there. `authenticated` tells that the client is what it claims, as far as its type can,
    `proven` that it showed a secret. `family` is the key of the token family of the code or refresh token, where it is
    one of the client's.
    """

    kind: str
    reason: str = ""
    client_id: str = ""
    authenticated: bool = False
    proven: bool = False
    family: int | None = None

    @property
    def error(self) -> str:
        return TOKEN_ERRORS[self.kind].error

    @property
    def description(self) -> str:
        return TOKEN_ERRORS[self.kind].description

    @property
    def status(self) -> int:
        return TOKEN_ERRORS[self.kind].status


class InvalidClient(TokenRefusal):
    """Client authentication failed (RFC 6749 §5.2); `client_id` is what the request claims, if one has that id."""

    def __init__(self, reason: str, client_id: str = "", kind: str = "client_failed") -> None:
        super().__init__(kind, reason, client_id)


class MultipleAuthenticationMethods(TokenRefusal):
    """A request authenticates its client in two ways (RFC 6749 §2.3)."""

    def __init__(self) -> None:
        super().__init__("two_ways")


class InvalidToken(Exception):
    """An invalid token; `reason` is for the log, `kind` the row of TOKEN_ERRORS that userinfo answers with."""

    def __init__(self, reason: str = "", kind: str = "access_token_invalid") -> None:
        super().__init__(reason)
        self.kind = kind


class UserCapExceeded(Exception):
    """An unverified app has reached its limit of people (docs/sign-in.md#unverified-apps)."""


class ConsentMissing(Exception):
    """There is no consent (any more) for the scopes of a code that would be issued."""
