"""The authorization endpoint: parse the request, let oidc/authorization/checks.py decide, and respond."""

from typing import Any

from allauth.account.utils import get_next_redirect_url
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.utils.encoding import iri_to_uri
from django.utils.http import urlencode
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST
from django.views.generic import View

from accounts.models import Account
from accounts.sessions import authentication
from accounts.sessions.browser_accounts import has_others, other_accounts
from accounts.views import account as account_views
from core import clock
from core.http.error_pages import too_many_requests
from core.limits.counters import Throttled
from core.limits.middleware import limited_by_person
from oidc.authorization import acr, checks, interactions
from oidc.authorization.interactions import Interaction
from oidc.authorization.outcomes import (
    ClientUnavailable,
    IssueCode,
    Outcome,
    PromptChoice,
    PromptConsent,
    PromptLogin,
    PromptStepUp,
    RedirectError,
    UserCapReached,
    issue_code,
)
from oidc.authorization.requests import AuthorizationRequest
from oidc.clients.reviewed_hosts import reason_outside
from oidc.errors import AuthorizationError, ConsentMissing, UserCapExceeded
from oidc.models import AuthorizationCode
from oidc.projects.roles import Gone
from oidc.protocol import limits
from oidc.sign_in_log import counts
from oidc.sign_in_log.steps import UNAVAILABLE
from oidc.values.parameters import Parameters, UnreadableParameters, parse, read_posted_query
from oidc.values.reasons import Facts, Reason
from oidc.views import pages
from oidc.views.pages import authorization_error_response, authorization_response, see_other
from oidc.views.step_up_page import step_up_page

# The forms that contain a reference to a pending request (interactions.sign_reference).
FORMS_OF_REQUESTS = frozenset({"consent", "step_up"})


def build_auth_request(
    request: HttpRequest, interaction: Interaction, parameters: Parameters, chosen_now: frozenset[str] | None = None
) -> AuthorizationRequest:
    """Return an authorization request for the person of this session.

    `chosen_now` are the optional scopes that are ticked in the submitted consent form; None without a form.
    """
    account = request.user if isinstance(request.user, Account) else None
    current = authentication.current_authentication(request)
    return AuthorizationRequest(
        parameters,
        interaction,
        account,
        current,
        consent_given_now=chosen_now is not None,
        has_others=has_others(request),
        find_others=lambda: [each.account for each in other_accounts(request)],
        chosen_scopes=chosen_now or frozenset(),
    )


class AuthorizationResponseMixin:
    """Mixin that turns an outcome into a response."""

    def answer(self, request: HttpRequest, auth_request: AuthorizationRequest, outcome: Outcome) -> HttpResponse:
        log_outcome(auth_request, outcome)
        match outcome:
            case ClientUnavailable(client):
                return pages.unavailable_page(request, client, auth_request.redirect_uri)
            case RedirectError(error):
                interactions.mark_answered(request.session, auth_request.interaction.key)
                return authorization_error_response(request, auth_request, error)
            case IssueCode():
                return self.issue(request, auth_request, outcome)
            case UserCapReached(client):
                interaction = interactions.save_interaction(request.session, auth_request.interaction.query)
                why_full = AuthorizationError(*checks.why_full(auth_request), client=client)
                counts.app_is_full(request.session, auth_request, why_full)
                return pages.user_cap_page(request, auth_request, interaction)
            case PromptConsent():
                interaction = interactions.save_interaction(request.session, auth_request.interaction.query)
                counts.consent_shown(request.session, auth_request)
                return pages.consent_page(request, auth_request, outcome, interaction)
            case PromptStepUp():
                interaction = interactions.save_interaction(request.session, auth_request.interaction.query)
                return step_up_page(request, auth_request, outcome, interaction)
            case PromptLogin():
                interaction = interactions.save_interaction(request.session, auth_request.interaction.query)
                return HttpResponseRedirect(login_url(outcome, interaction))
            case PromptChoice():
                interaction = interactions.save_interaction(request.session, auth_request.interaction.query)
                return HttpResponseRedirect(interaction.choose_url)

    def issue(self, request: HttpRequest, auth_request: AuthorizationRequest, outcome: IssueCode) -> HttpResponse:
        """Issue a code and send it to the app."""
        try:
            row, code = issue_code(request, auth_request, outcome)
        except UserCapExceeded:
            return self.answer(request, auth_request, UserCapReached(auth_request.client))
        except (ConsentMissing, Gone):
            return self.decide_again(request, auth_request)
        interactions.mark_answered(request.session, auth_request.interaction.key)
        report_code(auth_request, outcome, row)
        return authorization_response(request, auth_request, {"code": code})

    def decide_again(self, request: HttpRequest, auth_request: AuthorizationRequest) -> HttpResponse:
        """Run the checks again: a moment ago, consent was withdrawn in another tab, or the app was deleted."""
        try:
            outcome = checks.decide(auth_request)
        except AuthorizationError as error:
            counts.request_ended(auth_request, error)
            return pages.error_page(request, error)
        return self.answer(request, auth_request, outcome)


def report_code(auth_request: AuthorizationRequest, outcome: IssueCode, row: AuthorizationCode) -> None:
    """Report an issued code to the client's sign-in log and counts."""
    details: dict[str, Any] = {"redirect_uri": auth_request.redirect_uri, "family": row.family_id}
    reason, facts = note_of_code(auth_request, outcome)
    if reason is not None:
        details |= {"reason": reason, "parameters": facts}
    counts.code_issued(auth_request, row.family.connection, **details)


def note_of_code(auth_request: AuthorizationRequest, outcome: IssueCode) -> tuple[Reason | None, Facts]:
    """Return the sign-in log's note on an issued code with its parameters, None for no note."""
    acr_facts = {} if outcome.returned is None else acr.log_parameters(auth_request.acr, outcome.returned)
    if not (outside := auth_request.outside_host):
        return (Reason.ACR_RETURNED if acr_facts else None), acr_facts
    either = (
        (Reason.ACR_RETURNED_OUTSIDE_REVIEW, Reason.ACR_RETURNED_HOME_UNPROVEN)
        if acr_facts
        else (Reason.SHOWN_OUTSIDE_REVIEW, Reason.SHOWN_HOME_UNPROVEN)
    )
    reason, facts = reason_outside(auth_request.client, outside, *either)
    return reason, facts | acr_facts


def log_outcome(auth_request: AuthorizationRequest, outcome: Outcome) -> None:
    """Report a request that ends here, with the reason, to the client's sign-in log."""
    match outcome:
        case RedirectError(error):
            counts.request_ended(auth_request, error)
        case ClientUnavailable(client):
            counts.request_ended(
                auth_request, AuthorizationError(client.unavailable_reason, client=client), UNAVAILABLE
            )


def login_url(login: PromptLogin, interaction: Interaction) -> str:
    """Return the URL where the person signs in, from which they return to the pending request."""
    come_back = interaction.resume_url
    if login.again:
        return f"{reverse('account_reauthenticate')}?{urlencode({'next': come_back})}"
    if login.new:
        return f"{reverse('account_signup')}?{urlencode({'next': come_back, 'email': login.hint})}"
    return f"{reverse('account_login')}?{urlencode({'next': come_back, 'login_hint': login.hint})}"


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Show the question again if its form was opened before an account switch (CSRF_FAILURE_VIEW).

    A switch changes the browser's CSRF token, so forms in other tabs have an old one. The form is not processed.
    """
    match = request.resolver_match
    is_form = match is not None and match.view_name in FORMS_OF_REQUESTS and "csrfmiddlewaretoken" in request.POST
    if is_form and request.user.is_authenticated:
        return resume_from_form(request)
    return account_views.csrf_failure(request, reason)


def unreadable(error: UnreadableParameters) -> AuthorizationError:
    """Return the error for a request with unreadable parameters, which must not be redirected to the app."""
    return AuthorizationError(error.reason, error.parameters, may_redirect=False)


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
        # Encoded as Django encodes it in redirects, so that the request has the same key when the person returns to it.
        query = iri_to_uri(request.META.get("QUERY_STRING", ""))
        auth_request = None
        try:
            parameters = parse(query)
            limits.count_authorization(request, parameters.get("client_id") or "")
            key = interactions.interaction_key(query)
            interaction = interactions.find_interaction(request.session, key) or Interaction(
                key, query, clock.now().timestamp()
            )
            auth_request = build_auth_request(request, interaction, parameters)
            outcome = checks.decide(auth_request)
            counts.request_arrived(auth_request)
        except UnreadableParameters as error:
            return self.turn_away(request, unreadable(error))
        except AuthorizationError as error:
            return self.turn_away(request, error, auth_request)
        return self.answer(request, auth_request, outcome)

    def post(self, request: HttpRequest) -> HttpResponse:
        # A cross-site POST comes without cookies (SameSite=Lax); the browser sends them with the redirected GET.
        try:
            query = read_posted_query(request)
        except UnreadableParameters as error:
            return self.turn_away(request, unreadable(error))
        return see_other(f"{reverse('authorize')}?{query}")

    def turn_away(
        self, request: HttpRequest, problem: AuthorizationError, auth_request: AuthorizationRequest | None = None
    ) -> HttpResponse:
        """Count the failure, report it to the client's sign-in log, and return the error page. Raises Throttled."""
        limits.count_failure(request)  # before it is logged, because anyone can name a client
        if auth_request is not None:
            counts.request_ended(auth_request, problem)
        return pages.error_page(request, problem)


@never_cache
def resume(request: HttpRequest) -> HttpResponse:
    """GET /connect/resume: redirect to a pending authorization request, or to the account's home page.

    `request` names one of the session's requests; without it, the newest one continues. If the named one has ended, a
    page says so.
    """
    handle = request.GET.get("request", "")
    if found := interactions.find_interaction(request.session, handle):
        return HttpResponseRedirect(found.url)
    if handle:
        return pages.ended_request_page(request, handle)
    latest = interactions.latest_interaction(request.session)
    return HttpResponseRedirect(latest.url if latest else reverse("account_home"))


@never_cache
@require_POST
def dismiss(request: HttpRequest) -> HttpResponse:
    """POST /connect/dismiss: hide the banner about an app that waits; its request stays open in other tabs."""
    interactions.dismiss(request.session, request.POST.get("request", ""))
    return HttpResponseRedirect(get_next_redirect_url(request) or reverse("account_home"))


def resume_from_page(request: HttpRequest) -> HttpResponse:
    """Continue after a form's page was opened with the back button, or after a new sign-in because of the form."""
    if interactions.latest_interaction(request.session):
        return HttpResponseRedirect(reverse("resume"))
    return pages.ended_request_page(request, "")


def resume_from_form(request: HttpRequest) -> HttpResponse:
    """Redirect to the request of a form that was not accepted: it is forged, too old, or from before a switch.

    Nothing is allowed or cancelled. The current question is shown again.
    """
    handle = interactions.reject_reference(request, request.POST.get("reference", ""))
    return HttpResponseRedirect(interactions.resume_url(handle) if handle else reverse("resume"))


@limited_by_person
@method_decorator([never_cache, login_required], name="dispatch")
class ConsentView(AuthorizationResponseMixin, View):
    """Run all checks again on the pending request.

    The form contains only the person's decision, and which of the shown optional scopes they chose
    (docs/sign-in.md#optional-scopes). It can't add anything to the request.
    """

    http_method_names = ["get", "head", "post"]

    def get(self, request: HttpRequest) -> HttpResponse:
        return resume_from_page(request)

    def post(self, request: HttpRequest) -> HttpResponse:
        interaction, shown = interactions.resolve_reference(request, request.POST.get("reference", ""))
        if interaction is None:
            return resume_from_form(request)
        allowed = request.POST.get("decision") == "allow"
        chosen = shown.optional.intersection(request.POST.getlist("optional")) if allowed else None
        auth_request = build_auth_request(request, interaction, interaction.parameters, chosen)
        try:
            outcome = checks.decide(auth_request)
        except AuthorizationError as error:
            counts.request_ended(auth_request, error)
            return pages.error_page(request, error)
        if allowed and isinstance(outcome, IssueCode) and auth_request.shown != shown:
            # The optional scopes, or whether the app counts as reviewed, changed after the page was opened: show the
            # current question, also if the app got a code since.
            return HttpResponseRedirect(interactions.save_interaction(request.session, interaction.query).url)
        if allowed and isinstance(outcome, IssueCode):
            counts.consent_allowed(auth_request)
        if not allowed and not isinstance(outcome, ClientUnavailable):
            outcome = RedirectError(AuthorizationError(Reason.CANCELLED, client=auth_request.client))
        return self.answer(request, auth_request, outcome)
