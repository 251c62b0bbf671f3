"""GET /connect/authorize: parse, decide (oidc/authorization/checks.py), answer."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.utils.http import urlencode
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.generic import View
from oauth2_provider.exceptions import OAuthToolkitError
from oauth2_provider.views.mixins import OAuthLibMixin

from accounts import authentication
from accounts.models import Account
from devportal.lib import clock
from devportal.lib.error_pages import too_many_requests
from devportal.lib.ratelimit.limits import Throttled
from oidc import limits, sign_in_log
from oidc.authorization import checks, interactions
from oidc.authorization.interactions import Interaction
from oidc.authorization.outcomes import (
    ClientUnavailable,
    IssueCode,
    Outcome,
    PromptConsent,
    PromptLogin,
    RedirectError,
    UserCapReached,
)
from oidc.authorization.requests import AuthorizationRequest
from oidc.errors import AuthorizationError, ConsentMissing, UserCapExceeded
from oidc.models import Client
from oidc.parameters import Parameters, UnreadableParameters, parse, read_posted_query
from oidc.views import pages
from oidc.views.responses import authorization_error_response, authorization_response, see_other


def build_auth_request(request: HttpRequest, waiting: Interaction, parameters: Parameters) -> AuthorizationRequest:
    """Return an attempt at a request, as the person of this session."""
    account = request.user if isinstance(request.user, Account) else None
    return AuthorizationRequest(parameters, waiting, account, authentication.current_authentication(request))


class AuthorizationResponseMixin(OAuthLibMixin):  # type: ignore[misc]
    """Turns an outcome into an answer; the library makes the code."""

    def answer(self, request: HttpRequest, attempt: AuthorizationRequest, outcome: Outcome) -> HttpResponse:
        log_outcome(attempt, outcome)
        match outcome:
            case ClientUnavailable(client):
                return pages.unavailable_page(request, client)
            case RedirectError(error):
                interactions.mark_answered(request.session, attempt.pending.key)
                return authorization_error_response(request, attempt, error)
            case IssueCode():
                return self.issue(request, attempt)
            case UserCapReached(client):
                waiting = interactions.save_interaction(request.session, attempt.pending.query)
                return pages.user_cap_page(request, client, waiting)
            case PromptConsent():
                waiting = interactions.save_interaction(request.session, attempt.pending.query)
                return pages.consent_page(request, attempt, outcome, waiting)
            case PromptLogin():
                waiting = interactions.save_interaction(request.session, attempt.pending.query)
                return HttpResponseRedirect(login_url(outcome, waiting))

    def issue(self, request: HttpRequest, attempt: AuthorizationRequest) -> HttpResponse:
        """Have the library make a code (RFC 6749 §4.1.2), and send it to the app."""
        given = attempt.parameters
        decided = AuthorizationDecision(attempt)
        credentials: dict[str, Any] = {
            "client_id": attempt.client.client_id,
            "client": attempt.client,
            "redirect_uri": attempt.redirect_uri,
            "response_type": "code",
            "state": attempt.state,
            "nonce": given.get("nonce"),
            "code_challenge": given.get("code_challenge"),
            "code_challenge_method": given.get("code_challenge_method"),
            "authorization": decided,
        }
        try:
            self.create_authorization_response(request, " ".join(attempt.scopes), credentials, allow=True)
        except UserCapExceeded:
            return self.answer(request, attempt, UserCapReached(attempt.client))
        except ConsentMissing:
            # Removed in another tab a moment ago: ask.
            missing = frozenset(attempt.scopes)
            return self.answer(request, attempt, PromptConsent(attempt.client, attempt.scopes, missing))
        except OAuthToolkitError as error:
            return self.answer(request, attempt, RedirectError(AuthorizationError(error.oauthlib_error.error)))
        interactions.mark_answered(request.session, attempt.pending.key)
        sign_in_log.record("signed_in", attempt.client, sign_in_log.AUTHORIZE, redirect_uri=attempt.redirect_uri)
        return authorization_response(request, attempt, {"code": decided.code})


def log_outcome(attempt: AuthorizationRequest, outcome: Outcome) -> None:
    """Have the client's sign-in log say what became of a request that ends here, and why."""
    match outcome:
        case RedirectError(error):
            word = "cancelled" if error.code == "access_denied" else "refused"
            log_refusal(attempt, error.code, error.reason or error.public_description, word)
        case ClientUnavailable(client):
            log_refusal(attempt, "unavailable", unavailable_reason(client))
        case UserCapReached():
            most = settings.UNVERIFIED_APP_PEOPLE
            log_refusal(attempt, "app_full", f"{most} people use this app, and it has not been reviewed.")


def unavailable_reason(client: Client) -> str:
    """Return why nobody can sign in to a client."""
    if not client.enabled:
        return "The client is turned off."
    return "The project is deleted." if client.project.is_deleted else "The project is suspended."


def log_refusal(attempt: AuthorizationRequest, error: str, reason: str, outcome: str = "refused") -> None:
    """Have the log of the client, if the request names one, say why it was refused."""
    client = getattr(attempt, "client", None)
    if client is not None:
        sent = attempt.parameters.get("redirect_uri") or ""
        sign_in_log.record(outcome, client, sign_in_log.AUTHORIZE, error=error, reason=reason, redirect_uri=sent)


class AuthorizationDecision:
    """What the validator needs beside the request, and the code that it made."""

    def __init__(self, attempt: AuthorizationRequest) -> None:
        self.consent_given_now = attempt.consent_given_now
        self.authentication = attempt.authentication
        self.request_key = attempt.pending.key
        self.code = ""


def login_url(login: PromptLogin, waiting: Interaction) -> str:
    """Return where the person signs in, and comes back from to the pending request."""
    come_back = f"{reverse('resume')}?{urlencode({'request': waiting.key})}"
    if login.again:
        return f"{reverse('account_reauthenticate')}?{urlencode({'next': come_back})}"
    if login.new:
        return f"{reverse('account_signup')}?{urlencode({'next': come_back, 'email': login.hint})}"
    return f"{reverse('account_login')}?{urlencode({'next': come_back, 'login_hint': login.hint})}"


@method_decorator([never_cache, csrf_exempt], name="dispatch")
class AuthorizeView(AuthorizationResponseMixin, View):
    """The authorization endpoint (RFC 6749 §3.1, OpenID Connect Core 3.1.2)."""

    http_method_names = ["get", "head", "post"]

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            return super().dispatch(request, *args, **kwargs)
        except Throttled as error:
            return too_many_requests(request, error.retry_after)

    def get(self, request: HttpRequest) -> HttpResponse:
        query = request.META.get("QUERY_STRING", "")
        attempt = None
        try:
            parameters = parse(query)
            limits.count_authorization(request, parameters.get("client_id") or "")
            key = interactions.interaction_key(query)
            waiting = interactions.find_interaction(request.session, key) or Interaction(
                key, query, clock.now().timestamp()
            )
            attempt = build_auth_request(request, waiting, parameters)
            outcome = checks.decide(attempt)
        except UnreadableParameters as error:
            return self.turn_away(request, AuthorizationError("invalid_request", str(error), may_redirect=False))
        except AuthorizationError as error:
            if attempt is not None:
                log_refusal(attempt, error.code, error.reason or error.public_description)
            return self.turn_away(request, error)
        return self.answer(request, attempt, outcome)

    def post(self, request: HttpRequest) -> HttpResponse:
        # Cross-site, so without cookies: the browser comes back with them.
        try:
            query = read_posted_query(request)
        except UnreadableParameters as error:
            return self.turn_away(request, AuthorizationError("invalid_request", str(error), may_redirect=False))
        return see_other(f"{reverse('authorize')}?{query}")

    def turn_away(self, request: HttpRequest, problem: AuthorizationError) -> HttpResponse:
        """Say on a page why not, within the limit of failures. Raises Throttled."""
        limits.count_failure(request)
        return pages.error_page(request, problem)


@never_cache
def resume(request: HttpRequest) -> HttpResponse:
    """GET /connect/resume: back to the request that waits in this session, or to the profile."""
    found = interactions.find_interaction(request.session, request.GET.get("request", ""))
    waiting = interactions.pending_interactions(request.session)
    if found or waiting:
        return HttpResponseRedirect((found or waiting[-1]).url)
    return HttpResponseRedirect(reverse("account_profile"))
