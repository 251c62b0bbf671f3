"""What may come of an authorization request."""

from dataclasses import dataclass

from oidc.errors import AuthorizationError
from oidc.models import Client


@dataclass(frozen=True)
class ClientUnavailable:
    """The client is off or its project suspended: a page, never a redirect."""

    client: Client


@dataclass(frozen=True)
class UserCapReached:
    """One person too many for an unverified app: a page with a way back."""

    client: Client


@dataclass(frozen=True)
class PromptLogin:
    """The person has to sign in: at all, `again`, or with a `new` account."""

    hint: str = ""
    again: bool = False
    new: bool = False


@dataclass(frozen=True)
class PromptConsent:
    """The person has to be asked; `missing` is what they have not allowed yet."""

    client: Client
    scopes: list[str]
    missing: frozenset[str]


@dataclass(frozen=True)
class RedirectError:
    """The app is told why not."""

    error: AuthorizationError


@dataclass(frozen=True)
class IssueCode:
    """The app gets a code."""

    client: Client
    scopes: list[str]


Outcome = ClientUnavailable | UserCapReached | PromptLogin | PromptConsent | RedirectError | IssueCode
