"""The end session endpoint, /connect/logout (OpenID Connect RP-Initiated Logout 1.0), and its pages."""

from urllib.parse import urlencode

from django.contrib.auth import logout as end_session
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from oauth2_provider.http import OAuth2ResponseRedirect

from accounts.browser_accounts import other_accounts, sign_out_other
from accounts.models import Account
from oidc.clients.branding import client_context
from oidc.logout import parse_logout_request, prove_sign_out
from oidc.parameters import Parameters, UnreadableParameters, read_posted_query, read_query
from oidc.views.pages import see_other


@never_cache
@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])
def logout(request: HttpRequest) -> HttpResponse:
    """End a session of this browser. Show a confirmation page unless the hint proves the request. Tokens stay valid."""
    if request.method == "POST":
        # A cross-site POST comes without cookies (SameSite=Lax); the browser sends them with the redirected GET.
        try:
            return see_other(f"{reverse('logout')}?{read_posted_query(request)}")
        except UnreadableParameters:
            return see_other(reverse("logout"))
    try:
        parameters = read_query(request)
    except UnreadableParameters:
        parameters = Parameters()
    asked = parse_logout_request(parameters)
    account = request.user if isinstance(request.user, Account) else None
    others = other_accounts(request) if asked.return_to else []
    if proven := prove_sign_out(asked, account, others):
        if proven.ends_present:
            end_session(request)
        elif proven.ending:
            sign_out_other(request, proven.ending)
        separator = "&" if "?" in proven.return_to else "?"
        state = f"{separator}{urlencode({'state': asked.state})}" if asked.state else ""
        back: HttpResponse = OAuth2ResponseRedirect(f"{proven.return_to}{state}", proven.client.get_allowed_schemes())
        return back
    if account is None:
        return HttpResponseRedirect(reverse("signed_out"))
    context = {"client": client_context(asked.client) if asked.client else None, "account": account}
    return render(request, "oidc/logout_confirm.html", context)


@never_cache
@require_POST
def confirm(request: HttpRequest) -> HttpResponse:
    """POST /connect/logout/confirm: the confirmation form. It never redirects to an app, as the request is unproven."""
    if request.POST.get("decision") != "sign-out":
        return HttpResponseRedirect(reverse("account_home"))
    end_session(request)
    return HttpResponseRedirect(reverse("signed_out"))


@never_cache
@require_safe
def signed_out(request: HttpRequest) -> HttpResponse:
    """GET /connect/signed-out: the page after signing out."""
    others = [] if request.user.is_authenticated else other_accounts(request)
    return render(request, "oidc/signed_out.html", {"others": others})
