"""The playground of a client: its pages, and the address at which its answers arrive."""

import logging
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET

from accounts.models import Account
from devportal.console import once
from devportal.console.access import Seat, get_client
from devportal.console.documentation.errors import API_HELP, AUTHORIZATION_HELP, TOKEN_HELP
from devportal.console.documentation.facts import duration
from devportal.console.pages import console_page, show
from devportal.console.playground import flow, runs
from devportal.console.playground.runs import Run
from devportal.lib import request_id
from oidc import scopes
from oidc.models import Client
from oidc.parameters import Unreadable, read_query
from oidc.registration import playground_redirect_uri
from oidc.roles import Role, acting

log = logging.getLogger(__name__)

LONGEST_SECRET = 200  # characters


@console_page("GET", "HEAD")
def playground(request: HttpRequest, project_id: str, client_id: str) -> HttpResponse:
    """GET …/playground: the run as far as it has come."""
    seat, client = get_client(request, project_id, client_id, Role.DEVELOPER)
    return _page(request, seat, client, runs.find(request.session, seat.account, client))


@console_page("POST")
def playground_address(request: HttpRequest, project_id: str, client_id: str) -> HttpResponse:
    """POST …/playground/address: register the playground's address on the client, or take it away."""
    seat, client = get_client(request, project_id, client_id, Role.DEVELOPER)
    try:
        with acting(seat.project, seat.account, Role.DEVELOPER):
            flow.set_open(client, seat.account, request.POST.get("wanted") == "yes")
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    return _back_to(client)


@console_page("POST")
def playground_begin(request: HttpRequest, project_id: str, client_id: str) -> HttpResponse:
    """POST …/playground/begin: make up a request."""
    seat, client = get_client(request, project_id, client_id, Role.DEVELOPER)
    if not flow.is_open(client):
        messages.error(request, "Add the playground’s address to this client first.")  # noqa: RUF001  (an apostrophe)
        return _back_to(client)
    prompt = request.POST.get("prompt", "")
    scope = " ".join(flow.choose_scopes(client, request.POST.getlist("scope")))
    runs.begin(request.session, seat.account, client, scope, prompt if prompt in flow.PROMPTS else "")
    return _back_to(client)


@sensitive_post_parameters("client_secret")
@console_page("POST")
def playground_exchange(request: HttpRequest, project_id: str, client_id: str) -> HttpResponse:
    """POST …/playground/exchange: exchange the code, and show what comes of it, once."""
    seat, client = get_client(request, project_id, client_id, Role.DEVELOPER)
    run = runs.find(request.session, seat.account, client)
    if run is None or not run.code:
        return _back_to(client)
    secret = request.POST.get("client_secret", "").strip()[:LONGEST_SECRET]
    if client.has_secret and not secret:
        return _page(request, seat, client, run, secret_error="Enter a secret of this client.", status=400)
    try:
        # Two at once would look like a replay, and end what the first one got.
        with acting(seat.project, seat.account, Role.DEVELOPER):
            once.spend(request)
    except (once.Repeated, once.Unmarked):
        messages.info(request, "The code was sent already; its answer is shown once.")
        return _back_to(client)
    result = flow.exchange(request.session, run, client, secret)
    return _page(request, seat, client, run, result=result)


@console_page("POST")
def playground_end(request: HttpRequest, project_id: str, client_id: str) -> HttpResponse:
    """POST …/playground/end: end the run with its tokens."""
    seat, client = get_client(request, project_id, client_id, Role.DEVELOPER)
    runs.end(request.session, seat.account)
    messages.success(request, "The test has ended, and so have its tokens.")
    return _back_to(client)


@never_cache
@require_GET
def playground_callback(request: HttpRequest) -> HttpResponse:
    """GET /console/playground/callback: where answers arrive; only the run that waits for one takes it.

    Nobody is sent to sign in from here: the address holds a code, and would travel along.
    """
    account = request.user
    try:
        if not isinstance(account, Account):
            raise runs.NotOurs("nobody is signed in")
        if not account.email_verified:
            return redirect("account_email")
        run = runs.take_answer(request.session, account, read_query(request))
    except (runs.NotOurs, Unreadable) as error:
        log.info("An answer at the playground's address was turned away: %s.", error)
        page = show(request, "console/playground_stray.html", status=400, request_id=request_id.current())
        return _without_referrer(page)
    return _without_referrer(redirect("console:playground", run.project, run.client_id))


def _back_to(client: Client) -> HttpResponseRedirect:
    return redirect("console:playground", client.project.public_id, client.client_id)


def _without_referrer(response: HttpResponse) -> HttpResponse:
    response["Referrer-Policy"] = "no-referrer"
    return response


def _page(
    request: HttpRequest,
    seat: Seat,
    client: Client,
    run: Run | None,
    result: flow.Result | None = None,
    status: int = 200,
    **more: Any,
) -> HttpResponse:
    """Show the run as far as it has come; `result` is what came of the exchange just now."""
    allowed = scopes.allowed_for(client)
    context: dict[str, Any] = {
        "address": playground_redirect_uri(),
        "is_open": flow.is_open(client),
        "run": run,
        "result": result,
        "scopes": [scope for name, scope in scopes.SCOPES.items() if name in allowed and name != scopes.OPENID],
        "usual_scopes": ("email", "profile"),
        "prompts": flow.PROMPTS,
        "shows_exchange": result is not None or (run is not None and run.code),
        "once": once.new_token(),
        "code_life": duration(settings.AUTHORIZATION_CODE_SECONDS),
    }
    if run is not None:
        context["parameters"] = [(name, value, flow.PARAMETERS[name]) for name, value in run.parameters().items()]
        context["help"] = AUTHORIZATION_HELP.get(run.error)
    if result is not None:
        context["exchange_help"] = TOKEN_HELP.get(result.exchange.error, (0, None))[1]
        context["calls"] = [(call, API_HELP.get(call.error)) for call in result.calls]
    return show(request, "console/playground.html", seat, client, status=status, **(context | more))
