"""The authorization request: what an app sent, who is there, and what the checks have found."""

from dataclasses import dataclass, field

from accounts.authentication import Authentication
from accounts.models import Account
from oidc.authorization.interactions import Interaction
from oidc.models import Client, Connection
from oidc.parameters import Parameters
from oidc.scopes import optional_among

PROMPTS = ("none", "login", "consent", "select_account", "create")
RESPONSE_MODES = ("query", "form_post")


@dataclass
class AuthorizationRequest:
    """An authorization request being validated: its parameters, the signed-in person, and results of earlier checks."""

    parameters: Parameters
    interaction: Interaction
    account: Account | None
    authentication: Authentication
    consent_given_now: bool = False  # by the form that is being answered
    chosen_scopes: frozenset[str] = frozenset()  # the optional ones that are ticked in that form
    found_client: Client | None = None
    redirect_uri: str = ""
    scopes: list[str] = field(default_factory=list)
    connection: Connection | None = None  # of the signed-in person and the client

    @property
    def client(self) -> Client:
        """The client, once it has been found."""
        assert self.found_client is not None
        return self.found_client

    @property
    def prompts(self) -> list[str]:
        return (self.parameters.get("prompt") or "").split()

    @property
    def optional_scopes(self) -> frozenset[str]:
        """The requested scopes that the person may leave out (docs/sign-in.md#optional-scopes)."""
        return optional_among(self.client, self.scopes)

    @property
    def silent(self) -> bool:
        return self.prompts == ["none"]

    @property
    def state(self) -> str | None:
        return self.parameters.get("state") if self.parameters.is_clear("state") else None

    @property
    def response_mode(self) -> str:
        mode = self.parameters.get("response_mode") or "query"
        return mode if mode in RESPONSE_MODES and self.parameters.is_clear("response_mode") else "query"
