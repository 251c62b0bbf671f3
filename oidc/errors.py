"""The errors of the sign-in service: one table, public text apart from what the log says."""

from dataclasses import dataclass

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
    "unsupported_response_type": "The only response type is code.",
}


@dataclass(eq=False)
class AuthorizationError(Exception):
    """An authorization request that is refused (RFC 6749 §4.1.2.1, OpenID Connect Core 3.1.2.6).

    `description` may be shown to anybody, `reason` to the client's developer. `may_redirect` is False until the
    redirect URL is trusted: then the person gets a page, and nothing is sent anywhere.
    """

    code: str
    description: str = ""
    may_redirect: bool = True
    reason: str = ""

    @property
    def public_description(self) -> str:
        return self.description or ERROR_DESCRIPTIONS[self.code]


class InvalidClient(Exception):
    """Client authentication failed (RFC 6749 §5.2 invalid_client); the argument is for the log.

    `client_id` names the client that a request claims to come from, if there is one of that id.
    """

    def __init__(self, reason: str, client_id: str = "") -> None:
        super().__init__(reason)
        self.client_id = client_id


class MultipleAuthenticationMethods(Exception):
    """A request authenticates its client in two ways (RFC 6749 §2.3: invalid_request)."""


class InvalidToken(Exception):
    """A token that is worth nothing; the argument says why, for the log."""


class UserCapExceeded(Exception):
    """An unverified app has as many people as it may have (specification 5.4)."""


class ConsentMissing(Exception):
    """The consent that a code would rest on is not there (any more)."""
