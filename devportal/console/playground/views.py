"""The playground of a client: its pages and its redirect URI."""

import logging
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET

from accounts.models import Account
from core.http import request_id
from core.limits.middleware import limited_by_person
from devportal.console import idempotency
from devportal.console.access import Membership, get_client
from devportal.console.navigation import console_page, redirect_to_client, render_page
from devportal.console.playground import flow
from devportal.console.playground.flow import PlaygroundRun
from devportal.docs.context import format_duration
from devportal.docs.errors import API_HELP, AUTHORIZATION_HELP, TOKEN_HELP
from oidc import scopes
from oidc.clients.redirect_uris import playground_redirect_uri
from oidc.models import Client
from oidc.parameters import UnreadableParameters, read_query
from oidc.projects.roles import Role, lock_for_change

log = logging.getLogger(__name__)

LONGEST_SECRET = 200  # characters


@console_page("GET", "HEAD")
def playground(request: HttpRequest, project_id: str, client_id: str) -> HttpResponse:
    """GET …/playground: the current run."""
    membership, client = get_client(request, project_id, client_id, Role.DEVELOPER)
    return _page(request, membership, client, flow.find_run(request.session, membership.account, client))


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
        messages.error(request, "Add the playground’s redirect URL to this client first.")
        return redirect_to_client(client, "playground")
    prompt = request.POST.get("prompt", "")
    scope = " ".join(flow.choose_scopes(client, request.POST.getlist("scope")))
    flow.begin_run(request.session, membership.account, client, scope, prompt if prompt in flow.PROMPTS else "")
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
    secret = request.POST.get("client_secret", "").strip()[:LONGEST_SECRET]
    if client.has_secret and not secret:
        return _page(request, membership, client, run, secret_error="Enter a secret of this client.", status=400)
    try:
        # A second concurrent exchange would count as a replay and revoke the tokens of the first.
        with lock_for_change(membership.project, membership.account, Role.DEVELOPER):
            idempotency.consume_token(request)
    except (idempotency.AlreadyProcessed, idempotency.MissingToken):
        messages.info(request, "The code was already exchanged. The response is shown only once.")
        return redirect_to_client(client, "playground")
    result = flow.exchange_code(request.session, run, client, secret)
    return _page(request, membership, client, run, result=result)


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
    """Render the current run. `result` is the result of an exchange in this request."""
    allowed = scopes.allowed_scopes(client)
    context: dict[str, Any] = {
        "address": playground_redirect_uri(),
        "is_open": flow.is_registered(client),
        "run": run,
        "result": result,
        "scopes": [scope for name, scope in scopes.SCOPES.items() if name in allowed and name != scopes.OPENID],
        "usual_scopes": ("email", "profile"),
        "prompts": flow.PROMPTS,
        "shows_exchange": result is not None or (run is not None and run.has_code),
        "once": idempotency.new_token(),
        "code_life": format_duration(settings.AUTHORIZATION_CODE_SECONDS),
    }
    if run is not None:
        context["parameters"] = [(name, value, flow.PARAMETERS[name]) for name, value in run.parameters().items()]
        context["help"] = AUTHORIZATION_HELP.get(run.error)
    if result is not None:
        context["exchange_help"] = TOKEN_HELP.get(result.exchange.error, (0, None))[1]
        context["calls"] = [(call, API_HELP.get(call.error)) for call in result.calls]
    return render_page(request, "console/playground.html", membership, client, status=status, **(context | more))
