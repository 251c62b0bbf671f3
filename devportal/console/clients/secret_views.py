"""A web client's secrets: the ones that its settings list, and creating one."""

from dataclasses import dataclass

from django.contrib import messages
from django.http import HttpRequest, HttpResponse

from core.limits.middleware import limited_by_person
from devportal.console import idempotency, rotation
from devportal.console.access import Membership, get_client, member_email
from devportal.console.credentials import ListedCredential, list_secret
from devportal.console.navigation import console_page, redirect_to_client
from devportal.console.rotation import was_used_lately
from oidc.clients.secrets import MAX_LIVE_SECRETS, create_secret
from oidc.models import Client, ClientSecret
from oidc.projects.lifecycle import QuotaExceeded
from oidc.projects.roles import Role, lock_for_change

MOST_ENDED = 20  # revoked secrets on the page


@dataclass(frozen=True)
class ListedSecrets:
    """The secrets of a client, without values. `ended` holds the newest that were revoked or have expired."""

    live: list[ListedCredential]
    ended: list[ClientSecret]
    may_add: bool

    @property
    def lost(self) -> ClientSecret | None:
        """The newest ended secret that was reported as leaked."""
        return next((secret for secret in self.ended if secret.leaked_at), None)

    @property
    def ending_in_use(self) -> list[ListedCredential]:
        """The secrets that expire although they are in use."""
        return [each for each in self.live if each.row.expires_at and was_used_lately(each.row)]


def listed_secrets(membership: Membership, client: Client) -> ListedSecrets:
    """Return the live and the recently ended secrets of a client."""
    if not client.has_secret:
        return ListedSecrets([], [], may_add=False)
    rows = client.secrets.annotate(creator=member_email(membership.project, "created_by")).order_by("-pk")
    live = list(rows.live()[:MAX_LIVE_SECRETS])
    # Expired secrets are closed when another one is created. Until then only the expiry shows that they ended.
    ended = list(rows.exclude(pk__in=[secret.pk for secret in live])[:MOST_ENDED])
    listed = [list_secret(membership, client, secret) for secret in live]
    return ListedSecrets(listed, ended, may_add=membership.may_edit and len(live) < MAX_LIVE_SECRETS)


@limited_by_person
@console_page("POST", form_at="console:client_settings")
def client_secret_new(request: HttpRequest, project_id: str, client_id: str) -> HttpResponse:
    """POST …/secrets/new: create a secret and show it once; idempotent."""
    membership, client = get_client(request, project_id, client_id, Role.DEVELOPER)
    if not client.has_secret:
        return redirect_to_client(client)
    try:
        with lock_for_change(membership.project, membership.account, Role.DEVELOPER):
            sent = idempotency.consume_token(request)
            row, raw = create_secret(client, membership.account)
            idempotency.record_result(sent, row.last_four)
    except idempotency.AlreadyProcessed as repeated:
        shown = f"the secret that ends in {repeated.made}" if repeated.made else "a secret"
        text = f"This form was sent before, and created {shown} then. It was shown once; no second one was created."
        messages.info(request, text)
    except idempotency.MissingToken:
        messages.error(request, "No secret was created. Please press the button again.")
    except QuotaExceeded as too_many:
        messages.error(request, str(too_many))
    except ValueError:  # the type was changed a moment ago
        pass
    else:
        return rotation.show_client_secret(request, membership, client, raw, "The new secret")
    return redirect_to_client(client)
