"""/account/reauthenticate/email/: asks people who have neither a password nor a factor for a code from a mail."""

from typing import Any

from allauth.account.views import BaseReauthenticateView
from django import forms
from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache

from accounts import email_reauthentication
from accounts.authentication import account_of
from accounts.mail import resending
from devportal.lib.ratelimit import Rate, RateLimited, hit, undo_hit

SOME_MINUTES = 5 * 60


class CodeForm(forms.Form):
    """The code from the mail."""

    code = forms.CharField(
        label="Code",
        max_length=40,
        widget=forms.TextInput(attrs={"autocomplete": "one-time-code", "autocapitalize": "characters"}),
    )


@method_decorator([never_cache, login_required], name="dispatch")
class ReauthenticateByEmailView(BaseReauthenticateView):  # type: ignore[misc]  # allauth is untyped
    """Mails the code on request, and takes it."""

    form_class = CodeForm
    template_name = "account/reauthenticate_by_email.html"

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if request.POST.get("action") == "send":
            return self._send(request)
        response: HttpResponse = super().post(request, *args, **kwargs)
        return response

    def form_valid(self, form: Any) -> HttpResponse:
        account = account_of(self.request)
        guess = Rate("confirmation code, account", settings.GUESSES_PER_KNOWN_BROWSER, SOME_MINUTES)
        hit(guess, account.pk)  # before the code is checked, so that parallel guesses count too
        if not email_reauthentication.is_right(account, form.cleaned_data["code"]):
            form.add_error("code", "This is not the code of the newest mail. Type it exactly as it is in the mail.")
            refused: HttpResponse = self.form_invalid(form)
            return refused
        undo_hit(guess, account.pk)
        email_reauthentication.note_confirmed(self.request, account)
        response: HttpResponse = super().form_valid(form)
        return response

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context_data(**kwargs)
        sent = self.request.session.get(resending.SENT, {}).get("to") == account_of(self.request).email
        return context | {"sent": sent}

    def get_reauthentication_alternatives(self) -> list[dict[str, Any]]:
        return []  # people who have another way never see this page

    def _send(self, request: HttpRequest) -> HttpResponse:
        try:
            email_reauthentication.send_code(request, account_of(request))
        except RateLimited:
            page: HttpResponse = self.render_to_response(self.get_context_data() | {"sent": True, "no_more": True})
            return page
        return HttpResponseRedirect(self.passthrough_next_url(request.path))


reauthenticate_by_email = ReauthenticateByEmailView.as_view()
