"""Pages of account recovery: the one that shows and stops it, and the one that starts it at sign-in."""

import contextlib

from allauth.mfa.stages import AuthenticateStage
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from accounts import guesses
from accounts.allauth_internals import login_stage_required, stage_of
from accounts.authentication import account_of
from accounts.factors import own_recovery
from accounts.factors import recovery as recoveries
from accounts.factors.own_recovery import Way
from accounts.models import Account, AccountRecovery
from accounts.sessions import is_half_signed_in
from accounts.views.mailbox import SOME_MINUTES, CodeForm
from core.limits import Rate, RateLimited
from core.limits.middleware import limited_by_address


@limited_by_address
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def recovery(request: HttpRequest) -> HttpResponse:
    """/account/recovery/: shows a recovery that is under way; a POST stops it.

    For people who are signed in, and for people who have the code from a mail about it. A GET changes nothing.
    """
    code = (request.POST if request.method == "POST" else request.GET).get("code", "")
    if not code and not request.user.is_authenticated:
        return redirect_to_login(reverse("account_recovery"))
    found = _recovery(request, code)
    was_stopped = request.method == "POST" and found is not None and recoveries.stop(found, request, by_code=bool(code))
    if was_stopped and request.user.is_authenticated:
        messages.success(request, "The recovery was stopped. Nothing was removed from your account.")
        return HttpResponseRedirect(reverse("mfa_index"))
    context = {
        "recovery": None if was_stopped else found,
        "was_stopped": was_stopped,
        "code": code,
        "may_stop": found is not None and (bool(code) or recoveries.may_stop(found, request)),
    }
    return render(request, "accounts/recovery.html", context)


def _recovery(request: HttpRequest, code: str) -> AccountRecovery | None:
    return recoveries.recovery_by_code(code) if code else recoveries.open_recovery(account_of(request))


@limited_by_address
@login_stage_required(stage=AuthenticateStage.key, redirect_urlname="account_login")  # type: ignore[untyped-decorator]
@require_http_methods(["GET", "HEAD", "POST"])
def start_recovery(request: HttpRequest) -> HttpResponse:
    """/account/recovery/start/: starts a recovery at sign-in, after the password, with a code from the mailbox.

    It also shows the recovery that is under way, and says so if only an operator can start one.
    """
    account: Account = stage_of(request).login.user
    if not is_half_signed_in(request, account):
        return HttpResponseRedirect(reverse("account_login"))
    way = own_recovery.way_of(account)
    if way in (Way.WAIT, Way.OPERATOR):
        return _start_page(request, account, CodeForm(), way)
    if request.POST.get("action") == "send":
        return _send(request, account, way)
    form = CodeForm(request.POST or None)
    if request.method == "POST" and form.is_valid() and _start(request, account, form):
        return HttpResponseRedirect(reverse("account_recovery_start"))
    return _start_page(request, account, form, way)


def _start_page(
    request: HttpRequest, account: Account, form: CodeForm, way: Way, *, no_more: bool = False
) -> HttpResponse:
    context = {
        "recovery": recoveries.open_recovery(account) if way is Way.WAIT else None,
        "may_start": way in (Way.PASSWORD, Way.MAILBOX),
        "by_mail": way is Way.MAILBOX,
        "wait": way.wait,
        "email": account.email,
        "form": form,
        "sent": no_more or own_recovery.was_sent(request, account),
        "no_more": no_more,
    }
    return render(request, "accounts/start_recovery.html", context)


def _send(request: HttpRequest, account: Account, way: Way) -> HttpResponse:
    try:
        own_recovery.send_code(request, account)
    except RateLimited:
        return _start_page(request, account, CodeForm(), way, no_more=True)
    return HttpResponseRedirect(reverse("account_recovery_start"))


def _start(request: HttpRequest, account: Account, form: CodeForm) -> bool:
    """Start the recovery; return False and add an error to the form if the code is wrong. Raises RateLimited."""
    rate = Rate("recovery code, account", settings.GUESSES_PER_KNOWN_BROWSER, SOME_MINUTES)
    with guesses.Guess((rate, (account.pk,))) as guess:
        if not own_recovery.is_right(account, form.cleaned_data["code"]):
            guess.is_wrong()
            form.add_error("code", "This is not the code of the newest mail. Type it exactly as it is in the mail.")
            return False
    with contextlib.suppress(recoveries.RecoveryRefused):  # the next page says what is possible now
        own_recovery.start(request, account, form.cleaned_data["code"])
    return True
