"""POST /connect/consent: the consent form."""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache
from django.views.generic import View

from oidc.authorization import checks, interactions
from oidc.authorization.outcomes import ClientUnavailable, RedirectError
from oidc.errors import AuthorizationError
from oidc.views import pages
from oidc.views.authorize import AuthorizationResponseMixin, build_auth_request, log_refusal


@method_decorator([never_cache, login_required], name="dispatch")
class ConsentView(AuthorizationResponseMixin, View):
    """Runs all checks again on the pending request; the form contributes nothing but the person's decision."""

    http_method_names = ["get", "head", "post"]

    def get(self, request: HttpRequest) -> HttpResponse:
        return HttpResponseRedirect(reverse("resume"))  # reloaded, or reached with the back button

    def post(self, request: HttpRequest) -> HttpResponse:
        interaction = interactions.resolve_reference(request, request.POST.get("reference", ""))
        if interaction is None:
            # Opened before a switch of accounts, or too long ago: show the question as it is now.
            return HttpResponseRedirect(reverse("resume"))
        allowed = request.POST.get("decision") == "allow"
        auth_request = build_auth_request(request, interaction, interaction.parameters, consent_given_now=allowed)
        try:
            outcome = checks.decide(auth_request)
        except AuthorizationError as error:
            log_refusal(auth_request, error)
            return pages.error_page(request, error)
        if not allowed and not isinstance(outcome, ClientUnavailable):
            outcome = RedirectError(AuthorizationError("access_denied", client=auth_request.client))
        return self.answer(request, auth_request, outcome)
