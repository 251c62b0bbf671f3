"""The page that asks a browser to prove an account's mailbox before it guesses on."""

from django import forms
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from accounts import mailbox_proof
from accounts.mail import resending
from devportal.lib.ratelimit import RateLimited
from devportal.lib.ratelimit.forms import limited_by_address


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
        if not mailbox_proof.is_right(self.email, code):
            raise forms.ValidationError(
                "This is not the code of the newest mails. Type it exactly as it is in the mail."
            )
        return code


@limited_by_address
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def prove_mailbox(request: HttpRequest) -> HttpResponse:
    """/account/login/mailbox/: sends the code on request and takes it; then the browser goes on where it was."""
    asked = mailbox_proof.asked_of(request)
    if asked is None:
        return HttpResponseRedirect(reverse("resume" if request.user.is_authenticated else "account_login"))
    email = asked["email"]
    if request.POST.get("action") == "send":
        return _send(request, email)
    form = ProofForm(email, request.POST or None)
    if request.method == "POST" and form.is_valid():
        del request.session[mailbox_proof.ASKED]
        mailbox_proof.note_proved(request, email)
        return HttpResponseRedirect(asked["then"])
    return render(request, "account/mailbox_proof.html", {"form": form, "email": email, "sent": _is_sent(request)})


def _send(request: HttpRequest, email: str) -> HttpResponse:
    if not resending.seconds_to_wait(request, email):
        try:
            mailbox_proof.send_code(request, email)
        except RateLimited:
            page = {"form": ProofForm(email), "email": email, "sent": True, "no_more": True}
            return render(request, "account/mailbox_proof.html", page)
    return HttpResponseRedirect(reverse("account_mailbox_proof"))


def _is_sent(request: HttpRequest) -> bool:
    return resending.SENT in request.session
