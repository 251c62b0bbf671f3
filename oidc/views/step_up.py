"""POST /connect/step-up: the form of the page that asks for a stronger sign-in (oidc/views/step_up_page.py)."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache
from django.views.generic import View

from accounts.allauth_internals import reauthenticate_by_key
from accounts.factors.ceremonies import Purpose, cancel
from accounts.factors.forms import StepUpKeyForm
from core.limits.middleware import limited_by_person
from oidc.authorization import checks, interactions
from oidc.authorization.interactions import Interaction
from oidc.authorization.outcomes import ClientUnavailable, PromptStepUp, RedirectError
from oidc.errors import AuthorizationError
from oidc.sign_in_log import counts
from oidc.values.reasons import Reason
from oidc.views import pages
from oidc.views.authorize import AuthorizationResponseMixin, build_auth_request, resume_from_form, resume_from_page
from oidc.views.pages import see_other

NOT_ACCEPTED = "The passkey was not accepted, or did not ask for your fingerprint, face or PIN. Try again."


@limited_by_person
@method_decorator([never_cache, login_required], name="dispatch")
class StepUpView(AuthorizationResponseMixin, View):
    """Accept a passkey's response or the person's decision. The checks then run again and decide if it is enough."""

    http_method_names = ["get", "head", "post"]

    def get(self, request: HttpRequest) -> HttpResponse:
        return resume_from_page(request)

    def post(self, request: HttpRequest) -> HttpResponse:
        interaction, _ = interactions.resolve_reference(request, request.POST.get("reference", ""))
        if interaction is None:
            return resume_from_form(request)
        interactions.save_interaction(request.session, interaction.query)  # again, if it was answered
        decision = request.POST.get("decision")
        if decision:
            cancel(Purpose.STEP_UP)
        if decision == "cancel":
            return self.decline(request, interaction)
        if decision == "go-on":
            interactions.go_on_without(request.session, interaction.key)
            return see_other(interaction.url)
        form = StepUpKeyForm(data=request.POST, user=request.user)
        if form.is_valid():
            reauthenticate_by_key(request, form.cleaned_data["credential"])
        else:
            messages.error(request, NOT_ACCEPTED)
        return see_other(interaction.url)

    def decline(self, request: HttpRequest, interaction: Interaction) -> HttpResponse:
        """Send the person back to the app with an error. It is `access_denied` if the level is no longer required."""
        auth_request = build_auth_request(request, interaction, interaction.parameters)
        try:
            outcome = checks.decide(auth_request)
        except AuthorizationError as error:
            counts.request_ended(auth_request, error)
            return pages.error_page(request, error)
        if isinstance(outcome, PromptStepUp) and outcome.essential:
            outcome = RedirectError(AuthorizationError(Reason.LEVEL_DECLINED, client=auth_request.client))
        elif not isinstance(outcome, ClientUnavailable):
            outcome = RedirectError(AuthorizationError(Reason.CANCELLED, client=auth_request.client))
        return self.answer(request, auth_request, outcome)
