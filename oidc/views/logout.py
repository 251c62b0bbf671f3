"""RP-initiated logout: the endpoint, its confirmation page, and the page after signing out."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode, urlsplit

from django.contrib.auth import logout as end_session
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from oauth2_provider.http import OAuth2ResponseRedirect

from accounts.models import Account
from accounts.sessions.browser_accounts import other_accounts, sign_out_other
from core.http import request_id
from core.http.responses import docs_url
from core.http.split_hosts import on_admin_host
from core.limits.counters import Throttled
from oidc.clients.lookup import find_client
from oidc.domains.branding import client_context
from oidc.errors import Refusal
from oidc.protocol import limits
from oidc.sign_in_log import counts
from oidc.sign_out.requests import (
    LogoutRequest,
    find_way_back,
    only_client_with,
    parse_logout_request,
    prove_sign_out,
    with_state,
)
from oidc.signals import FailedSignIn, developers_view
from oidc.values.parameters import Parameters, UnreadableParameters, read_posted_query, read_query
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
    parameters = Parameters()
    try:
        parameters = read_query(request)
        asked = parse_logout_request(parameters)
    except UnreadableParameters as error:
        asked = LogoutRequest(None, problem=Refusal(error.reason, error.parameters))
    account = request.user if isinstance(request.user, Account) else None
    others = other_accounts(request) if asked.return_to else []
    if proven := prove_sign_out(asked, account, others):
        if proven.ends_present:
            end_session(request)
        elif proven.ending:
            sign_out_other(request, proven.ending)
        uri = with_state(proven.return_to, asked.state)
        back: HttpResponse = OAuth2ResponseRedirect(uri, proven.client.get_allowed_schemes())
        return back
    report_problem(request, asked)
    following = way_back_query(request, parameters, asked)
    if account is None:
        return HttpResponseRedirect(f"{reverse('signed_out')}{following}")
    context = {"client": client_context(asked.client) if asked.client else None, "account": account}
    context |= {"following": following} | explain_problem(request, asked)
    return render(request, "oidc/logout_confirm.html", context)


def way_back_query(request: HttpRequest, parameters: Parameters, asked: LogoutRequest) -> str:
    """Return the query with which the page after signing out finds the way back to the app, "" without one.

    The client is the one that `client_id` or the hint names, or the only one with this URL. For the latter all clients
    are searched, so these requests are counted like failed ones.
    """
    uri, client_id, client = parameters.get("post_logout_redirect_uri"), parameters.get("client_id"), asked.client
    if client_id and (client is None or client.client_id != client_id):
        client = find_client(client_id)
    elif uri and client is None:
        try:
            limits.count_failure(request)
        except Throttled:
            return ""
        client = only_client_with(uri)
    if client is None or not find_way_back(parameters, client):
        return ""
    return _signed_out_query(parameters.values | {"client_id": client.client_id})


def _signed_out_query(values: Mapping[str, str]) -> str:
    kept = {name: values[name] for name in ("client_id", "post_logout_redirect_uri", "state") if name in values}
    return f"?{urlencode(kept)}" if kept else ""


def report_problem(request: HttpRequest, asked: LogoutRequest) -> None:
    """Report a request with a problem to the sign-in log of the client that it names.

    Anyone can name a client, so the requests of an IP address are counted. Those beyond the limit are not logged, but
    still answered, because nobody may be kept from signing out.
    """
    if asked.problem is None or asked.client is None:
        return
    try:
        limits.count_failure(request)
    except Throttled:
        return
    counts.sign_out_refused(asked.client, asked.problem, asked.sent_uri)


def explain_problem(request: HttpRequest, asked: LogoutRequest) -> dict[str, Any]:
    """Return the context that explains a problem: the details for developers, and those for everyone else."""
    if asked.problem is None:
        return {}
    failure = FailedSignIn("sign-out", asked.client, redirect_uri=asked.sent_uri, text=asked.other_problem)
    return {
        "problem": True,
        "developer": developers_view(request, failure),
        "docs_url": docs_url("page-sign-out"),
        "error_code": asked.problem.error,
        "description": asked.problem.description,
        "request_id": request_id.current(),
    }


@never_cache
@require_POST
def confirm(request: HttpRequest) -> HttpResponse:
    """POST /connect/logout/confirm: the confirmation form. It never redirects to an app, as the request is unproven."""
    if request.POST.get("decision") != "sign-out":
        return HttpResponseRedirect(reverse("account_home"))
    end_session(request)
    return HttpResponseRedirect(signed_out_url(request))


def signed_out_url(request: HttpRequest) -> str:
    """Return the URL of the page after signing out, with the way back in the query of a sign-out form."""
    return f"{reverse('signed_out')}{_signed_out_query(_query_of(request).values)}"


def _query_of(request: HttpRequest) -> Parameters:
    try:
        return read_query(request)
    except UnreadableParameters:
        return Parameters()


@on_admin_host
@never_cache
@require_safe
def signed_out(request: HttpRequest) -> HttpResponse:
    """GET /connect/signed-out: the page after signing out, with a link to the app that asked for it."""
    context: dict[str, Any] = {"others": [], "way_back": ""}
    if not request.user.is_authenticated:
        parameters = _query_of(request)
        url = find_way_back(parameters, find_client(parameters.get("client_id")))
        context = {"others": other_accounts(request), "way_back": url, "app_host": urlsplit(url).netloc}
    return render(request, "oidc/signed_out.html", context)
