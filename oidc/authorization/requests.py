"""The authorization request: its parameters, the signed-in person, and the results of the checks."""

from collections.abc import Callable
from dataclasses import dataclass, field

from accounts.models import Account
from accounts.sessions.authentication import Authentication
from oidc.apis.scopes import allowed_scopes, optional_among
from oidc.authorization import consent
from oidc.authorization.acr import AcrRequest
from oidc.authorization.interactions import Interaction, Shown
from oidc.clients.reviewed_hosts import is_trusted_at, outside_host
from oidc.models import Client, Connection
from oidc.values.parameters import Parameters

PROMPTS = ("none", "login", "consent", "select_account", "create")
RESPONSE_MODES = ("query", "form_post")


@dataclass
class AuthorizationRequest:
    """An authorization request being validated: its parameters, the signed-in person, and results of earlier checks."""

    parameters: Parameters
    interaction: Interaction
    account: Account | None
    authentication: Authentication
    consent_given_now: bool = False  # with the consent form that was just submitted
    has_others: bool = False  # other accounts may be signed in in this browser
    find_others: Callable[[], list[Account]] = list  # returns those accounts
    chosen_scopes: frozenset[str] = frozenset()  # the optional scopes that are ticked in that form
    found_client: Client | None = None
    redirect_uri: str = ""
    scopes: list[str] = field(default_factory=list)
    acr: AcrRequest = field(default_factory=AcrRequest)
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
    def wants_new_sign_in(self) -> bool:
        """Whether the request asks for a sign-in newer than itself (OpenID Connect Core 3.1.2.1)."""
        return "login" in self.prompts

    @property
    def counted_authentication(self) -> Authentication:
        """The part of the sign-in that counts toward a level: only what is new enough for `prompt` and `max_age`."""
        max_age = self.parameters.get("max_age")
        if not self.wants_new_sign_in and max_age is None:
            return self.authentication
        return self.authentication.since(self.interaction.at - (0 if self.wants_new_sign_in else int(max_age or 0)))

    @property
    def outside_host(self) -> str:
        """The host of the redirect URI if the app is reviewed but its review does not cover the host; "" otherwise.

        Such a request is treated like one from an app that is not reviewed (docs/review.md#hosts).
        """
        return outside_host(self.client, self.redirect_uri) if self.redirect_uri else ""

    @property
    def allowed_scopes(self) -> frozenset[str]:
        """The scopes that the app may ask for with this redirect URI."""
        return allowed_scopes(self.client, reviewed=not self.outside_host)

    @property
    def granted_scopes(self) -> set[str]:
        """The scopes that the person has granted and that count for this request."""
        return consent.granted_scopes(self.connection, self.outside_host)

    @property
    def optional_scopes(self) -> frozenset[str]:
        """The requested scopes that the person may leave out (docs/sign-in.md#optional-scopes)."""
        return optional_among(self.client, self.scopes)

    @property
    def shown(self) -> Shown:
        """What the consent page of this request shows now."""
        is_reviewed = is_trusted_at(self.client, self.redirect_uri)
        return Shown(self.optional_scopes, self.outside_host, is_reviewed)

    @property
    def missing_scopes(self) -> frozenset[str]:
        """The requested scopes that the person has not granted."""
        return frozenset(self.scopes) - self.granted_scopes

    @property
    def left_out_before(self) -> frozenset[str]:
        """The requested optional scopes that the person left out last time."""
        return self.optional_scopes & consent.left_out_scopes(self.connection)

    @property
    def asks_for_more(self) -> bool:
        """Whether the person has to be asked for consent. Scopes that they left out before are not asked for again."""
        return bool(self.missing_scopes - self.left_out_before)

    @property
    def silent(self) -> bool:
        return self.prompts == ["none"]

    @property
    def has_chosen(self) -> bool:
        """Whether the person was chosen for this request, or signed in for it."""
        return self.interaction.chosen or self.authentication.at >= self.interaction.at

    @property
    def state(self) -> str | None:
        return self.parameters.get("state") if self.parameters.is_clear("state") else None

    @property
    def response_mode(self) -> str:
        mode = self.parameters.get("response_mode") or "query"
        return mode if mode in RESPONSE_MODES and self.parameters.is_clear("response_mode") else "query"
