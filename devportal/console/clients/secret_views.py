"""A web client's secrets: the list, and creating one."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse

from core.limits.middleware import limited_by_person
from devportal.console import idempotency, rotation
from devportal.console.access import get_client, member_email
from devportal.console.navigation import console_page, redirect_to_client, render_page
from devportal.console.rotation import was_used_lately
from oidc.clients.secrets import MAX_LIVE_SECRETS, create_secret
from oidc.projects.lifecycle import QuotaExceeded
from oidc.projects.roles import Role, lock_for_change

MOST_ENDED = 20  # revoked secrets on the page


@console_page()
def client_secrets(request: HttpRequest, project_id: str, client_id: str) -> HttpResponse:
    """GET …/secrets: live and recently revoked secrets, without values. For public clients, why they have none."""
    membership, client = get_client(request, project_id, client_id)
    rows = client.secrets.annotate(creator=member_email(membership.project, "created_by")).order_by("-pk")
    live = list(rows.live()[:MAX_LIVE_SECRETS])
    # Expired secrets are closed when another one is created. Until then only the expiry shows that they ended.
    ended = list(rows.exclude(pk__in=[secret.pk for secret in live])[:MOST_ENDED])
    return render_page(
        request,
        "console/client_secrets.html",
        membership,
        client,
        live=live,
        ended=ended,
        leaked=[secret for secret in live if secret.leaked_at],
        lost=next((secret for secret in ended if secret.leaked_at), None),
        ending_in_use=[secret for secret in live if secret.expires_at and was_used_lately(secret)],
        may_add=membership.may_edit and client.has_secret and len(live) < MAX_LIVE_SECRETS,
        once=idempotency.new_token(),
    )


@limited_by_person
@console_page("POST")
def client_secret_new(request: HttpRequest, project_id: str, client_id: str) -> HttpResponse:
    """POST …/secrets/new: create a secret and show it once; idempotent."""
    membership, client = get_client(request, project_id, client_id, Role.DEVELOPER)
    if not client.has_secret:
        return redirect_to_client(client, "client_secrets")
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
    return redirect_to_client(client, "client_secrets")
