"""Pages that ask for a code from the mailbox: to reauthenticate, and after too many wrong guesses."""

from typing import Any

from django import forms
from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from accounts import guesses, reauthentication
from accounts.allauth_internals import BaseReauthenticateView
from accounts.authentication import MAILED_CODE, account_of
from accounts.mail import recipient_limit
from core.limits import Rate, RateLimited
from core.limits.middleware import limited_by_address

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
    """Mails the code on request, and checks it."""

    reauthentication_method = MAILED_CODE
    form_class = CodeForm
    template_name = "account/reauthenticate_by_email.html"

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if request.POST.get("action") == "send":
            return self._send(request)
        response: HttpResponse = super().post(request, *args, **kwargs)
        return response

    def form_valid(self, form: Any) -> HttpResponse:
        account = account_of(self.request)
        rate = Rate("confirmation code, account", settings.GUESSES_PER_KNOWN_BROWSER, SOME_MINUTES)
        with guesses.Guess((rate, (account.pk,))) as guess:
            if not reauthentication.is_right(account, form.cleaned_data["code"]):
                guess.is_wrong()
                form.add_error("code", "This is not the code of the newest mail. Type it exactly as it is in the mail.")
                refused: HttpResponse = self.form_invalid(form)
                return refused
        reauthentication.note_confirmed(self.request, account)
        response: HttpResponse = super().form_valid(form)
        return response

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context_data(**kwargs)
        return context | {"sent": reauthentication.was_sent(self.request, account_of(self.request))}

    def get_reauthentication_alternatives(self) -> list[dict[str, Any]]:
        return []  # people who have another method never see this page

    def _send(self, request: HttpRequest) -> HttpResponse:
        try:
            reauthentication.send_code(request, account_of(request))
        except RateLimited:
            page: HttpResponse = self.render_to_response(self.get_context_data() | {"sent": True, "no_more": True})
            return page
        return HttpResponseRedirect(self.passthrough_next_url(request.path))


reauthenticate_by_email = ReauthenticateByEmailView.as_view()


class ProofForm(forms.Form):
    """The code from the mail."""

    code = forms.CharField(
        label="Code",
        max_length=40,
        widget=forms.TextInput(attrs={"autocomplete": "one-time-code", "autocapitalize": "characters"}),
    )

    def __init__(self, email: str, data: object = None) -> None:
        super().__init__(data)  # type: ignore[arg-type]
        self.email = email

    def clean_code(self) -> str:
        code: str = self.cleaned_data["code"]
        if not guesses.is_right(self.email, code):
            raise forms.ValidationError(
                "This is not the code of the newest mails. Type it exactly as it is in the mail."
            )
        return code


@limited_by_address
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def prove_mailbox(request: HttpRequest) -> HttpResponse:
    """/account/login/mailbox/: sends the code on request and checks it; then the browser continues where it was."""
    asked = guesses.asked_of(request)
    if asked is None:
        return HttpResponseRedirect(reverse("resume" if request.user.is_authenticated else "account_login"))
    email = asked["email"]
    if request.POST.get("action") == "send":
        return _send(request, email)
    form = ProofForm(email, request.POST or None)
    if request.method == "POST" and form.is_valid():
        del request.session[guesses.ASKED]
        guesses.note_proved(request, email)
        return HttpResponseRedirect(asked["then"])
    page = {"form": form, "email": email, "sent": _is_sent(request, email)}
    return TemplateResponse(request, "account/mailbox_proof.html", page)


def _send(request: HttpRequest, email: str) -> HttpResponse:
    if not (_is_sent(request, email) and recipient_limit.seconds_to_wait(request, email)):
        try:
            guesses.send_code(request, email)
        except RateLimited:
            page = {"form": ProofForm(email), "email": email, "sent": True, "no_more": True}
            return render(request, "account/mailbox_proof.html", page)
    return HttpResponseRedirect(reverse("account_mailbox_proof"))


def _is_sent(request: HttpRequest, email: str) -> bool:
    return recipient_limit.was_sent(request, email, guesses.PURPOSE)
