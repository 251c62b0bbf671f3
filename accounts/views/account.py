"""The account's home, profile and pictures, confirming an email address, and forms from before a sign-in."""

import hmac
from functools import partial
from typing import Any
from urllib.parse import urlencode

from allauth.account.utils import get_next_redirect_url
from allauth.account.views import email as change_email
from allauth.account.views import email_verification_sent
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from accounts.activity import wrong_guesses
from accounts.activity.recording import sentence
from accounts.allauth_internals import EMAIL_VERIFICATION_CODE_SESSION_KEY
from accounts.entrance.forms import SIGN_IN_PAGES
from accounts.models import Account, PairwiseSubject, SecurityEvent
from accounts.plans import members, resolution
from accounts.plans.lifecycle import STATE_TEXTS
from accounts.profile import files
from accounts.profile.claims import picture_version
from accounts.profile.sources import SourceFailed
from accounts.recovery.security_check import check_security
from accounts.recovery.waiting import open_recovery
from accounts.sessions.authentication import account_of
from accounts.sessions.browser_sessions import lock_unchanged
from accounts.signals import showing_home
from accounts.views.forms import ProfileForm
from core.email_addresses import address_to_find
from core.http import error_pages
from core.limits.middleware import limited_by_address, limited_by_person
from core.storage.stored_files import StoreUnavailable, image_response, read_file

PICTURE_MAX_AGE = 300  # seconds


@limited_by_person
@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def profile(request: HttpRequest) -> HttpResponse:
    """/account/profile: the person's own name and photo."""
    assert isinstance(request.user, Account)
    account = Account.objects.get(pk=request.user.pk)  # a separate object from the one in the page header
    form = ProfileForm(request.POST or None, request.FILES or None, instance=account)
    if request.method == "POST" and form.is_valid():
        try:
            form.save()
        except StoreUnavailable:
            form.add_error("picture", "The photo could not be stored. Nothing was changed. Try again in a minute.")
            return render(request, "accounts/profile.html", {"form": form}, status=503)
        messages.success(request, "Your profile was saved. Apps see the change the next time they ask for it.")
        return HttpResponseRedirect(reverse("account_profile"))
    return render(request, "accounts/profile.html", {"form": form})


@require_safe
def own_picture(request: HttpRequest) -> HttpResponse:
    """GET /account/picture: the signed-in person's own photo."""
    if not isinstance(request.user, Account) or not request.user.picture:
        raise Http404
    return image_response(partial(read_file, request.user.picture.name or ""), "private, no-cache")


@require_safe
def picture(request: HttpRequest, picture_key: str, version: str) -> HttpResponse:
    """GET /pictures/<key>/<version>.webp: a person's picture in one sector; 404 once the sector may not see it."""
    subject = PairwiseSubject.objects.select_related("account").filter(picture_key=picture_key).first()
    if subject is None or not subject.account.is_active or not subject.account.picture:
        raise Http404
    name = subject.account.picture.name or ""
    if not hmac.compare_digest(version, picture_version(name, picture_key)):
        raise Http404
    if not files.is_picture_visible(subject.account, subject.sector):
        raise Http404
    # Private caching only, so that a withdrawn picture soon disappears from browsers.
    cache_control = f"private, max-age={PICTURE_MAX_AGE}"
    response = image_response(partial(files.encode_picture_for, name, picture_key), cache_control)
    response["Cross-Origin-Resource-Policy"] = "cross-origin"  # apps show it on their own pages
    response["Access-Control-Allow-Origin"] = "*"
    return response


MOST_EVENTS = 4


@never_cache
@login_required
@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """GET /account/: profile, invitations, security check, apps, plan, and recent activity."""
    account = account_of(request)
    events = SecurityEvent.objects.filter(account=account).exclude(kind__in=wrong_guesses.KINDS)
    context: dict[str, Any] = {
        "recovery": open_recovery(account),
        "security": check_security(account),
        "plan": _plan(account),
        "invitations": members.invitations_to(account),
        "events": [{"event": event, "says": sentence(event)} for event in events.order_by("-at", "-pk")[:MOST_EVENTS]],
    }
    sections: list[tuple[Any, Any]] = list(showing_home.send(sender=Account, account=account, request=request))
    for _, section in sections:
        context |= section
    return render(request, "accounts/home.html", context)


def _plan(account: Account) -> dict[str, str] | None:
    """Return the plan's name and state; None if another service would have to be called, which may take long."""
    if settings.PLAN_SOURCE_URL:
        return None
    try:
        answer = resolution.resolve_plan(account).answer
    except SourceFailed:
        return None
    return {"name": answer["plan_display_name"], "state": STATE_TEXTS[answer["state"]].status}


@limited_by_person
@login_required
def email(request: HttpRequest) -> HttpResponse:
    """/account/email/: allauth's page, which may store the email address that the account had when the request began.

    So the account is locked and read again: an email address must not come back while the account is taken back.
    """
    with transaction.atomic():
        account = lock_unchanged(account_of(request))
        if account is None:  # its sessions ended since this request began
            return HttpResponseRedirect(reverse("account_login"))
        request.user = account
        response: HttpResponse = change_email(request)
    return response


@limited_by_address
def confirm_email(request: HttpRequest) -> HttpResponse:
    """/account/confirm-email/: people who have signed in meanwhile, in another tab, are redirected to what waits."""
    if request.user.is_authenticated and EMAIL_VERIFICATION_CODE_SESSION_KEY not in request.session:
        return HttpResponseRedirect(reverse("resume"))
    response: HttpResponse = email_verification_sent(request)
    return response


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Redirect people who have signed in meanwhile (CSRF_FAILURE_VIEW); the form itself is not processed.

    A sign-in gives the browser a new token, so forms in other tabs have an old one. People who may have meant another
    account than the one signed in are asked on a page.
    """
    match = request.resolver_match
    if match is None or match.view_name not in SIGN_IN_PAGES:
        return error_pages.csrf_failure(request, reason)
    following = get_next_redirect_url(request)
    if not isinstance(request.user, Account):
        again = f"{request.path}?{urlencode({'next': following})}" if following else request.path
        return error_pages.csrf_failure(request, reason, again=again)
    following = following or reverse("resume")
    typed = request.POST.get("login") or request.POST.get("email") or ""
    if address_to_find(typed) == request.user.email:
        return HttpResponseRedirect(following)
    return error_pages.csrf_failure(request, reason, following=following)
