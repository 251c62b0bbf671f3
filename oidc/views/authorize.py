"""GET /connect/authorize: parse, decide (oidc/authorize.py), answer."""

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
from devportal.lib.limits import Limited
from oidc import authorize, limits, pending, reporting
from oidc.authorize import Attempt, Consent, Full, Issue, Login, Outcome, Refuse, Unavailable
from oidc.errors import AppFull, ConsentMissing, SignInError
from oidc.models import Client
from oidc.parameters import Parameters, Unreadable, parse, read_posted_query
from oidc.pending import Pending
from oidc.views import pages
from oidc.views.redirects import answer_app, redirect_back, see_other


def look_at(request: HttpRequest, waiting: Pending, parameters: Parameters) -> Attempt:
    """Return an attempt at a request, as the person of this session."""
    account = request.user if isinstance(request.user, Account) else None
    return Attempt(parameters, waiting, account, authentication.current(request))


class Decided(OAuthLibMixin):  # type: ignore[misc]
    """Turns an outcome into an answer; the library makes the code."""

    def answer(self, request: HttpRequest, attempt: Attempt, outcome: Outcome) -> HttpResponse:
        tell_outcome(attempt, outcome)
        match outcome:
            case Unavailable(client):
                return pages.unavailable(request, client)
            case Refuse(error):
                pending.answered(request.session, attempt.pending.key)
                return redirect_back(request, attempt, error)
            case Issue():
                return self.issue(request, attempt)
            case Full(client):
                waiting = pending.remember(request.session, attempt.pending.query)
                return pages.app_full(request, client, waiting)
            case Consent():
                waiting = pending.remember(request.session, attempt.pending.query)
                return pages.consent(request, attempt, outcome, waiting)
            case Login():
                waiting = pending.remember(request.session, attempt.pending.query)
                return HttpResponseRedirect(sign_in_url(outcome, waiting))

    def issue(self, request: HttpRequest, attempt: Attempt) -> HttpResponse:
        """Have the library make a code (RFC 6749 §4.1.2), and send it to the app."""
        given = attempt.parameters
        decided = Decision(attempt)
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
        except AppFull:
            return self.answer(request, attempt, Full(attempt.client))
        except ConsentMissing:
            # Removed in another tab a moment ago: ask.
            missing = frozenset(attempt.scopes)
            return self.answer(request, attempt, Consent(attempt.client, attempt.scopes, missing))
        except OAuthToolkitError as error:
            return self.answer(request, attempt, Refuse(SignInError(error.oauthlib_error.error)))
        pending.answered(request.session, attempt.pending.key)
        reporting.tell("signed_in", attempt.client, reporting.AUTHORIZE, redirect_uri=attempt.redirect_uri)
        return answer_app(request, attempt, {"code": decided.code})


def tell_outcome(attempt: Attempt, outcome: Outcome) -> None:
    """Have the client's sign-in log say what became of a request that ends here, and why."""
    match outcome:
        case Refuse(error):
            word = "cancelled" if error.code == "access_denied" else "refused"
            tell_refusal(attempt, error.code, error.reason or error.public_description, word)
        case Unavailable(client):
            tell_refusal(attempt, "unavailable", why_off(client))
        case Full():
            most = settings.UNVERIFIED_APP_PEOPLE
            tell_refusal(attempt, "app_full", f"{most} people use this app, and it has not been reviewed.")


def why_off(client: Client) -> str:
    """Return why nobody can sign in to a client."""
    if not client.enabled:
        return "The client is turned off."
    return "The project is deleted." if client.project.is_deleted else "The project is suspended."


def tell_refusal(attempt: Attempt, error: str, reason: str, outcome: str = "refused") -> None:
    """Have the log of the client, if the request names one, say why it was refused."""
    client = getattr(attempt, "client", None)
    if client is not None:
        sent = attempt.parameters.get("redirect_uri") or ""
        reporting.tell(outcome, client, reporting.AUTHORIZE, error=error, reason=reason, redirect_uri=sent)


class Decision:
    """What the validator needs beside the request, and the code that it made."""

    def __init__(self, attempt: Attempt) -> None:
        self.consent_given_now = attempt.consent_given_now
        self.authentication = attempt.authentication
        self.request_key = attempt.pending.key
        self.code = ""


def sign_in_url(login: Login, waiting: Pending) -> str:
    """Return where the person signs in, and comes back from to the pending request."""
    come_back = f"{reverse('resume')}?{urlencode({'request': waiting.key})}"
    if login.again:
        return f"{reverse('account_reauthenticate')}?{urlencode({'next': come_back})}"
    if login.new:
        return f"{reverse('account_signup')}?{urlencode({'next': come_back, 'email': login.hint})}"
    return f"{reverse('account_login')}?{urlencode({'next': come_back, 'login_hint': login.hint})}"


@method_decorator([never_cache, csrf_exempt], name="dispatch")
class AuthorizeView(Decided, View):
    """The authorization endpoint (RFC 6749 §3.1, OpenID Connect Core 3.1.2)."""

    http_method_names = ["get", "head", "post"]

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            return super().dispatch(request, *args, **kwargs)
        except Limited as error:
            return too_many_requests(request, error.retry_after)

    def get(self, request: HttpRequest) -> HttpResponse:
        query = request.META.get("QUERY_STRING", "")
        attempt = None
        try:
            parameters = parse(query)
            limits.count_authorization(request, parameters.get("client_id") or "")
            key = pending.key_of(query)
            waiting = pending.find(request.session, key) or Pending(key, query, clock.now().timestamp())
            attempt = look_at(request, waiting, parameters)
            outcome = authorize.decide(attempt)
        except Unreadable as error:
            return self.turn_away(request, SignInError("invalid_request", str(error), may_redirect=False))
        except SignInError as error:
            if attempt is not None:
                tell_refusal(attempt, error.code, error.reason or error.public_description)
            return self.turn_away(request, error)
        return self.answer(request, attempt, outcome)

    def post(self, request: HttpRequest) -> HttpResponse:
        # Cross-site, so without cookies: the browser comes back with them.
        try:
            query = read_posted_query(request)
        except Unreadable as error:
            return self.turn_away(request, SignInError("invalid_request", str(error), may_redirect=False))
        return see_other(f"{reverse('authorize')}?{query}")

    def turn_away(self, request: HttpRequest, problem: SignInError) -> HttpResponse:
        """Say on a page why not, within the limit of failures. Raises Limited."""
        limits.count_failure(request)
        return pages.error(request, problem)


@never_cache
def resume(request: HttpRequest) -> HttpResponse:
    """GET /connect/resume: back to the request that waits in this session, or to the profile."""
    found = pending.find(request.session, request.GET.get("request", ""))
    waiting = pending.waiting(request.session)
    if found or waiting:
        return HttpResponseRedirect((found or waiting[-1]).url)
    return HttpResponseRedirect(reverse("account_profile"))
