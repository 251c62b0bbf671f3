"""Pages of account recovery: the one that shows and stops it, and the one that starts it at sign-in."""

import contextlib
from typing import Any

from allauth.mfa.stages import AuthenticateStage
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse, reverse_lazy
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from accounts.allauth_internals import login_stage_required, stage_of
from accounts.entrance import guesses
from accounts.mail.codes import WRONG_CODE, MailboxCode
from accounts.models import Account, AccountRecovery
from accounts.recovery import own_recovery
from accounts.recovery import waiting as recoveries
from accounts.recovery.own_recovery import Way
from accounts.sessions.authentication import account_of
from accounts.sessions.browser_sessions import is_half_signed_in
from accounts.views.mailbox import SOME_MINUTES, CodePage
from core.limits import Rate
from core.limits.middleware import limited_by_address


@limited_by_address
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def recovery(request: HttpRequest) -> HttpResponse:
    """/account/recovery/: shows a recovery that is under way; a POST stops it.

    For people who are signed in, and for people who have the code from an email about it. A GET changes nothing.
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
@method_decorator(login_stage_required(stage=AuthenticateStage.key, redirect_urlname="account_login"), name="dispatch")
class StartRecoveryView(CodePage):
    """/account/recovery/start/: starts a recovery at sign-in, after the password, with a code from the mailbox.

    It also shows the recovery that is under way, and says so if only an operator can start one.
    """

    template_name = "accounts/start_recovery.html"
    success_url = reverse_lazy("account_recovery_start")

    def early_response(self) -> HttpResponse | None:
        self.account: Account = stage_of(self.request).login.user
        if not is_half_signed_in(self.request, self.account):
            return HttpResponseRedirect(reverse("account_login"))
        self.way = own_recovery.way_of(self.account)
        if self.way in (Way.WAIT, Way.OPERATOR):
            return self.render_to_response(self.get_context_data(form=self.form_class()))
        return None

    def mailbox_code(self) -> MailboxCode:
        return own_recovery.code_of(self.account)

    def limits(self) -> tuple[guesses.Limit, ...]:
        rate = Rate("recovery code, account", settings.GUESSES_PER_KNOWN_BROWSER, SOME_MINUTES)
        return ((rate, (self.account.pk,)),)

    def use_code(self, form: Any) -> None:
        if not self.mailbox_code().is_right(form.cleaned_data["code"]):
            raise ValidationError(WRONG_CODE)
        with contextlib.suppress(recoveries.RecoveryRefused):  # the next page says what is possible now
            own_recovery.start(self.request, self.account, form.cleaned_data["code"])

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context = {
            "recovery": recoveries.open_recovery(self.account) if self.way is Way.WAIT else None,
            "may_start": self.way in (Way.PASSWORD, Way.MAILBOX),
            "by_mail": self.way is Way.MAILBOX,
            "wait": self.way.wait,
            "email": self.account.email,
        }
        return super().get_context_data(**context, **kwargs)
