"""Exceptions of the sign-in service. Each carries a reason with its parameters (oidc/reasons.py)."""

from dataclasses import dataclass, field

from oidc.models import AccessToken, Client
from oidc.reason_texts import REASONS, developer_text, public_text
from oidc.reasons import Facts, Reason


@dataclass(eq=False)
class Refusal(Exception):
    """A request that is refused. `parameters` are those of the reason's texts."""

    reason: Reason
    parameters: Facts = field(default_factory=dict)

    @property
    def error(self) -> str:
        """The error code of the standard."""
        return REASONS[self.reason].error

    @property
    def description(self) -> str:
        """The `error_description`, which anybody may read."""
        return public_text(self.reason, self.parameters)

    @property
    def developer_text(self) -> str:
        """What the app's developer reads."""
        return developer_text(self.reason, self.parameters)


@dataclass(eq=False)
class AuthorizationError(Refusal):
    """An authorization error response (RFC 6749 §4.1.2.1, OpenID Connect Core 3.1.2.6).

    `may_redirect` is False until the redirect URL is trusted. The person then gets a page, and the app nothing.
    """

    may_redirect: bool = True
    client: Client | None = None  # once one is found
    redirect_uri: str = ""  # of the request, once it is known to be a registered one
    page: str = "request"  # where no app may be told: the anchor of the page's documentation, below `page-`

    @property
    def cancelled(self) -> bool:
        """Whether the person declined."""
        return self.reason in (Reason.CANCELLED, Reason.LEVEL_DECLINED)


@dataclass(eq=False)
class TokenRefusal(Refusal):
    """A request to the token or revocation endpoint that is refused (RFC 6749 §5.2).

    `client_id` is "" where no client is known. `authenticated` tells that the client is what it claims, as far as its
    type can, `proven` that it sent a valid secret. `family` is the key of the token family of the code or refresh
    token, where it is one of the client's.
    """

    client_id: str = ""
    authenticated: bool = False
    proven: bool = False
    family: int | None = None


class InvalidClient(TokenRefusal):
    """Client authentication failed (RFC 6749 §5.2); `client_id` is what the request claims, if one has that id."""


class MultipleAuthenticationMethods(TokenRefusal):
    """A request authenticates its client in two ways (RFC 6749 §2.3)."""

    def __init__(self) -> None:
        super().__init__(Reason.TWO_WAYS)


class InvalidToken(Exception):
    """A token that is not valid now.

    `detail` says in the server's log what is wrong. `row` is that of an access token which this service issued.
    """

    def __init__(
        self, detail: str, reason: Reason = Reason.ACCESS_TOKEN_INVALID, row: AccessToken | None = None
    ) -> None:
        super().__init__(detail)
        self.reason, self.row = reason, row


class UserCapExceeded(Exception):
    """An unverified app has reached its limit of people (docs/sign-in.md#unverified-apps)."""


class ConsentMissing(Exception):
    """There is no consent (any more) for the scopes of a code that would be issued."""
