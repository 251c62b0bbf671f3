"""Sign-up: the email address first, then the name, and a passkey or a password.

The first page only stores the email address in the session. It looks nothing up, so it is the same for every address.
"""

from typing import Any

from allauth.account import views as account_views
from django import forms
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from accounts.entrance.forms import TAKES_EMAIL, EmailField, keep_typed_email, typed_email
from core.http.headers import in_popups
from core.limits.middleware import limited_by_address

FIRST = "email"  # the value of the first form's field `step`


class EmailForm(forms.Form):
    """The email address of a new account."""

    email = EmailField()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["email"].widget.attrs[TAKES_EMAIL] = True


class TypedEmailMixin:
    """Fills in the email address of the first page, which the second page shows as text."""

    request: HttpRequest

    def get_initial(self) -> dict[str, Any]:
        typed = typed_email(self.request)
        initial: dict[str, Any] = super().get_initial()  # type: ignore[misc]
        return ({"email": typed} if typed else {}) | initial

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context_data(**kwargs)  # type: ignore[misc]
        form = context["form"]
        if not isinstance(form, EmailForm) and form["email"].value():
            form.fields["email"].widget = forms.HiddenInput()
        return context


@in_popups
@limited_by_address
class SignUpView(TypedEmailMixin, account_views.SignupView):  # type: ignore[misc]  # allauth is untyped
    """/account/signup/: the email address. The complete form is accepted here as well."""

    def get_form_class(self) -> Any:
        is_first = self.request.method != "POST" or self.request.POST.get("step") == FIRST
        return EmailForm if is_first else super().get_form_class()

    def form_valid(self, form: Any) -> HttpResponse:
        if not isinstance(form, EmailForm):
            response: HttpResponse = super().form_valid(form)
            return response
        keep_typed_email(self.request, form.cleaned_data["email"])
        return HttpResponseRedirect(self.passthrough_next_url(reverse("account_signup_details")))


@in_popups
@limited_by_address
class SignUpDetailsView(TypedEmailMixin, account_views.SignupView):  # type: ignore[misc]
    """/account/signup/details/: the name, and a password or the button for a passkey."""


@in_popups
@limited_by_address
class SignUpByPasskeyView(TypedEmailMixin, account_views.SignupByPasskeyView):  # type: ignore[misc]
    """/account/signup/passkey/: the form of the page before, sent with the button for a passkey."""
