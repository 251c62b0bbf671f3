"""The page that asks for a stronger sign-in (RFC 9470 §4): two-step verification or a passkey."""

from typing import Any

from allauth.mfa.models import Authenticator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import urlencode

from accounts.factors.ceremonies import Purpose
from accounts.factors.forms import StepUpKeyForm, begin_authentication
from accounts.sessions.authentication import PASSWORD, Level, Means, means_among
from core.http import hosts
from oidc.authorization import interactions
from oidc.authorization.acr import least_level
from oidc.authorization.interactions import Interaction
from oidc.authorization.outcomes import PromptStepUp
from oidc.authorization.requests import AuthorizationRequest
from oidc.domains.branding import client_context


def step_up_page(
    request: HttpRequest, auth_request: AuthorizationRequest, asked: PromptStepUp, interaction: Interaction
) -> HttpResponse:
    """Return the page: which app asks, why, and what the person can do. Each way returns to the pending request."""
    account = auth_request.account
    assert account is not None
    factors = list(Authenticator.objects.filter(user=account))
    means = means_among(account, filter(auth_request.authentication.counts, factors))
    context: dict[str, Any] = {
        "choose_url": interaction.choose_url,
        "client": client_context(asked.client, auth_request.redirect_uri),
        "account": account,
        "reference": interactions.sign_reference(request, interaction),
        "essential": asked.essential,
        "wants_passkey": asked.level == Level.PHISHING_RESISTANT,
        "is_least": asked.essential and least_level(asked.client) >= asked.level,
        "has_key": means.key,
        # The person has what is needed, but added it after this session's sign-in.
        "sign_in_again": not means.reach(asked.level) and means_among(account, factors).reach(asked.level),
        "request_key": interaction.handle,
        "was_switched": interaction.was_switched,
    } | _ways(auth_request, asked, means, interaction)
    if means.key and hosts.work_on(request):
        # A passkey alone has to verify the person to count as two factors. After a password, possession is enough.
        verified = context["wants_passkey"] or not auth_request.counted_authentication.has_password
        context["form"] = StepUpKeyForm(user=account)
        context["js_data"] = {"request_options": begin_authentication(account, Purpose.STEP_UP, verified=verified)}
    return render(request, "oidc/step_up.html", context)


def _ways(
    auth_request: AuthorizationRequest, asked: PromptStepUp, means: Means, interaction: Interaction
) -> dict[str, Any]:
    """Return the ways without a passkey: the next step of password and code, or setting up an authenticator app."""
    if asked.level != Level.TWO_FACTORS:
        return {"next_step": "", "next_url": "", "sets_up_app": False}
    step = means.next_of_two(auth_request.counted_authentication)
    page = reverse("account_reauthenticate" if step == PASSWORD else "mfa_reauthenticate")
    return {
        "next_step": step,
        "next_url": f"{page}?{urlencode({'next': interaction.resume_url})}" if step else "",
        "sets_up_app": means.password and not means.code,
    }
