"""Pages of passkeys, authenticator apps and recovery codes, where they differ from django-allauth's."""

import functools
from collections.abc import Callable
from typing import Any

from allauth.account import views as account_views
from allauth.account.adapter import get_adapter
from allauth.mfa.base import views as base_views
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes import views as recovery_code_views
from allauth.mfa.totp import views as totp_views
from allauth.mfa.totp.views import DeactivateTOTPView
from allauth.mfa.webauthn import views as webauthn_views
from allauth.mfa.webauthn.stages import PasskeySignupStage
from allauth.mfa.webauthn.views import RemoveWebAuthnView
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.utils.http import url_has_allowed_host_and_scheme, urlencode
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from accounts.activity.recording import record
from accounts.allauth_internals import (
    is_reauthentication_required,
    login_stage_required,
    record_authentication,
    stage_of,
)
from accounts.entrance import staff
from accounts.entrance.reauthentication import asks_for_factor, second_factors_of, url
from accounts.entrance.staff import needs_verified_keys
from accounts.factors import browser_passkeys, first_codes, removal
from accounts.factors.added_factors import record_added_factors, record_replaced_codes
from accounts.factors.ceremonies import Purpose, keep_challenge
from accounts.factors.first_password import FirstPasswordForm, lock_for_reset, set_first_password
from accounts.factors.forms import ConditionalKeyForm, begin_authentication, begin_conditional_creation
from accounts.models import Account
from accounts.recovery.own_recovery import Way
from accounts.sessions import keys
from accounts.sessions.authentication import COMPLETES, account_of, note_first_factor
from accounts.sessions.browser_sessions import end_other_sessions, lock_unchanged
from core.http import hosts, split_hosts
from core.limits.middleware import limited_by_address, limited_by_person, limited_challenges


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def first_recovery_codes(request: HttpRequest) -> HttpResponse:
    """/account/2fa/first-codes/: the recovery codes of a new account and the name of its passkey.

    Only in the session that created the account. A POST stores the name and continues to where the sign-up leads.
    """
    next_url = request.session.get(first_codes.SESSION_KEY)
    if not next_url:
        return HttpResponseRedirect(reverse("mfa_index"))
    if request.method == "POST":
        first_codes.name_passkey(request, request.POST.get("name", ""))
        return HttpResponseRedirect(next_url)
    context = {
        "codes": first_codes.codes_to_show(account_of(request)),
        "name": first_codes.name_of_passkey(request),
        "longest": keys.NAME_LENGTH,
        "wait": Way.MAILBOX.wait,
    }
    return render(request, "mfa/recovery_codes/first.html", context)


@never_cache
@login_required
@require_safe
def staff_second_factor(request: HttpRequest) -> HttpResponse:
    """/account/2fa/staff/: leads staff to their second factor, or to setting one up, and back to the admin."""
    wanted = request.GET.get(REDIRECT_FIELD_NAME, "")
    # Only a path: the name of a host may be written in front of it.
    if wanted.startswith("/") and url_has_allowed_host_and_scheme(wanted, allowed_hosts=None):
        request.session[staff.WANTED] = wanted
    account = account_of(request)
    if not (account.is_staff and settings.ADMIN_SECOND_FACTOR):
        return HttpResponseRedirect(reverse("mfa_index"))
    if not staff.is_second_factor_missing(request):
        wanted = request.session.pop(staff.WANTED, reverse("admin:index"))
        return HttpResponseRedirect(split_hosts.link(wanted, request))
    if not asks_for_factor(request):
        return render(request, "accounts/staff_factors.html")
    types = staff.types_that_count(request)
    if not types:
        return HttpResponseRedirect(reverse("account_sign_in_again"))
    by_key = staff.Type.WEBAUTHN in types and hosts.work_on(request)
    way = "mfa_reauthenticate_webauthn" if by_key else "mfa_reauthenticate"
    back = {REDIRECT_FIELD_NAME: reverse("staff_second_factor")}
    return HttpResponseRedirect(f"{reverse(way)}?{urlencode(back)}")


class RemovalMixin:
    """Removes a factor while the account is locked, so that two removals at once leave a way to sign in."""

    http_method_names = ("get", "head", "post")  # Django's DeleteView would delete the row at a DELETE request
    request: HttpRequest

    def factor(self) -> Authenticator:
        """Return the factor that the page is about."""
        raise NotImplementedError

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context_data(**kwargs)  # type: ignore[misc]
        account, factor = account_of(self.request), self.factor()
        return context | {
            "is_last_way_in": removal.is_last_way_in(account, factor),
            "ends_recovery_codes": removal.ends_recovery_codes(account, factor),
        }

    def form_valid(self, form: Any) -> HttpResponse:
        with transaction.atomic():
            account = lock_unchanged(account_of(self.request))
            if account is None:  # its sessions ended since this request began
                return HttpResponseRedirect(reverse("account_login"))
            factor = self.factor()
            if not Authenticator.objects.filter(pk=factor.pk).exists():  # another click has removed it
                return HttpResponseRedirect(reverse("mfa_index"))
            if removal.is_last_way_in(account, factor):
                return self.render_to_response(self.get_context_data(form=form), status=409)  # type: ignore[attr-defined,no-any-return]
            # For the receiver that records the removal: one email covers both.
            self.request.ends_recovery_codes = removal.ends_recovery_codes(account, factor)  # type: ignore[attr-defined]
            response: HttpResponse = super().form_valid(form)  # type: ignore[misc]
        return response


class RemoveKeyView(RemovalMixin, RemoveWebAuthnView):  # type: ignore[misc]  # allauth is untyped
    """/account/2fa/webauthn/keys/<id>/remove/."""

    def factor(self) -> Authenticator:
        factor: Authenticator = self.get_object()
        return factor


class RemoveAppView(RemovalMixin, DeactivateTOTPView):  # type: ignore[misc]
    """/account/2fa/totp/deactivate/."""

    def factor(self) -> Authenticator:
        factor: Authenticator = self.get_form_kwargs()["authenticator"]
        return factor


# Each page that asks for a key stores its challenge for its own purpose (accounts/factors/ceremonies.py). Setting up
# the first factor ends all other sessions. People with a second factor confirm with it
# (accounts/entrance/reauthentication.py).

OTHERS_SIGNED_OUT = "All other browsers that were signed in to your account have been signed out."


# --- Setting up ---


class EnrolmentMixin:
    """Adds a factor while the account is locked, and ends all other sessions if it is the first."""

    request: HttpRequest

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context_data(**kwargs)  # type: ignore[misc]
        return context | {"is_first_factor": not asks_for_factor(self.request)}

    def is_added(self, account: Account, form: Any) -> bool:
        """Return whether another click has added the factor; the account is locked."""
        return keys.is_added(account, form.cleaned_data["credential"])

    def form_valid(self, form: Any) -> HttpResponse:
        with transaction.atomic():
            account = lock_unchanged(account_of(self.request))
            if account is None:  # its sessions ended since this request began
                return HttpResponseRedirect(reverse("account_login"))
            if self.is_added(account, form):
                return HttpResponseRedirect(reverse("mfa_index"))
            before = dict(Authenticator.objects.filter(user=account).values_list("pk", "type"))
            is_first = set(before.values()) <= {Authenticator.Type.RECOVERY_CODES}
            if is_first:
                end_other_sessions(self.request)
                record(account, "sessions_ended", self.request)
            response: HttpResponse = super().form_valid(form)  # type: ignore[misc]
            added, *_ = record_added_factors(self.request, account, before)  # recovery codes follow a first factor
            if is_first:
                note_first_factor(self.request, account, added)
        if is_first:
            messages.info(self.request, OTHERS_SIGNED_OUT)
        return response


class ValidatedFormMixin:
    """Shows a rejected form after its validation.

    allauth's views of new keys create another form, whose validation would use up the challenge of the page.
    """

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context_data(**kwargs)  # type: ignore[misc]
        return context | kwargs


@limited_by_person
class AddKeyView(EnrolmentMixin, ValidatedFormMixin, webauthn_views.AddWebAuthnView):  # type: ignore[misc]  # allauth is untyped
    """/account/2fa/webauthn/add/."""

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context_data(**kwargs)
        keep_challenge(Purpose.ENROLMENT, account_of(self.request))
        return context

    def form_valid(self, form: Any) -> HttpResponse:
        keys.choose(self.request, signs_in_alone=form.cleaned_data["passwordless"])
        return super().form_valid(form)


@limited_by_person
@method_decorator([never_cache, login_required], name="dispatch")
class ConditionalKeyView(EnrolmentMixin, webauthn_views.AddWebAuthnView):  # type: ignore[misc]
    """/account/2fa/webauthn/conditional/: a passkey that the browser creates by itself, after a password.

    For the script of the account's home. 204: no passkey is to be created, or it was added.
    """

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not browser_passkeys.may_create(request):
            return HttpResponse(status=204)
        response: HttpResponseBase = super().dispatch(request, *args, **kwargs)
        return response

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        return JsonResponse(begin_conditional_creation(account_of(request)))

    def get_form_class(self) -> type[ConditionalKeyForm]:
        return ConditionalKeyForm

    def form_valid(self, form: Any) -> HttpResponse:
        keys.choose(self.request, signs_in_alone=True)
        super().form_valid(form)
        return HttpResponse(status=204)

    def form_invalid(self, form: Any) -> HttpResponse:
        return JsonResponse({"errors": form.errors.get_json_data()}, status=400)


class RenameKeyView(webauthn_views.EditWebAuthnView):  # type: ignore[misc]
    """/account/2fa/webauthn/keys/<id>/edit/: saving a key that is being removed would add it again, so it is locked."""

    def form_valid(self, form: Any) -> HttpResponse:
        with transaction.atomic():
            if lock_unchanged(account_of(self.request)) is None:  # its sessions ended since this request began
                return HttpResponseRedirect(reverse("account_login"))
            try:
                form.instance.refresh_from_db(from_queryset=Authenticator.objects.select_for_update())
            except Authenticator.DoesNotExist:
                return HttpResponseRedirect(reverse("mfa_list_webauthn"))
            response: HttpResponse = super().form_valid(form)
        return response


@limited_by_person
class ActivateAppView(EnrolmentMixin, totp_views.ActivateTOTPView):  # type: ignore[misc]
    """/account/2fa/totp/activate/."""

    def is_added(self, account: Account, form: Any) -> bool:
        return bool(Authenticator.objects.filter(user=account, type=Authenticator.Type.TOTP).exists())


@limited_by_person
class MakeCodesView(recovery_code_views.GenerateRecoveryCodesView):  # type: ignore[misc]
    """/account/2fa/recovery-codes/generate/: new recovery codes, which replace the ones before."""

    def form_valid(self, form: Any) -> HttpResponse:
        with transaction.atomic():
            account = lock_unchanged(account_of(self.request))
            if account is None:  # its sessions ended since this request began
                return HttpResponseRedirect(reverse("account_login"))
            response: HttpResponse = super().form_valid(form)
            record_replaced_codes(self.request, account)
        return response


@limited_by_address
class SignUpKeyView(ValidatedFormMixin, webauthn_views.SignupWebAuthnView):  # type: ignore[misc]
    """/account/2fa/webauthn/signup/: the passkey of an account that is being created."""

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context_data(**kwargs)
        keep_challenge(Purpose.SIGN_UP, stage_of(self.request).login.user)
        return context

    def form_valid(self, form: Any) -> HttpResponse:
        keys.choose(self.request, signs_in_alone=True)
        with transaction.atomic():
            account = stage_of(self.request).lock_account()
            response: HttpResponse
            if account is None:
                response = stage_of(self.request).abort()
            elif keys.is_added(account, form.cleaned_data["credential"]):
                response = self._exit_after_another_click(account)
            else:
                response = super().form_valid(form)
        return response

    def _exit_after_another_click(self, account: Account) -> HttpResponse:
        """Sign in, and count the passkey of the other click: the browser may keep either of the two sessions."""
        factors = list(second_factors_of(account))
        if len(factors) == 1:
            note_first_factor(self.request, account, factors[0])
        response: HttpResponse = stage_of(self.request).exit()
        return response


@limited_by_address
@login_stage_required(stage=PasskeySignupStage.key, redirect_urlname="account_signup")  # type: ignore[untyped-decorator]
@require_http_methods(["GET", "HEAD", "POST"])
def sign_up_password(request: HttpRequest) -> HttpResponse:
    """/account/signup/password/: a password instead of the passkey that could not be created."""
    stage: Any = stage_of(request)
    account = stage.login.user
    form = FirstPasswordForm(account, request.POST or None)
    if request.method == "POST" and form.is_valid():
        is_set = set_first_password(request, stage, form.cleaned_data["password1"])
        response: HttpResponse = stage.exit() if is_set else stage.abort()
        return response
    return TemplateResponse(request, "accounts/signup_password.html", {"form": form, "email": account.email})


# --- Signing in ---


@limited_challenges
class LoginKeyView(webauthn_views.LoginWebAuthnView):  # type: ignore[misc]
    """/account/2fa/webauthn/login/: a passkey that signs in without a password."""

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        response: HttpResponse = super().get(request, *args, **kwargs)
        if get_adapter().is_ajax(request):  # otherwise no challenge was created
            keep_challenge(Purpose.SIGN_IN)
        return response

    def form_invalid(self, form: Any) -> HttpResponse:
        if form.unknown_id is not None:
            browser_passkeys.note_unknown(self.request, form.unknown_id)
        response: HttpResponse = super().form_invalid(form)
        return response


class SecondStepView(base_views.AuthenticateView):  # type: ignore[misc]
    """/account/2fa/authenticate/: two-step verification at sign-in."""

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context_data(**kwargs)
        keep_challenge(Purpose.SECOND_FACTOR, self.stage.login.user)
        return context


# --- Reauthentication ---


class ReauthenticateKeyView(webauthn_views.ReauthenticateWebAuthnView):  # type: ignore[misc]
    """/account/2fa/webauthn/reauthenticate/."""

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context_data(**kwargs)
        account = account_of(self.request)
        options = begin_authentication(account, Purpose.REAUTHENTICATION, verified=needs_verified_keys(account))
        return context | {"js_data": {"request_options": options}}

    def form_invalid(self, form: Any) -> HttpResponse:
        for error in form.errors.get("credential", []):
            messages.error(self.request, error)
        return HttpResponseRedirect(self.passthrough_next_url(self.request.path))


class ReauthenticatePasswordView(account_views.ReauthenticateView):  # type: ignore[misc]
    """/account/reauthenticate/: enough for accounts without a second factor; others continue with that.

    The password is still a separate step for apps that require a new sign-in with two factors.
    """

    def _check_reauthentication_method_available(self, request: HttpRequest) -> HttpResponse | None:
        if account_of(request).has_usable_password():
            return None
        response: HttpResponse | None = super()._check_reauthentication_method_available(request)
        return response

    def form_valid(self, form: Any) -> HttpResponse:
        account = account_of(self.request)
        if not asks_for_factor(self.request):
            response: HttpResponse = super().form_valid(form)
            return response
        needs_factor = is_reauthentication_required(self.request, app="")
        # Without allauth's mark `reauthenticated`: this is one step, and not enough by itself.
        marks = {} if needs_factor else {COMPLETES: True}
        record_authentication(self.request, account, method="password", **marks)
        if needs_factor:
            [method, *_] = get_adapter().get_reauthentication_methods(account)
            return HttpResponseRedirect(self.passthrough_next_url(method["url"]))
        return super(account_views.ReauthenticateView, self).form_valid(form)  # type: ignore[no-any-return]


@never_cache
@login_required
@require_safe
def sign_in_again(request: HttpRequest) -> HttpResponse:
    """GET /account/login/again/: no factor of the account counts in this session, so a new sign-in is needed."""
    return render(request, "accounts/sign_in_again.html")


# --- Passwords ---


def _once_confirmed(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """Require the second factor first, for people who have one, and a code from an email for those without a password.

    django-allauth would store the form, and so the passwords in it, in the session.
    """

    @functools.wraps(view)
    def confirmed(request: HttpRequest) -> HttpResponseBase:
        has_no_password = isinstance(request.user, Account) and not request.user.has_usable_password()
        if (has_no_password or asks_for_factor(request)) and is_reauthentication_required(request, app=""):
            return HttpResponseRedirect(url(request, request.path))
        return view(request)

    return confirmed


change_password = limited_by_person(_once_confirmed(account_views.password_change))
set_password = limited_by_person(_once_confirmed(account_views.password_set))


@limited_by_address
class ConfirmResetView(account_views.ConfirmPasswordResetCodeView):  # type: ignore[misc]  # allauth is untyped
    """/account/password/reset/confirm/: the code from the email, which also verifies the email address."""

    def form_valid(self, form: Any) -> HttpResponse:
        with transaction.atomic():
            if lock_for_reset(self.request, self._process.user.pk, self._process.state["email"]):
                response: HttpResponse = super().form_valid(form)
                return response
        self._process.abort()
        return HttpResponseRedirect(reverse("account_login"))
