"""Rotating, revoking and changing the expiry of client secrets and API keys (devportal/console/credential_kinds.py)."""

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect

from devportal.console import idempotency
from devportal.console.credential_kinds import Credential, Kind
from devportal.console.rotation import CHOSEN, NEVER, ExpiryForm, RotationForm
from devportal.console.shortcuts import console_page, render_page
from devportal.lib.ratelimit.forms import limited_by_person
from oidc.clients.secrets import TooManySecrets
from oidc.credential_rotation import MAX_OVERLAP, CredentialEnded
from oidc.projects.quotas import QuotaExceeded
from oidc.projects.roles import lock_for_change


@limited_by_person
@console_page("GET", "HEAD", "POST")
def rotate(request: HttpRequest, kind: Kind, **ids: Any) -> HttpResponse:
    """…/<id>/rotate: asks when the old one ends; the response shows the new one, once; idempotent."""
    credential = kind.find(request, False, **ids)
    if not credential.is_live and request.method != "POST":
        raise Http404
    chosen = "24h" if credential.may_overlap else "now"
    form = RotationForm(_sent(request), most=MAX_OVERLAP, chosen=chosen)
    if form.is_valid():
        try:
            return _rotate(request, credential, form)
        except idempotency.AlreadyProcessed:
            return _to_list(request, credential, kind.sent_before_text, messages.INFO)
        except idempotency.MissingToken:
            form.add_error(None, "Nothing was rotated. Please send the form again.")
        except (QuotaExceeded, TooManySecrets):
            form.add_error(None, kind.too_many_text)
        except CredentialEnded:
            return _to_list(
                request, credential, "It has ended in the meantime, so nothing was rotated.", messages.ERROR
            )
    if not credential.is_live:
        raise Http404
    return _page(request, "rotate", credential, form=form, once=idempotency.new_token())


def _rotate(request: HttpRequest, credential: Credential, form: RotationForm) -> HttpResponse:
    membership, kind = credential.membership, credential.kind
    with lock_for_change(membership.project, membership.account, credential.role):
        sent = idempotency.consume_token(request)
        new, raw = kind.rotate(credential.row, form.ends_at, membership.account)
        idempotency.record_result(sent, new.last_four)
    return kind.show(request, credential, new, raw)


@limited_by_person
@console_page("GET", "HEAD", "POST")
def change_expiry(request: HttpRequest, kind: Kind, **ids: Any) -> HttpResponse:
    """…/<id>/expiry: moves or cancels the end of a live credential."""
    credential = kind.find(request, False, **ids)
    if not credential.is_live:
        raise Http404
    membership, end = credential.membership, credential.row.expires_at
    form = ExpiryForm(_sent(request), most=kind.max_life, chosen=CHOSEN if end else NEVER, at=end)
    if form.is_valid():
        end = form.expires_at
        with lock_for_change(membership.project, membership.account, credential.role):
            try:
                kind.set_expiry(credential.row, end, membership.account)
            except CredentialEnded as ended:
                raise Http404 from ended
        if end is None:
            return _to_list(request, credential, f"You removed the expiry of {credential.name}.")
        moment = f"{end:%-d %B %Y at %H:%M} UTC"
        return _to_list(request, credential, f"You changed the expiry of {credential.name} to {moment}.")
    return _page(request, "expiry", credential, form=form)


@console_page("GET", "HEAD", "POST")
def revoke(request: HttpRequest, kind: Kind, **ids: Any) -> HttpResponse:
    """…/<id>/revoke (of secrets …/<id>/end): confirmation, then revocation.

    A secret that was used recently, or is the only one, needs a checkbox as well.
    """
    credential = kind.find(request, True, **ids)
    membership = credential.membership
    must_tick = credential.is_used_lately or credential.is_only
    is_unticked = request.method == "POST" and must_tick and "understood" not in request.POST
    if request.method == "POST" and not is_unticked:
        with lock_for_change(membership.project, membership.account, credential.role):
            kind.revoke(credential.row, membership.account)
        return _to_list(request, credential, f"You revoked {credential.name}.")
    return _page(request, "revoke", credential, must_tick=must_tick, is_unticked=is_unticked)


def _sent(request: HttpRequest) -> Any:
    return request.POST if request.method == "POST" else None


def _to_list(request: HttpRequest, credential: Credential, text: str, level: int = messages.SUCCESS) -> HttpResponse:
    messages.add_message(request, level, text)
    return HttpResponseRedirect(credential.list_url)


def _page(request: HttpRequest, page: str, credential: Credential, **context: Any) -> HttpResponse:
    template = f"console/credential_{page}.html"
    return render_page(request, template, credential.membership, credential.client, credential=credential, **context)
