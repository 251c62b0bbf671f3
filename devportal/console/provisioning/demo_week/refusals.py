"""The refusals of the demo's week: each as the service says it, so that its mend can be tried."""

from dataclasses import dataclass

from django.conf import settings

from oidc import sign_in_log
from oidc.clients.redirect_uris import explain_mismatch
from oidc.models import Client
from oidc.sign_in_counts import Step


@dataclass(frozen=True)
class Refusal:
    """One kind: where, its error code, the reason for the developer, and the redirect URL as it came."""

    step: Step
    error: str
    reason: str
    redirect_uri: str = ""

    @property
    def endpoint(self) -> str:
        return sign_in_log.AUTHORIZE if self.step in (Step.TURNED_AWAY, Step.REFUSED) else sign_in_log.TOKEN


WRONG_SECRET = Refusal(Step.NOT_EXCHANGED, "invalid_client", "The client secret is wrong.")
SUPERSEDED = Refusal(
    Step.NOT_REFRESHED, "invalid_grant", "The refresh token was superseded. Store the newest one of each answer."
)
NOT_SIGNED_IN = Refusal(Step.REFUSED, "login_required", "The person is not signed in.")


def requests_refused(client: Client) -> list[Refusal]:
    """Return the authorization requests of a client that were refused before they started."""
    (registered, *_) = client.registered_redirect_uris
    scheme, _, rest = registered.partition("://")
    sent = (f"{registered}/", f"{scheme}://{rest.partition('/')[0]}/auth/callback", f"https://staging.{rest}")
    missing = "code_challenge is missing: PKCE is required."
    scope = "Unknown, or not approved for this client: account.read."
    return [
        *(
            Refusal(Step.TURNED_AWAY, "invalid_request", explain_mismatch(uri, client.registered_redirect_uris), uri)
            for uri in sent
        ),
        Refusal(Step.TURNED_AWAY, "invalid_request", missing, registered),
        Refusal(Step.TURNED_AWAY, "invalid_request", "state is missing.", registered),
        Refusal(Step.TURNED_AWAY, "invalid_scope", scope, registered),
        Refusal(Step.TURNED_AWAY, "unsupported_response_type", "The only response type is code.", registered),
        Refusal(Step.TURNED_AWAY, "unavailable", "The client is turned off.", registered),
    ]


def exchanges_refused(client: Client) -> list[Refusal]:
    """Return the ways in which a code of a client was not exchanged."""
    uri = f"{client.registered_redirect_uris[0]}?from=app"
    old = f"The code is older than {settings.AUTHORIZATION_CODE_SECONDS} seconds."
    found = [
        Refusal(Step.NOT_EXCHANGED, "invalid_grant", "The code_verifier does not fit the code_challenge."),
        Refusal(Step.NOT_EXCHANGED, "invalid_grant", old),
        Refusal(Step.NOT_EXCHANGED, "invalid_grant", "redirect_uri is not the one of the authorization request.", uri),
    ]
    if client.has_secret:
        return [*found, Refusal(Step.NOT_EXCHANGED, "invalid_client", "The client secret is missing.")]
    sent = "A secret was sent, and clients of this type have none."
    return [*found, Refusal(Step.NOT_EXCHANGED, "invalid_client", sent)]
