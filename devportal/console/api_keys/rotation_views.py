"""Rotation of one's own API keys: a new one with an end for the old one, and changing that end."""

from datetime import timedelta

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from api.keys import MAX_OVERLAP, KeyEnded, replacement_expires_at, rotate_key, set_key_expiry
from api.models import ApiKey
from devportal.console import idempotency, secret_panel
from devportal.console.access import Membership, get_membership
from devportal.console.api_keys.forms import FURTHEST_DAYS
from devportal.console.rotation import CHOSEN, NEVER, ExpiryForm, RotationForm
from devportal.console.shortcuts import console_page, render_page
from devportal.lib.ratelimit.forms import limited_by_person
from oidc.projects.quotas import QuotaExceeded
from oidc.projects.roles import Role, lock_for_change


def _own_key(membership: Membership, key_id: str) -> ApiKey:
    """Return the member's own key of the project. A new key acts as its owner, so nobody else may make it."""
    key = ApiKey.objects.filter(project=membership.project, public_id=key_id).select_related("owner").first()
    if key is None:
        raise Http404
    if key.owner_id != membership.account.pk:
        raise PermissionDenied
    key.project = membership.project
    return key


def _to_the_keys(project_id: str) -> HttpResponse:
    return HttpResponseRedirect(reverse("console:keys", args=[project_id]))


@limited_by_person
@console_page("GET", "HEAD", "POST")
def key_rotate(request: HttpRequest, project_id: str, key_id: str) -> HttpResponse:
    """…/keys/<id>/rotate: when the old one ends; the answer shows the new key, once; idempotent."""
    membership = get_membership(request, project_id, Role.DEVELOPER)
    key = _own_key(membership, key_id)
    form = RotationForm(request.POST if request.method == "POST" else None, most=MAX_OVERLAP)
    if form.is_valid():
        try:
            with lock_for_change(membership.project, membership.account, Role.DEVELOPER):
                sent = idempotency.consume_token(request)
                new, raw = rotate_key(key, form.ends_at)
                idempotency.record_result(sent, new.public_id)
        except idempotency.AlreadyProcessed:
            text = "This form was sent before, and created a key then. It was shown once; no second one was created."
            messages.info(request, text)
            return _to_the_keys(project_id)
        except idempotency.MissingToken:
            form.add_error(None, "Nothing was rotated: send the form once more.")
        except QuotaExceeded as too_many:
            form.add_error(None, f"{too_many} Or let this one end now.")
        except KeyEnded:
            messages.error(request, "That key has ended meanwhile, so nothing was rotated.")
            return _to_the_keys(project_id)
        else:
            return secret_panel.show_api_key(request, membership, new, raw)
    if key.state != "live":
        raise Http404
    return render_page(
        request,
        "console/key_rotate.html",
        membership,
        key=key,
        form=form,
        lasts_until=replacement_expires_at(key),
        once=idempotency.new_token(),
    )


@limited_by_person
@console_page("GET", "HEAD", "POST")
def key_expiry(request: HttpRequest, project_id: str, key_id: str) -> HttpResponse:
    """…/keys/<id>/expiry: moves or cancels the expiry of a live key."""
    membership = get_membership(request, project_id, Role.DEVELOPER)
    key = _own_key(membership, key_id)
    if key.state != "live":
        raise Http404
    form = ExpiryForm(
        request.POST if request.method == "POST" else None,
        most=timedelta(days=FURTHEST_DAYS),
        chosen=CHOSEN if key.expires_at else NEVER,
        at=key.expires_at,
    )
    if form.is_valid():
        end = form.expires_at
        with lock_for_change(membership.project, membership.account, Role.DEVELOPER):
            try:
                set_key_expiry(key, end, membership.account)
            except KeyEnded as ended:
                raise Http404 from ended
        messages.success(
            request, f"{key.name} {f'expires on {end:%-d %B %Y at %H:%M} UTC' if end else 'does not expire'}."
        )
        return _to_the_keys(project_id)
    return render_page(request, "console/key_expiry.html", membership, key=key, form=form)
