"""POST /connect/consent: the consent form."""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache
from django.views.generic import View

from oidc import sign_in_counts
from oidc.authorization import checks, interactions
from oidc.authorization.outcomes import ClientUnavailable, IssueCode, RedirectError
from oidc.errors import AuthorizationError
from oidc.reasons import Reason
from oidc.views import pages
from oidc.views.authorize import AuthorizationResponseMixin, build_auth_request


@method_decorator([never_cache, login_required], name="dispatch")
class ConsentView(AuthorizationResponseMixin, View):
    """Run all checks again on the pending request.

    The form contains only the person's decision, and which of the shown optional scopes they chose
    (docs/sign-in.md#optional-scopes). It can't add anything to the request.
    """

    http_method_names = ["get", "head", "post"]

    def get(self, request: HttpRequest) -> HttpResponse:
        return HttpResponseRedirect(reverse("resume"))  # reloaded, or reached with the back button

    def post(self, request: HttpRequest) -> HttpResponse:
        interaction, shown = interactions.resolve_reference(request, request.POST.get("reference", ""))
        if interaction is None:
            # The page was opened before the person switched accounts, or too long ago: show the current question.
            return HttpResponseRedirect(reverse("resume"))
        allowed = request.POST.get("decision") == "allow"
        chosen = shown.optional.intersection(request.POST.getlist("optional")) if allowed else None
        auth_request = build_auth_request(request, interaction, interaction.parameters, chosen)
        try:
            outcome = checks.decide(auth_request)
        except AuthorizationError as error:
            sign_in_counts.request_ended(auth_request, error)
            return pages.error_page(request, error)
        asks_now = interactions.Shown(auth_request.optional_scopes, auth_request.outside_host)
        if allowed and isinstance(outcome, IssueCode) and asks_now != shown:
            # The optional scopes, or whether the app counts as reviewed, changed after the page was opened: show the
            # current question.
            return HttpResponseRedirect(interaction.url)
        if allowed and isinstance(outcome, IssueCode):
            sign_in_counts.consent_allowed(auth_request)
        if not allowed and not isinstance(outcome, ClientUnavailable):
            outcome = RedirectError(AuthorizationError(Reason.CANCELLED, client=auth_request.client))
        return self.answer(request, auth_request, outcome)
