"""Pages that ask for a code from the mailbox, and two of them: to reauthenticate, and after too many wrong guesses."""

from typing import Any

from django import forms
from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods
from django.views.generic.edit import FormView

from accounts.allauth_internals import BaseReauthenticateView
from accounts.entrance import guesses, reauthentication
from accounts.mail.codes import DAY, WRONG_CODE, MailboxCode
from accounts.sessions.authentication import MAILED_CODE, account_of
from core.limits import Rate, RateLimited
from core.limits.middleware import limited_by_address

SOME_MINUTES = 5 * 60


class CodeForm(forms.Form):
    """The code from the email."""

    code = forms.CharField(
        label="Code",
        max_length=40,
        widget=forms.TextInput(attrs={"autocomplete": "one-time-code", "autocapitalize": "characters"}),
    )


@method_decorator([never_cache, require_http_methods(["GET", "HEAD", "POST"])], name="dispatch")
class CodePage(FormView[Any]):
    """A page that mails a code on request (`action=send`), and does what the right code allows."""

    form_class: type[forms.Form] = CodeForm
    refused_field: str | None = "code"  # where the page shows that the code was refused

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        return self.early_response() or super().dispatch(request, *args, **kwargs)

    def early_response(self) -> HttpResponse | None:
        """Return the response if nobody needs a code here."""
        return None

    def mailbox_code(self) -> MailboxCode | None:
        """Return the code that this page mails, None if it mails none."""
        return None

    def limits(self) -> tuple[guesses.Limit, ...]:
        """Return what a wrong code counts under."""
        return ()

    def use_code(self, form: Any) -> None:
        """Do what the code allows. Raises ValidationError if it is refused."""
        raise NotImplementedError

    def page_url(self) -> str:
        """Return the URL of this page, after its code was mailed."""
        return self.request.path

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        code = self.mailbox_code()
        if code is None or request.POST.get("action") != "send":
            return super().post(request, *args, **kwargs)
        try:
            code.send(request)
        except RateLimited:
            page = self.get_context_data(form=self.form_class(), sent=True, no_more=True)
            return self.render_to_response(page)
        return HttpResponseRedirect(self.page_url())

    def form_valid(self, form: Any) -> HttpResponse:
        try:
            with guesses.Guess(*self.limits()):  # counted before the check, so that parallel guesses count too
                self.use_code(form)
        except ValidationError as refused:
            form.add_error(self.refused_field, refused)
            return self.form_invalid(form)
        return super().form_valid(form)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        code = self.mailbox_code()
        if code is not None:
            lasts = "a day" if code.lasts == DAY else f"{code.lasts // 60} minutes"
            kwargs = {"sent": code.was_sent(self.request), "lasts": lasts} | kwargs
        return super().get_context_data(**kwargs)


@method_decorator([never_cache, login_required], name="dispatch")
class ReauthenticateByEmailView(CodePage, BaseReauthenticateView):  # type: ignore[misc]  # allauth is untyped
    """/account/reauthenticate/email/."""

    reauthentication_method = MAILED_CODE
    template_name = "accounts/reauthenticate_by_email.html"

    def mailbox_code(self) -> MailboxCode:
        return reauthentication.code_of(account_of(self.request))

    def limits(self) -> tuple[guesses.Limit, ...]:
        rate = Rate("confirmation code, account", settings.GUESSES_PER_KNOWN_BROWSER, SOME_MINUTES)
        return ((rate, (account_of(self.request).pk,)),)

    def use_code(self, form: Any) -> None:
        if not self.mailbox_code().is_right(form.cleaned_data["code"]):
            raise ValidationError(WRONG_CODE)
        reauthentication.note_confirmed(self.request, account_of(self.request))

    def page_url(self) -> str:
        url: str = self.passthrough_next_url(self.request.path)
        return url

    def get_reauthentication_alternatives(self) -> list[dict[str, Any]]:
        return []  # people who have another method never see this page


@limited_by_address
class ProveMailboxView(CodePage):
    """/account/login/mailbox/: then the browser continues where it was."""

    template_name = "accounts/mailbox_proof.html"

    def early_response(self) -> HttpResponse | None:
        asked = guesses.asked_of(self.request)
        if asked is None:
            return HttpResponseRedirect(reverse("resume" if self.request.user.is_authenticated else "account_login"))
        self.email, self.success_url = asked["email"], asked["then"]
        return None

    def mailbox_code(self) -> MailboxCode:
        return guesses.code_of(self.email)

    def use_code(self, form: Any) -> None:
        if not self.mailbox_code().is_right(form.cleaned_data["code"]):
            raise ValidationError(WRONG_CODE)
        del self.request.session[guesses.ASKED]
        guesses.note_proved(self.request, self.email)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(email=self.email, **kwargs)
