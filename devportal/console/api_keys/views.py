"""A project's API keys: the list, creating one, revoking one."""

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from api.keys import create_key_for_member, revoke_key
from api.models import ApiKey
from devportal.console import idempotency, secret_panel
from devportal.console.access import Membership, get_membership
from devportal.console.api_keys.forms import NewKeyForm
from devportal.console.pagination import paginate
from devportal.console.shortcuts import console_page, render_page
from devportal.lib.ratelimit.forms import limited_by_person
from oidc.projects.quotas import QuotaExceeded
from oidc.projects.roles import Role, lock_for_change


@console_page()
def keys(request: HttpRequest, project_id: str) -> HttpResponse:
    """GET …/keys: all keys, revoked and expired ones included, never their values."""
    membership = get_membership(request, project_id)
    page = paginate(ApiKey.objects.filter(project=membership.project).select_related("owner"), request)
    rows = [
        {
            "key": key,
            "may_revoke": key.state != "revoked" and _may_revoke(membership, key),
            "may_rotate": key.state == "live" and membership.may_edit and key.owner_id == membership.account.pk,
        }
        for key in page.rows
    ]
    # Where there is none yet, the first one is created here, without a page in between.
    is_empty = not rows and not page.newer and membership.may_edit
    first: dict[str, Any] = {"form": NewKeyForm(), "once": idempotency.new_token()} if is_empty else {}
    return render_page(request, "console/keys.html", membership, page=page, rows=rows, **first)


@limited_by_person
@console_page("GET", "HEAD", "POST")
def key_new(request: HttpRequest, project_id: str) -> HttpResponse:
    """…/keys/new: the form; the response shows the new key, once."""
    membership = get_membership(request, project_id, Role.DEVELOPER)
    form = NewKeyForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        try:
            return _make(request, membership, form)
        except idempotency.AlreadyProcessed:
            text = "This form was sent before, and created a key then. It was shown once; no second one was created."
            messages.info(request, text)
            return HttpResponseRedirect(reverse("console:keys", args=[project_id]))
        except idempotency.MissingToken:
            form.add_error(None, "No key was created: send the form once more.")
        except QuotaExceeded as too_many:
            form.add_error(None, str(too_many))
    return render_page(request, "console/key_new.html", membership, form=form, once=idempotency.new_token())


def _make(request: HttpRequest, membership: Membership, form: NewKeyForm) -> HttpResponse:
    given = form.cleaned_data
    with lock_for_change(membership.project, membership.account, Role.DEVELOPER):
        sent = idempotency.consume_token(request)
        key, raw = create_key_for_member(
            membership.project, membership.account, given["name"], given["permissions"], form.expires_at
        )
        idempotency.record_result(sent, key.public_id)
    return secret_panel.show_api_key(request, membership, key, raw)


@console_page("GET", "HEAD", "POST")
def key_revoke(request: HttpRequest, project_id: str, key_id: str) -> HttpResponse:
    """…/keys/<id>/revoke: confirmation, then revocation: of one's own key, or as an owner of anybody's."""
    membership = get_membership(request, project_id)
    key = ApiKey.objects.filter(project=membership.project, public_id=key_id).select_related("owner").first()
    if key is None:
        raise Http404
    key.project = membership.project
    if not _may_revoke(membership, key):
        raise PermissionDenied
    if request.method == "POST":
        with lock_for_change(
            membership.project, membership.account, Role.VIEWER if key.owner_id == membership.account.pk else Role.OWNER
        ):
            revoke_key(key, membership.account)
        messages.success(request, f"{key.name} is revoked. It is refused everywhere within 30 seconds.")
        return HttpResponseRedirect(reverse("console:keys", args=[project_id]))
    return render_page(request, "console/key_revoke.html", membership, key=key)


def _may_revoke(membership: Membership, key: ApiKey) -> bool:
    """Return whether the member may revoke the key: its owner whatever their role, and project owners."""
    return membership.is_owner or key.owner_id == membership.account.pk
