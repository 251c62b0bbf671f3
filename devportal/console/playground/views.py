"""The playground of a client: its pages and its redirect URI."""

import logging
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET

from accounts.models import Account
from api.errors import KNOWN_ERRORS
from core.http import request_id
from core.limits.middleware import limited_by_person
from devportal.console import idempotency
from devportal.console.access import Membership, get_client
from devportal.console.navigation import console_page, redirect_to_client, render_page
from devportal.console.playground import flow
from devportal.console.playground.flow import PlaygroundRun
from devportal.console.playground.forms import TesterForm
from devportal.docs.context import format_duration
from devportal.docs.errors import AUTHORIZATION_HELP, TOKEN_HELP
from devportal.docs.pages import api_address
from oidc.apis import scopes
from oidc.models import Client
from oidc.projects.roles import Role, lock_for_change
from oidc.values.parameters import UnreadableParameters, read_query
from oidc.values.redirect_uris import playground_redirect_uri

log = logging.getLogger(__name__)

ACR_CHOICES = {"": "left out"} | {value: f"{label}: {value}" for value, label in Client.LeastAcr.choices if value}

LONGEST_SECRET = 200  # characters


class RequestForm(forms.Form):
    """The optional parameters of the authorization request, except `scope`."""

    prompt = forms.CharField(required=False)
    max_age = forms.CharField(
        label="max_age",
        required=False,
        validators=[RegexValidator(r"^[0-9]{1,9}\Z", "Enter a number of seconds, such as 300.")],
        widget=forms.TextInput(attrs={"inputmode": "numeric", "autocomplete": "off"}),
        help_text="The maximum age of your sign-in, in seconds. With 0, you have to sign in again.",
    )
    login_hint = forms.CharField(
        label="login_hint",
        required=False,
        max_length=254,
        widget=forms.TextInput(attrs={"inputmode": "email", "autocomplete": "off"}),
        help_text="An email address, with which the sign-in page is filled in.",
    )
    acr_values = forms.CharField(required=False)

    def clean_prompt(self) -> str:
        """Return the prompt, or "" for one that the page does not offer."""
        prompt: str = self.cleaned_data["prompt"]
        return prompt if prompt in flow.PROMPTS else ""

    def clean_acr_values(self) -> str:
        """Return the value, or "" for one that the page does not offer."""
        value: str = self.cleaned_data["acr_values"]
        return value if value in ACR_CHOICES else ""


@console_page("GET", "HEAD")
def playground(request: HttpRequest, project_id: str, client_id: str) -> HttpResponse:
    """GET …/playground: the tester, and for developers the current run."""
    membership, client = get_client(request, project_id, client_id)
    return show_playground(request, membership, client)


def show_playground(request: HttpRequest, membership: Membership, client: Client, **more: Any) -> HttpResponse:
    """Render the current run. `more` is the result of the tester."""
    run = flow.find_run(request.session, membership.account, client) if membership.may_edit else None
    return _page(request, membership, client, run, **more)


@console_page("POST")
def playground_address(request: HttpRequest, project_id: str, client_id: str) -> HttpResponse:
    """POST …/playground/address: register or remove the playground's redirect URI on the client."""
    membership, client = get_client(request, project_id, client_id, Role.DEVELOPER)
    try:
        with lock_for_change(membership.project, membership.account, Role.DEVELOPER):
            flow.set_registered(client, membership.account, request.POST.get("wanted") == "yes")
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    return redirect_to_client(client, "playground")


@limited_by_person
@console_page("POST")
def playground_begin(request: HttpRequest, project_id: str, client_id: str) -> HttpResponse:
    """POST …/playground/begin: create an authorization request."""
    membership, client = get_client(request, project_id, client_id, Role.DEVELOPER)
    if not flow.is_registered(client):
        messages.error(request, "Add the playground’s redirect URL to this app first.")
        return redirect_to_client(client, "playground")
    scope = " ".join(flow.choose_scopes(client, request.POST.getlist("scope")))
    form = RequestForm(request.POST)
    if not form.is_valid():
        scopes_chosen, resources_chosen = request.POST.getlist("scope"), request.POST.getlist("resource")
        chosen: dict[str, Any] = {"usual_scopes": scopes_chosen, "usual_resources": resources_chosen}
        return _page(request, membership, client, None, status=400, form=form, **chosen)
    resources = flow.choose_resources(request.POST.getlist("resource"))
    flow.begin_run(request.session, membership.account, client, scope, resources=resources, **form.cleaned_data)
    return redirect_to_client(client, "playground")


@limited_by_person
@sensitive_post_parameters("client_secret")
@console_page("POST")
def playground_exchange(request: HttpRequest, project_id: str, client_id: str) -> HttpResponse:
    """POST …/playground/exchange: exchange the code, and show the result once."""
    membership, client = get_client(request, project_id, client_id, Role.DEVELOPER)
    run = flow.find_run(request.session, membership.account, client)
    if run is None or not run.has_code:
        return redirect_to_client(client, "playground")
    if client.has_secret and not client.secrets.live().exists():
        messages.error(request, "This app has no live secret, so it can’t exchange codes. Create one first.")
        return redirect_to_client(client, "playground")
    secret = request.POST.get("client_secret", "").strip()[:LONGEST_SECRET]
    if not _is_first(request, membership):
        messages.info(request, "The code was already exchanged. The response is shown only once.")
        return redirect_to_client(client, "playground")
    result = flow.exchange_code(request.session, run, client, secret, _resource(request))
    return _page(request, membership, client, run, result=result)


@limited_by_person
@sensitive_post_parameters("refresh_token")
@console_page("POST")
def playground_refresh(request: HttpRequest, project_id: str, client_id: str) -> HttpResponse:
    """POST …/playground/refresh: refresh the tokens of the run, and show the result once."""
    membership, client = get_client(request, project_id, client_id, Role.DEVELOPER)
    run = flow.find_run(request.session, membership.account, client)
    raw = request.POST.get("refresh_token", "")[:LONGEST_SECRET]
    if run is None or not flow.owns_refresh_token(run, raw):
        messages.error(request, "This is not the refresh token of the current test.")
        return redirect_to_client(client, "playground")
    if not _is_first(request, membership):
        messages.info(request, "The tokens were already refreshed. The response is shown only once.")
        return redirect_to_client(client, "playground")
    return _page(request, membership, client, run, result=flow.refresh(run, client, raw, _resource(request)))


def _resource(request: HttpRequest) -> str:
    """Return the `resource` of a token request, "" for none or for one that the page does not offer."""
    return next(iter(flow.choose_resources(request.POST.getlist("resource")[:1])), "")


def _is_first(request: HttpRequest, membership: Membership) -> bool:
    """Check the role again, and return whether the form was sent for the first time. Raises InsufficientRole, Gone.

    A second concurrent request would count as a replay and revoke the tokens of the first.
    """
    try:
        with lock_for_change(membership.project, membership.account, Role.DEVELOPER):
            idempotency.consume_token(request)
    except (idempotency.AlreadyProcessed, idempotency.MissingToken):
        return False
    return True


@console_page("POST")
def playground_end(request: HttpRequest, project_id: str, client_id: str) -> HttpResponse:
    """POST …/playground/end: end the run and revoke its tokens."""
    membership, client = get_client(request, project_id, client_id, Role.DEVELOPER)
    flow.end_run(request.session, membership.account)
    messages.success(request, "The test has ended, and so have its tokens.")
    return redirect_to_client(client, "playground")


@never_cache
@require_GET
def playground_callback(request: HttpRequest) -> HttpResponse:
    """GET /console/playground/callback: the playground's redirect URI. Only a waiting run accepts the response.

    It never redirects to the sign-in page, because `next` would contain the code.
    """
    account = request.user
    try:
        if not isinstance(account, Account):
            raise flow.ForeignAnswer("nobody is signed in")
        if not account.email_verified:
            return redirect("account_email")
        run = flow.store_answer(request.session, account, read_query(request))
    except (flow.ForeignAnswer, UnreadableParameters) as error:
        log.info("A response at the playground's redirect URI was rejected: %s.", error)
        page = render_page(request, "console/playground_stray.html", status=400, request_id=request_id.current())
        return _without_referrer(page)
    return _without_referrer(redirect("console:playground", run.project, run.client_id))


def _without_referrer(response: HttpResponse) -> HttpResponse:
    response["Referrer-Policy"] = "no-referrer"
    return response


def _page(
    request: HttpRequest,
    membership: Membership,
    client: Client,
    run: PlaygroundRun | None,
    result: flow.ExchangeResult | None = None,
    status: int = 200,
    **more: Any,
) -> HttpResponse:
    """Render the current run. `result` is the result of an exchange or refresh in this request."""
    context: dict[str, Any] = {
        "address": playground_redirect_uri(),
        "is_open": flow.is_registered(client),
        "run": run,
        "result": result,
        "scope_groups": scopes.group_by_api(flow.offered_scopes(client)),
        "usual_scopes": ("email", "profile"),
        "resources": flow.offered_resources(),
        "usual_resources": (),
        "prompts": flow.PROMPTS,
        "acr_choices": ACR_CHOICES,
        "form": RequestForm(),
        "tester": TesterForm(),
        "shows_exchange": result is not None or (run is not None and run.has_code),
        "once": idempotency.new_token(),
        "code_life": format_duration(settings.AUTHORIZATION_CODE_SECONDS),
    }
    if run is not None:
        context["parameters"] = [(name, value, flow.PARAMETERS[name]) for name, value in run.parameters()]
        context["help"] = AUTHORIZATION_HELP.get(run.error)
    if result is not None:
        context["api_docs"] = api_address(result.api) if result.api else ""
        context["exchange_help"] = TOKEN_HELP.get(result.exchange.error)
        context["calls"] = [(call, KNOWN_ERRORS.get(call.error)) for call in result.calls]
    return render_page(request, "console/playground.html", membership, client, status=status, **(context | more))
