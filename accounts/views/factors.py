"""Pages around second factors that django-allauth does not have: first recovery codes."""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from accounts.authentication import account_of
from accounts.factors import first_codes


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
