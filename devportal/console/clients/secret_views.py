"""A web client's secrets: list, adding one, revoking one."""

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse

from devportal.console import idempotency, secret_panel
from devportal.console.access import get_client
from devportal.console.clients.secret_use import was_used_lately
from devportal.console.shortcuts import console_page, redirect_to_client, render_page
from devportal.lib.ratelimit.forms import limited_by_person
from oidc.clients.secrets import MAX_LIVE_SECRETS, TooManySecrets, create_secret, end_secret
from oidc.projects.roles import Role, lock_for_change

MOST_ENDED = 20  # revoked secrets on the page


@console_page()
def client_secrets(request: HttpRequest, project_id: str, client_id: str) -> HttpResponse:
    """GET …/secrets: live and recently revoked ones, never their values; for public clients why there are none."""
    membership, client = get_client(request, project_id, client_id)
    rows = client.secrets.select_related("created_by").order_by("-pk")
    live = list(rows.live()[:MAX_LIVE_SECRETS])
    # What has expired is closed when another one is created; until then only its expiry says so.
    over = rows.exclude(pk__in=[secret.pk for secret in live])
    return render_page(
        request,
        "console/client_secrets.html",
        membership,
        client,
        live=live,
        ended=over[:MOST_ENDED],
        ending_in_use=[secret for secret in live if secret.expires_at and was_used_lately(secret)],
        may_add=membership.may_edit and client.has_secret and len(live) < MAX_LIVE_SECRETS,
        once=idempotency.new_token(),
    )


@limited_by_person
@console_page("POST")
def client_secret_new(request: HttpRequest, project_id: str, client_id: str) -> HttpResponse:
    """POST …/secrets/new: shows the new secret, once; idempotent."""
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
        messages.error(request, "No secret was created: press the button once more.")
    except TooManySecrets:
        messages.error(request, "Two secrets are live, which is the maximum. Revoke one first.")
    except ValueError:  # the type was changed a moment ago
        pass
    else:
        return secret_panel.show_client_secret(request, membership, client, raw, "The new secret")
    return redirect_to_client(client, "client_secrets")


@console_page("GET", "HEAD", "POST")
def client_secret_end(request: HttpRequest, project_id: str, client_id: str, secret_id: int) -> HttpResponse:
    """…/secrets/<id>/end: confirmation, then revocation; a recently used one needs a checkbox as well."""
    membership, client = get_client(request, project_id, client_id, Role.DEVELOPER)
    live = list(client.secrets.live())
    secret = next((row for row in live if row.pk == secret_id), None)
    if secret is None:
        raise Http404
    secret.client = client
    used_lately = was_used_lately(secret)
    must_tick = used_lately or len(live) == 1
    is_unticked = False
    if request.method == "POST":
        is_unticked = must_tick and "understood" not in request.POST
        if not is_unticked:
            with lock_for_change(membership.project, membership.account, Role.DEVELOPER):
                end_secret(secret, membership.account)
            messages.success(request, f"The secret …{secret.last_four} is revoked.")
            return redirect_to_client(client, "client_secrets")
    return render_page(
        request,
        "console/client_secret_end.html",
        membership,
        client,
        secret=secret,
        used_lately=used_lately,
        is_last=len(live) == 1,
        must_tick=must_tick,
        is_unticked=is_unticked,
    )
