"""The refusals of the demo's week: each as the service says it, so that its fix can be tried."""

from dataclasses import dataclass, field

from django.conf import settings

from oidc.clients.redirect_uris import explain_mismatch
from oidc.models import Client
from oidc.reason_texts import REASONS
from oidc.reasons import Facts, Reason
from oidc.sign_in_steps import UNAVAILABLE, Step


@dataclass(frozen=True)
class Refusal:
    """One kind: where, its reason with the parameters, and the redirect URL as it came.

    `page` is the log's name of the page that the person sees, where the app gets no error.
    """

    step: Step
    reason: Reason
    parameters: Facts = field(default_factory=dict)
    redirect_uri: str = ""
    page: str = ""

    @property
    def error(self) -> str:
        return self.page or REASONS[self.reason].error


WRONG_SECRET = Refusal(Step.NOT_EXCHANGED, Reason.SECRET_WRONG)
SUPERSEDED = Refusal(Step.NOT_REFRESHED, Reason.REFRESH_TOKEN_SUPERSEDED)
NOT_SIGNED_IN = Refusal(Step.REFUSED, Reason.NOT_SIGNED_IN)


def requests_refused(client: Client) -> list[Refusal]:
    """Return the authorization requests of a client that were refused before they started."""
    (registered, *_) = client.registered_redirect_uris
    scheme, _, rest = registered.partition("://")
    sent = (f"{registered}/", f"{scheme}://{rest.partition('/')[0]}/auth/callback", f"https://staging.{rest}")
    scope: Facts = {"name": "account.read", "scopes": ["account.read"]}
    return [
        *(Refusal(Step.TURNED_AWAY, *explain_mismatch(uri, client.registered_redirect_uris), uri) for uri in sent),
        Refusal(Step.TURNED_AWAY, Reason.CODE_CHALLENGE_MISSING, {}, registered),
        Refusal(Step.TURNED_AWAY, Reason.STATE_MISSING, {}, registered),
        Refusal(Step.TURNED_AWAY, Reason.SCOPE_NOT_APPROVED, scope, registered),
        Refusal(Step.TURNED_AWAY, Reason.RESPONSE_TYPE_UNSUPPORTED, {}, registered),
        Refusal(Step.TURNED_AWAY, Reason.CLIENT_OFF, {}, registered, page=UNAVAILABLE),
    ]


def exchanges_refused(client: Client) -> list[Refusal]:
    """Return the ways in which a code of a client was not exchanged."""
    uri = f"{client.registered_redirect_uris[0]}?from=app"
    found = [
        Refusal(Step.NOT_EXCHANGED, Reason.VERIFIER_WRONG),
        Refusal(Step.NOT_EXCHANGED, Reason.CODE_EXPIRED, {"seconds": settings.AUTHORIZATION_CODE_SECONDS}),
        Refusal(Step.NOT_EXCHANGED, Reason.REDIRECT_URI_DIFFERS, {}, uri),
    ]
    return [
        *found,
        Refusal(Step.NOT_EXCHANGED, Reason.SECRET_MISSING if client.has_secret else Reason.SECRET_UNEXPECTED),
    ]
