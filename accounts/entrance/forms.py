"""Forms of the pages on which people sign in: a redirect after errors, and the field that has the focus.

After a form with errors, browsers would show a page that belongs to a POST: on the way back to it, they ask whether to
send the form again, or show an error. So the errors are stored in the session, and the next page shows them. Of the
typed values, only names and the email address are stored with them, never a password or code. Programs get the page
as the response.
"""

from collections.abc import Mapping
from typing import Any

from allauth.account.fields import EmailField as AllauthEmailField
from allauth.account.utils import get_next_redirect_url
from django.core.exceptions import ValidationError
from django.forms import BaseForm, PasswordInput
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict

from core import clock
from core.email_addresses import EmailAddressField

# URL names of the pages on which people sign in.
SIGN_IN_PAGES = frozenset(
    {
        "account_complete_password_reset",
        "account_confirm_password_reset_code",
        "account_email_verification_sent",
        "account_login",
        "account_mailbox_proof",
        "account_reset_password",
        "account_signup",
        "account_signup_by_passkey",
        "account_signup_details",
        "account_signup_password",
        "mfa_authenticate",
        "mfa_login_webauthn",
        "mfa_signup_webauthn",
    }
)
_CONFIRMATION_PAGES = frozenset(
    {
        "account_reauthenticate",
        "account_reauthenticate_by_email",
        "mfa_reauthenticate",
    }
)
_PAGES = SIGN_IN_PAGES | _CONFIRMATION_PAGES
_FORMS = ("form", "webauthn_form")  # their names in the contexts of these pages

REFUSED, TYPED = "refused_form", "typed_email"  # session keys: the form with errors; the email address that was typed
TAKES_EMAIL = "data-takes-email"  # attribute of fields that static/js/entrance.js fills in
_SECONDS = 5 * 60  # for which a form with errors waits
_KEPT = ("login", "email", "given_name", "family_name")
_LONGEST = 254  # characters of a value that is kept: the longest email address


class EmailField(EmailAddressField, AllauthEmailField):  # type: ignore[misc]  # allauth is untyped
    """allauth's field for email addresses, cleaned to the form in which they are stored."""


def redirect_or_prepare(request: HttpRequest, response: Any) -> Any:
    """Redirect after a form with errors, show it on the next page, and set the focus."""
    match, context = request.resolver_match, response.context_data or {}
    if match is None or match.view_name not in _PAGES:
        return response
    forms = {name: context[name] for name in _FORMS if isinstance(context.get(name), BaseForm)}
    if request.method == "POST" and _is_navigation(request):
        for name, form in forms.items():
            if form.errors:
                _keep(request, name, form)
                return _Redirect(_same_page(request))
    if request.method == "GET":
        _restore(request, forms)
    if "form" in forms:
        _capitalize_codes(forms["form"])
        if context.get("sent", True):  # otherwise a button comes first
            _focus(forms["form"])
    return response


class _Redirect(HttpResponseRedirect):
    """A redirect where Django expects a template's response."""

    def render(self) -> HttpResponse:
        return self


def typed_email(request: HttpRequest) -> str:
    """Return the email address of the last form with errors or of the first page of a sign-up, "" without one."""
    typed: str = request.session.get(TYPED, "")
    return typed


def keep_typed_email(request: HttpRequest, email: str) -> None:
    """Store an email address that was typed, so that a later page of this session can fill it in."""
    request.session[TYPED] = email


def _is_navigation(request: HttpRequest) -> bool:
    """Return whether a browser is about to show the response as a page (Fetch Metadata)."""
    return request.headers.get("Sec-Fetch-Mode") == "navigate"


def _same_page(request: HttpRequest) -> str:
    query = request.GET.copy()
    if following := get_next_redirect_url(request):
        query["next"] = following
    return f"{request.path}?{query.urlencode()}" if query else request.path


def _keep(request: HttpRequest, name: str, form: BaseForm) -> None:
    typed = {field: form.data.get(field, "") for field in _KEPT if field in form.fields}
    typed = {field: value for field, value in typed.items() if len(value) <= _LONGEST}
    request.session[REFUSED] = {
        "page": request.path,
        "form": name,
        "at": clock.timestamp(),
        "typed": typed,
        "errors": form.errors.get_json_data(),
    }
    if email := typed.get("login") or typed.get("email"):
        keep_typed_email(request, email)


def _restore(request: HttpRequest, forms: Mapping[str, BaseForm]) -> None:
    if REFUSED not in request.session:
        return
    kept = request.session.pop(REFUSED)
    form = forms.get(kept["form"])
    if form is None or kept["page"] != request.path or clock.timestamp() - kept["at"] > _SECONDS:
        return
    form.data = QueryDict(mutable=True)
    form.data.update(kept["typed"])
    # Only shown, so it is not validated: that would count a guess, or send an email.
    form.full_clean()  # of a form that is not bound: no errors yet
    form.is_bound, form.cleaned_data = True, {}
    for name, errors in kept["errors"].items():
        field = name if name in form.fields else None
        form.add_error(field, [ValidationError(error["message"], code=error["code"]) for error in errors])


def _capitalize_codes(form: BaseForm) -> None:
    """Make phones type capital letters into the fields for mailed codes, and not correct them."""
    if "code" in form.fields and "inputmode" not in form.fields["code"].widget.attrs:
        form.fields["code"].widget.attrs |= {"autocapitalize": "characters", "spellcheck": "false"}


def _focus(form: BaseForm) -> None:
    """Put the focus into the first field with an error, or else into the first empty one."""
    fields = form.visible_fields()
    wrong = [field for field in fields if field.errors]
    empty = [field for field in fields if not field.value() or isinstance(field.field.widget, PasswordInput)]
    for field in (wrong or empty)[:1]:
        field.field.widget.attrs["autofocus"] = True
