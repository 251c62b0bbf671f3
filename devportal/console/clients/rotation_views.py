"""Rotation of a web client's secrets: a new one with an end for the old one, and changing that end."""

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse

from devportal.console import idempotency, secret_panel
from devportal.console.access import Membership, get_client
from devportal.console.clients.secret_use import was_used_lately
from devportal.console.rotation import CHOSEN, NEVER, ExpiryForm, RotationForm
from devportal.console.shortcuts import console_page, redirect_to_client, render_page
from devportal.lib.ratelimit.forms import limited_by_person
from oidc.clients.secrets import (
    MAX_LIVE_SECRETS,
    MAX_OVERLAP,
    SecretEnded,
    TooManySecrets,
    rotate_secret,
    set_secret_expiry,
)
from oidc.models import Client, ClientSecret
from oidc.projects.roles import Role, lock_for_change

_TOO_MANY = "Two secrets are live, which is the maximum. End this one now, or revoke the other first."


@limited_by_person
@console_page("GET", "HEAD", "POST")
def client_secret_rotate(request: HttpRequest, project_id: str, client_id: str, secret_id: int) -> HttpResponse:
    """…/secrets/<id>/rotate: when the old one ends; the answer shows the new secret, once; idempotent."""
    membership, client = get_client(request, project_id, client_id, Role.DEVELOPER)
    # A form that is sent again finds its secret ended, and is told so.
    live = list(client.secrets.live())
    secret = next((row for row in live if row.pk == secret_id), None)
    if secret is None and request.method != "POST":
        raise Http404
    is_alone = len(live) < MAX_LIVE_SECRETS
    form = RotationForm(
        request.POST if request.method == "POST" else None, most=MAX_OVERLAP, chosen="24h" if is_alone else "now"
    )
    if form.is_valid():
        try:
            return _rotate(request, membership, client, secret_id, form)
        except idempotency.AlreadyProcessed as repeated:
            shown = f"the secret that ends in {repeated.made}" if repeated.made else "a secret"
            text = f"This form was sent before, and created {shown} then. It was shown once; no second one was created."
            messages.info(request, text)
            return redirect_to_client(client, "client_secrets")
        except idempotency.MissingToken:
            form.add_error(None, "Nothing was rotated: send the form once more.")
        except TooManySecrets:
            form.add_error(None, _TOO_MANY)
        except SecretEnded:
            messages.error(request, "That secret has ended meanwhile, so nothing was rotated.")
            return redirect_to_client(client, "client_secrets")
    if secret is None:
        raise Http404
    return render_page(
        request,
        "console/client_secret_rotate.html",
        membership,
        client,
        secret=secret,
        form=form,
        is_alone=is_alone,
        used_lately=was_used_lately(secret),
        once=idempotency.new_token(),
    )


def _rotate(
    request: HttpRequest, membership: Membership, client: Client, secret_id: int, form: RotationForm
) -> HttpResponse:
    with lock_for_change(membership.project, membership.account, Role.DEVELOPER):
        sent = idempotency.consume_token(request)
        old = ClientSecret.objects.filter(client=client, pk=secret_id).first()
        if old is None:
            raise Http404
        row, raw = rotate_secret(old, form.ends_at, membership.account)
        idempotency.record_result(sent, row.last_four)
    return secret_panel.show_client_secret(request, membership, client, raw, "The new secret")


@limited_by_person
@console_page("GET", "HEAD", "POST")
def client_secret_expiry(request: HttpRequest, project_id: str, client_id: str, secret_id: int) -> HttpResponse:
    """…/secrets/<id>/expiry: moves or cancels the end of a live secret."""
    membership, client = get_client(request, project_id, client_id, Role.DEVELOPER)
    live = list(client.secrets.live())
    secret = next((row for row in live if row.pk == secret_id), None)
    if secret is None:
        raise Http404
    form = ExpiryForm(
        request.POST if request.method == "POST" else None,
        most=MAX_OVERLAP,
        chosen=CHOSEN if secret.expires_at else NEVER,
        at=secret.expires_at,
    )
    if form.is_valid():
        end = form.expires_at
        with lock_for_change(membership.project, membership.account, Role.DEVELOPER):
            try:
                set_secret_expiry(secret, end, membership.account)
            except SecretEnded as ended:
                raise Http404 from ended
        when = f"expires on {end:%-d %B %Y at %H:%M} UTC" if end else "does not expire"
        messages.success(request, f"The secret …{secret.last_four} {when}.")
        return redirect_to_client(client, "client_secrets")
    return render_page(
        request,
        "console/client_secret_expiry.html",
        membership,
        client,
        secret=secret,
        form=form,
        is_alone=len(live) < MAX_LIVE_SECRETS,
    )
