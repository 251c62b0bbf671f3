"""Pages around second factors that django-allauth does not have: first recovery codes, recovery, the staff's own."""

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.contrib.auth.decorators import login_required
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme, urlencode
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from accounts.authentication import account_of
from accounts.factors import first_codes, staff, takeovers
from accounts.factors import recovery as recoveries
from accounts.models import AccountRecovery
from accounts.reauthentication import asks_for_factor
from devportal.lib import passkeys, split_hosts
from devportal.lib.ratelimit.forms import limited_by_address


@never_cache
@login_required
@require_safe
def first_recovery_codes(request: HttpRequest) -> HttpResponse:
    """/account/2fa/first-codes/: the recovery codes of a new account, in the session that made it, and where to go."""
    next_url = request.session.get(first_codes.SESSION_KEY)
    if not next_url:
        return HttpResponseRedirect(reverse("mfa_index"))
    codes = first_codes.codes_to_show(account_of(request))
    return render(request, "mfa/recovery_codes/first.html", {"codes": codes, "next_url": next_url})


@limited_by_address
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def recovery(request: HttpRequest) -> HttpResponse:
    """/account/recovery/: shows a recovery that is under way; a POST stops it.

    For people who are signed in, and for people who have the code of a mail about it. Opening the page changes nothing.
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
        "may_stop": found is not None and (bool(code) or takeovers.may_stop(found, request)),
    }
    return render(request, "accounts/recovery.html", context)


def _recovery(request: HttpRequest, code: str) -> AccountRecovery | None:
    return recoveries.recovery_by_code(code) if code else recoveries.open_recovery(account_of(request))


@never_cache
@login_required
@require_safe
def staff_second_factor(request: HttpRequest) -> HttpResponse:
    """/account/2fa/staff/: leads staff to their second factor, enrolling if need be, and back into the admin."""
    wanted = request.GET.get(REDIRECT_FIELD_NAME, "")
    if wanted and url_has_allowed_host_and_scheme(wanted, allowed_hosts=None):
        request.session[staff.WANTED] = wanted
    account = account_of(request)
    if not (account.is_staff and settings.ADMIN_SECOND_FACTOR):
        return HttpResponseRedirect(reverse("mfa_index"))
    if not staff.is_second_factor_missing(request):
        wanted = request.session.pop(staff.WANTED, reverse("admin:index"))
        return HttpResponseRedirect(split_hosts.link(wanted, request))
    if not asks_for_factor(request):
        return render(request, "mfa/staff.html")
    types = staff.types_that_count(request)
    if not types:
        return HttpResponseRedirect(reverse("account_sign_in_again"))
    by_key = staff.Type.WEBAUTHN in types and passkeys.work_on(request)
    way = "mfa_reauthenticate_webauthn" if by_key else "mfa_reauthenticate"
    back = {REDIRECT_FIELD_NAME: reverse("staff_second_factor")}
    return HttpResponseRedirect(f"{reverse(way)}?{urlencode(back)}")
