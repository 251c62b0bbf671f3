"""Exceptions of the sign-in service. Each carries a reason with its parameters (oidc/values/reasons.py)."""

from dataclasses import dataclass, field

from oidc.models import AccessToken, Client
from oidc.values.reasons import Facts, Reason, developer_text, public_text


@dataclass(eq=False)
class Refusal(Exception):
    """A rejected request. `parameters` fill the placeholders of the reason's texts."""

    reason: Reason
    parameters: Facts = field(default_factory=dict)

    @property
    def error(self) -> str:
        """The standard's error code."""
        return self.reason.error

    @property
    def description(self) -> str:
        """The public `error_description`."""
        return public_text(self.reason, self.parameters)

    @property
    def developer_text(self) -> str:
        """The description for the app's developer."""
        return developer_text(self.reason, self.parameters)


@dataclass(eq=False)
class AuthorizationError(Refusal):
    """An authorization error response (RFC 6749 §4.1.2.1, OpenID Connect Core 3.1.2.6).

    `may_redirect` is False until the redirect URL is trusted. The person then sees a page, and the app gets no error.
    """

    may_redirect: bool = True
    client: Client | None = None  # set once it is found
    redirect_uri: str = ""  # the request's, set once it is known to be registered
    page: str = "request"  # for errors without a redirect: the anchor of the page's documentation, after `page-`

    @property
    def cancelled(self) -> bool:
        """Whether the person declined."""
        return self.reason in (Reason.CANCELLED, Reason.LEVEL_DECLINED)


@dataclass(eq=False)
class TokenRefusal(Refusal):
    """A rejected request to the token or revocation endpoint (RFC 6749 §5.2).

    `client_id` is "" if no client is known. `authenticated` is True if the client passed authentication, which for a
    public client means only that it exists. `proven` is True if it sent a valid secret. `family` is the primary key of
    the token family of the code or refresh token, if that family belongs to the client.
    """

    client_id: str = ""
    authenticated: bool = False
    proven: bool = False
    family: int | None = None


class InvalidClient(TokenRefusal):
    """Client authentication failed (RFC 6749 §5.2). `client_id` is the id that was sent, if a client has that id."""


class MultipleAuthenticationMethods(TokenRefusal):
    """The request authenticates its client in two ways (RFC 6749 §2.3)."""

    def __init__(self) -> None:
        super().__init__(Reason.TWO_WAYS)


class InvalidToken(Exception):
    """A token that is not valid now.

    `detail` says what is wrong, for the server's log. `row` is the row of an access token that this service issued, and
    `audience` the identifier of the API that it is for, if that is what is wrong.
    """

    def __init__(
        self,
        detail: str,
        reason: Reason = Reason.ACCESS_TOKEN_INVALID,
        row: AccessToken | None = None,
        audience: str = "",
    ) -> None:
        super().__init__(detail)
        self.reason, self.row, self.audience = reason, row, audience


class UserCapExceeded(Exception):
    """An app that is not reviewed has reached its limit (docs/sign-in.md#apps-that-are-not-reviewed)."""


class ConsentMissing(Exception):
    """The consent does not cover, or no longer covers, the scopes of the code that was about to be issued."""
