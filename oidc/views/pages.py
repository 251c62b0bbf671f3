"""Pages of the authorization endpoint: errors, unavailable app, full app, consent."""

from collections.abc import Collection, Iterable
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from accounts.models import Account
from devportal.lib import request_id
from oidc import scopes
from oidc.authorization import interactions
from oidc.authorization.interactions import Interaction
from oidc.authorization.outcomes import PromptConsent
from oidc.authorization.requests import AuthorizationRequest
from oidc.clients.presentation import client_context
from oidc.clients.redirect_uris import origin_of
from oidc.errors import AuthorizationError
from oidc.models import Client


def error_page(request: HttpRequest, problem: AuthorizationError, status: int = 400) -> HttpResponse:
    """The error page for a request that must not be redirected: what happened, who can fix it, the request id."""
    context = {
        "title": "This sign-in cannot go on",
        "message": problem.public_description,
        "who_can_mend": "The developer of the app that sent you here can mend this.",
        "error_code": problem.code,
        "request_id": request_id.current(),
    }
    return render(request, "oidc/error.html", context, status=status)


def unavailable_page(request: HttpRequest, client: Client) -> HttpResponse:
    """The app is unavailable (docs/sign-in.md#apps-that-are-turned-off-or-suspended)."""
    context = {"client": client_context(client), "request_id": request_id.current()}
    return render(request, "oidc/unavailable.html", context, status=403)


def user_cap_page(request: HttpRequest, client: Client, interaction: Interaction) -> HttpResponse:
    """An unverified app has all the people it may have; the way back gives the app access_denied."""
    request.form_action_origins = [origin_of(interaction.parameters.get("redirect_uri"))]  # type: ignore[attr-defined]
    context = {"client": client_context(client), "reference": interactions.sign_reference(request, interaction)}
    context["request_id"] = request_id.current()
    return render(request, "oidc/app_full.html", context, status=403)


def consent_page(
    request: HttpRequest, auth_request: AuthorizationRequest, asked: PromptConsent, interaction: Interaction
) -> HttpResponse:
    """What the app would get, with the actual values; new ones marked."""
    assert auth_request.account is not None
    origin = origin_of(auth_request.redirect_uri)
    request.form_action_origins = [origin]  # type: ignore[attr-defined]
    known_before = asked.missing != frozenset(asked.scopes)
    new = asked.missing if known_before else ()
    context = consent_context(
        client_context(asked.client), auth_request.account, asked.scopes, new, auth_request.redirect_uri
    )
    context["reference"] = interactions.sign_reference(request, interaction)
    context["choose_url"] = interaction.choose_url
    return render(request, "oidc/consent.html", context)


def consent_context(
    app: dict[str, Any], account: Account, asked: Iterable[str], new: Collection[str], redirect_uri: str | None
) -> dict[str, Any]:
    """Return the context of oidc/partials/consent_question.html."""
    return {
        "client": app,
        "account": account,
        "accesses": [
            {
                "scope": name,
                "title": scopes.SCOPES[name].title,
                "value": scope_value(name, account),
                "is_new": name in new,
            }
            for name in asked
        ],
        "return_host": origin_of(redirect_uri).partition("://")[2],
    }


def scope_value(scope: str, account: Account) -> str:
    """Return the person's values that the app would get with `scope`, as the consent page shows them."""
    values: dict[str, Any] = {
        "email": account.email,
        "profile": account.full_name,
        "account.read": ", ".join(filter(None, [account.email, account.full_name])),
    }
    return str(values.get(scope, ""))
