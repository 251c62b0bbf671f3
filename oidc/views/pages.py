"""Pages and responses of the authorization endpoint: errors, consent, redirects and form_post with `iss` (RFC 9207)."""

from collections.abc import Collection, Iterable
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from oauth2_provider.http import OAuth2ResponseRedirect

from accounts.models import Account
from core.http import request_id
from core.http.headers import FORM_TO_APP_POLICY
from core.http.responses import docs_url
from oidc.apis.registry import OPENID
from oidc.apis.scopes import describe_scopes
from oidc.authorization import interactions
from oidc.authorization.interactions import Interaction
from oidc.authorization.outcomes import PromptConsent
from oidc.authorization.requests import AuthorizationRequest
from oidc.clients.lookup import find_client
from oidc.domains.branding import client_context
from oidc.errors import AuthorizationError
from oidc.models import Client
from oidc.signals import FailedSignIn, developers_view
from oidc.values.redirect_uris import origin_of

# Characters of the URL of a page to which people may return, which is encoded in the URL of the sign-in page.
_LONGEST_PAGE = 2000


def see_other(url: str) -> HttpResponse:
    """Return a 303 to the same endpoint as a GET, so that a cross-site POST comes back with cookies."""
    response = HttpResponseRedirect(url)
    response.status_code = 303
    return response


def authorization_error_response(
    request: HttpRequest, auth_request: AuthorizationRequest, error: AuthorizationError
) -> HttpResponse:
    """Return the authorization error response (RFC 6749 §4.1.2.1). The redirect URI must be validated already."""
    return authorization_response(request, auth_request, {"error": error.error, "error_description": error.description})


def authorization_response(
    request: HttpRequest, auth_request: AuthorizationRequest, parameters: dict[str, str]
) -> HttpResponse:
    """Send `parameters` to the app's redirect URL, in the requested response mode.

    After a form of ours, a page leads to the app, because Chromium would apply the `form-action` of the form's page to
    all redirects that follow, also to the app's own ones. A request that was stored has led to such a page, and one
    that comes from a page of ours may follow its form.
    """
    fields = parameters | ({"state": auth_request.state} if auth_request.state else {}) | {"iss": settings.ISSUER}
    if auth_request.response_mode == "form_post":
        context = {"action": auth_request.redirect_uri, "fields": list(fields.items())}
        response = render(request, "oidc/back_to_app.html", context)
        response["Content-Security-Policy"] = FORM_TO_APP_POLICY
    else:
        separator = "&" if "?" in auth_request.redirect_uri else "?"
        url = f"{auth_request.redirect_uri}{separator}{urlencode(fields)}"
        response = redirect = OAuth2ResponseRedirect(url, auth_request.client.get_allowed_schemes())
        is_from_us = request.headers.get("Sec-Fetch-Site") == "same-origin"
        if request.method == "POST" or is_from_us or auth_request.interaction.is_kept:
            response = render(request, "oidc/back_to_app.html", {"url": redirect.url})
    response["Cache-Control"] = "no-store"
    response["Referrer-Policy"] = "no-referrer"
    return response


def error_page(request: HttpRequest, problem: AuthorizationError) -> HttpResponse:
    """Return the error page for a request that must not be redirected to the app."""
    context = {
        "client": client_context(problem.client, problem.redirect_uri) if problem.client else None,
        "error_code": problem.error,
        "description": problem.description,
        "request_id": request_id.current(),
    } | _for_developers(request, problem.page, problem.client)
    return render(request, "oidc/error.html", context, status=400)


def _for_developers(request: HttpRequest, kind: str, client: Client | None, redirect_uri: str = "") -> dict[str, Any]:
    """Return the context of oidc/partials/for_developers.html."""
    sent_id, sent_uri = request.GET.get("client_id", ""), request.GET.get("redirect_uri", "")
    view = developers_view(request, FailedSignIn(kind, client, sent_id, redirect_uri or sent_uri))
    return {"developer": view, "docs_url": docs_url(f"page-{kind}"), "sign_in_url": _sign_in_url(request)}


def _sign_in_url(request: HttpRequest) -> str:
    """Return the URL where a signed-out developer signs in and returns to this page, "" if that is not possible.

    The request is sent again from the beginning, with its checks. It is not stored, so others stay pending.
    """
    page = request.get_full_path()
    if request.user.is_authenticated or request.method == "POST" or len(page) > _LONGEST_PAGE:
        return ""
    return f"{reverse('account_login')}?{urlencode({REDIRECT_FIELD_NAME: page})}"


def unavailable_page(request: HttpRequest, client: Client, redirect_uri: str) -> HttpResponse:
    """Return the page about an unavailable app (docs/sign-in.md#apps-that-are-turned-off-or-suspended)."""
    context = {"client": client_context(client, redirect_uri), "request_id": request_id.current()}
    context |= _for_developers(request, "unavailable", client, redirect_uri)
    return render(request, "oidc/unavailable.html", context, status=403)


def ended_request_page(request: HttpRequest, handle: str) -> HttpResponse:
    """Return the page about a request that this session no longer holds: it was answered, or it took too long.

    The page links only to the home page of a reviewed app (oidc/partials/way_back.html). Without a handle that this
    service created, it names no app.
    """
    client = find_client(interactions.client_id_of(handle))
    answered = interactions.find_interaction(request.session, handle, answered_too=True) is not None
    context = {"client": client_context(client) if client else None, "answered": answered}
    return render(request, "oidc/ended_request.html", context, status=410)


def user_cap_page(request: HttpRequest, auth_request: AuthorizationRequest, interaction: Interaction) -> HttpResponse:
    """Return the page about an app that has reached its user limit. Its button returns access_denied to the app."""
    client, redirect_uri = auth_request.client, auth_request.redirect_uri
    context = {
        "client": client_context(client, redirect_uri),
        "reference": interactions.sign_reference(request, interaction, auth_request.shown),
        "request_id": request_id.current(),
    } | _for_developers(request, "full", client, redirect_uri)
    return render(request, "oidc/app_full.html", context, status=403)


def consent_page(
    request: HttpRequest, auth_request: AuthorizationRequest, asked: PromptConsent, interaction: Interaction
) -> HttpResponse:
    """Return the consent page: the scopes with the person's values, new ones marked, optional ones as checkboxes."""
    assert auth_request.account is not None
    known_before = asked.missing != frozenset(asked.scopes)
    context = consent_context(
        client_context(asked.client, auth_request.redirect_uri),
        auth_request.account,
        asked.scopes,
        auth_request.redirect_uri,
        new=asked.missing - asked.left_out if known_before else (),
        optional=asked.optional,
        # Scopes that were granted before stay ticked. The person has to choose any other optional scope.
        ticked=asked.optional - asked.missing,
    )
    context["reference"] = interactions.sign_reference(request, interaction, auth_request.shown)
    context |= {"choose_url": interaction.choose_url, "was_switched": interaction.was_switched}
    return render(request, "oidc/consent.html", context)


def consent_context(
    app: dict[str, Any],
    account: Account,
    asked: Iterable[str],
    redirect_uri: str | None,
    *,
    new: Collection[str] = (),
    optional: Collection[str] = (),
    ticked: Collection[str] = (),
    plan: str | None = None,
) -> dict[str, Any]:
    """Return the context of oidc/partials/consent_question.html. `plan` is as in `describe_scopes`."""
    shown = [
        access
        | {
            "is_new": access["scope"] in new,
            "is_optional": access["scope"] in optional,
            "is_ticked": access["scope"] in ticked,
        }
        for access in describe_scopes(account, asked, optional=optional, plan=plan)
    ]
    return {
        "client": app,
        "account": account,
        "scope_descriptions": [access for access in shown if not access["is_optional"]],
        "optional_scope_descriptions": [access for access in shown if access["is_optional"]],
        "only_sign_in": [access["scope"] for access in shown] == [OPENID],
        "return_host": origin_of(redirect_uri).partition("://")[2],
    }
