"""Forms of the account pages that differ from allauth's, or that allauth does not have."""

import contextlib
from functools import cached_property
from typing import Any

from allauth.account import forms as allauth_forms
from allauth.account.adapter import get_adapter as get_account_adapter
from allauth.core import context as allauth_context
from allauth.mfa import app_settings
from allauth.mfa.adapter import get_adapter
from allauth.mfa.base import forms as mfa_forms
from allauth.mfa.models import Authenticator
from allauth.mfa.totp import forms as totp_forms
from django import forms
from django.conf import settings
from django.contrib.auth.hashers import make_password
from django.core.cache import cache
from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse

from accounts.activity import audit_lines
from accounts.allauth_internals import (
    EMAIL_VERIFICATION_CODE_SESSION_KEY,
    PASSWORD_RESET_VERIFICATION_SESSION_KEY,
    SECRET_SESSION_KEY,
)
from accounts.entrance import guesses, reauthentication, sign_up
from accounts.entrance.forms import EmailField
from accounts.mail import recipient_limit
from accounts.models import Account
from accounts.profile import files
from accounts.profile.claims import clean_picture
from accounts.recovery import address_changes
from accounts.sessions.authentication import was_added_here
from accounts.sessions.keys import Held, held_among, held_by
from core.database import encryption
from core.email_addresses import EmailAddressField, stored_address
from core.invisible import validate_visible
from core.limits import Rate, RateLimited
from core.telemetry import metrics
from core.typed_codes import plain_code

DAY = 24 * 3600


class LoginForm(allauth_forms.LoginForm):  # type: ignore[misc]
    """The sign-in form, prefilled with the app's `login_hint` (OpenID Connect Core 3.1.2.1)."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["login"] = EmailField()
        # The browser offers passkeys in the field's autocomplete list (WebAuthn §5.1.4, conditional mediation).
        self.fields["login"].widget.attrs["autocomplete"] = "username webauthn"
        hint = self.request.GET.get("login_hint", "") or recipient_limit.interrupted_sign_up(self.request)
        with contextlib.suppress(forms.ValidationError):
            self.fields["login"].initial = stored_address(hint)


class SignupForm(allauth_forms.SignupForm):  # type: ignore[misc]
    """The sign-up form; an unverified email address can sign up again (accounts/entrance/sign_up.py)."""

    email = EmailField()

    account_already_exists: bool
    hashed_password: str  # unusable if a passkey follows; the adapter stores it

    def __init__(self, *args: Any, by_passkey: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # The page offers both ways, so the form has a password field even if it was sent with the other button.
        self.by_passkey = by_passkey
        self.fields["password1"].required = not (by_passkey and self.is_bound)

    def clean_password1(self) -> str:
        return "" if self.by_passkey else self.cleaned_data["password1"]

    def try_save(self, request: HttpRequest) -> tuple[Account | None, HttpResponse | None]:
        """Create the account, or store the sign-up for later. Known and unknown email addresses hash one password each.

        The hash comes first: inside a transaction it would hold a slot and locks (docs/architecture.md#processes).
        """
        self.hashed_password = make_password(self.cleaned_data.get("password1") or None)
        sign_up.forget_form(request)
        try:
            return self._save_or_keep(request)
        except IntegrityError:  # another sign-up with the same email address was faster
            self.account_already_exists = True
            return self._save_or_keep(request)

    def _save_or_keep(self, request: HttpRequest) -> tuple[Account | None, HttpResponse | None]:
        if self.account_already_exists and (account := sign_up.find_unverified(self.cleaned_data["email"])):
            sign_up.keep_form(request, account, self.hashed_password, **self.names())
            return account, None
        saved: tuple[Account | None, HttpResponse | None] = super().try_save(request)
        return saved

    def save(self, request: HttpRequest) -> Account:
        with transaction.atomic():
            account: Account = super().save(request)
        return account


class ReauthenticateForm(allauth_forms.ReauthenticateForm):  # type: ignore[misc]  # allauth is untyped
    """Reauthentication by password, with the same two fields as the sign-in form."""

    login = EmailAddressField(label="Email", widget=forms.EmailInput(attrs={"autocomplete": "username"}))

    field_order = ("login", "password")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["login"].initial = self.user.email

    def clean_login(self) -> str:
        login: str = self.cleaned_data["login"]
        if login != self.user.email:
            raise forms.ValidationError(
                f"You are signed in as {self.user.email}. To sign in as someone else, use another account."
            )
        return login


class AddEmailForm(allauth_forms.AddEmailForm):  # type: ignore[misc]
    """The form for another email address."""

    email = EmailField()


class ChangePasswordForm(allauth_forms.ChangePasswordForm):  # type: ignore[misc]
    """The form for a new password; a wrong current password counts as a guess (accounts/entrance/guesses.py)."""

    def clean_oldpassword(self) -> str:
        with guesses.count_password(allauth_context.request, self.user.email):
            password: str = super().clean_oldpassword()
        return password


class MailedCodeMixin(allauth_forms.BaseConfirmCodeForm):  # type: ignore[misc]  # allauth is untyped
    """A code from an email, which the session holds encrypted (accounts/adapter.py).

    It is counted before it is checked: django-allauth counts in the session, which misses parallel guesses. Further
    guesses count as wrong, so the session's count soon ends the code as well.
    """

    state: str  # session key of what the code is for
    most: int

    def __init__(self, *args: Any, code: str = "", **kwargs: Any) -> None:
        with contextlib.suppress(encryption.Unreadable):  # otherwise no code is right
            kwargs["code"] = encryption.decrypt(code) if code else ""
        super().__init__(*args, **kwargs)

    def clean_code(self) -> str:
        session = allauth_context.request.session
        self.cleaned_data["code"] = plain_code(self.cleaned_data["code"])
        rate = Rate("mailed code", self.most, DAY)  # longer than a code is valid
        try:
            guess = guesses.Guess((rate, (session.session_key, session[self.state]["at"])))
        except RateLimited:
            self._note_refused(audit_lines.LIMITED)
            raise get_account_adapter().validation_error("incorrect_code") from None
        guess.when_wrong.append(lambda: self._note_refused(audit_lines.WRONG))
        with guess:
            code: str = super().clean_code()
        return code

    def _note_refused(self, reason: str) -> None:
        who = getattr(self, "user", None) or ""
        audit_lines.note_refused(allauth_context.request, "mailed_code", reason, who)


class ConfirmEmailForm(MailedCodeMixin, allauth_forms.ConfirmEmailVerificationCodeForm):  # type: ignore[misc]
    """The code of a sign-up, or of a new email address."""

    state = EMAIL_VERIFICATION_CODE_SESSION_KEY
    most = settings.ACCOUNT_EMAIL_VERIFICATION_BY_CODE_MAX_ATTEMPTS

    def clean_code(self) -> str:
        try:
            code: str = super().clean_code()
        except forms.ValidationError as error:
            # The code is right. A sign-up that nobody has verified makes way for the owner of the mailbox.
            if error.code != "email_taken" or self.user is None or address_changes.is_taken(self.email, self.user):
                raise
            return str(self.cleaned_data["code"])
        return code


class ConfirmResetForm(MailedCodeMixin, allauth_forms.ConfirmPasswordResetCodeForm):  # type: ignore[misc]
    """The code of a password reset."""

    state = PASSWORD_RESET_VERIFICATION_SESSION_KEY
    most = settings.ACCOUNT_PASSWORD_RESET_BY_CODE_MAX_ATTEMPTS


DIGITS = {"inputmode": "numeric"}  # codes of authenticator apps and recovery codes; mailed codes have letters


def _use_up(account: Account, code: str) -> bool:
    """Return whether a code of the person's authenticator app is used for the first time (RFC 6238 §5.2).

    django-allauth remembers used codes too, but not the one that sets up the app.
    """
    seconds = app_settings.TOTP_PERIOD * (2 * app_settings.TOTP_TOLERANCE + 1)
    return bool(cache.add(f"used_app_code:{account.pk}:{code}", 1, seconds))


class ActivateTOTPForm(totp_forms.ActivateTOTPForm):  # type: ignore[misc]
    """The first code of an authenticator app, whose secret the session holds encrypted until then."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        session = allauth_context.request.session
        try:
            session[SECRET_SESSION_KEY] = encryption.decrypt(session.get(SECRET_SESSION_KEY, ""))
        except encryption.Unreadable:  # none yet: allauth makes one
            session.pop(SECRET_SESSION_KEY, None)
        super().__init__(*args, **kwargs)
        session[SECRET_SESSION_KEY] = encryption.encrypt(self.secret)
        self.fields["code"].widget.attrs |= DIGITS

    def clean_code(self) -> str:
        self.cleaned_data["code"] = plain_code(self.cleaned_data["code"])
        code: str = super().clean_code()
        _use_up(self.user, code)
        return code


class RateLimitedCodeMixin(mfa_forms.BaseAuthenticateForm):  # type: ignore[misc]
    """A code for two-step verification, rate-limited (accounts/entrance/guesses.py)."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["code"].widget.attrs |= DIGITS

    @cached_property
    def held(self) -> Held:
        """The person's factors; the page asks for nothing else."""
        return held_by(self.user)

    def clean_code(self) -> str:
        request = allauth_context.request
        try:
            with guesses.count_code(request, self.user):
                code = self._checked_code()
                self.check_factor()
                if self.authenticator.type == Authenticator.Type.TOTP and not _use_up(self.user, code):
                    raise get_adapter().validation_error("incorrect_code")
        except forms.ValidationError:
            metrics.SIGN_INS.count("wrong_code")
            guesses.notify_about_wrong_codes(request, self.user)
            raise
        guesses.forget_wrong_codes(self.user)
        return code

    def _checked_code(self) -> str:
        self.cleaned_data["code"] = plain_code(self.cleaned_data["code"])
        try:
            code: str = super().clean_code()
        except Authenticator.DoesNotExist:  # recovery codes that were replaced or removed a moment ago
            raise get_adapter().validation_error("incorrect_code") from None
        return code

    def check_factor(self) -> None:
        """Raise ValidationError if the code is right, but its factor does not count here."""


class MFAAuthenticateForm(RateLimitedCodeMixin, mfa_forms.AuthenticateForm):  # type: ignore[misc]
    """Two-step verification at sign-in."""


class MFAReauthenticateForm(RateLimitedCodeMixin, mfa_forms.ReauthenticateForm):  # type: ignore[misc]
    """Two-step verification at reauthentication: a code of a factor that was not added in this session."""

    @cached_property
    def held(self) -> Held:
        request = allauth_context.request
        factors = reauthentication.factors_of_person(request)
        return held_among(factor for factor in factors if not was_added_here(request, factor))

    def check_factor(self) -> None:
        reauthentication.check_not_added_here(allauth_context.request, self.authenticator)


class ProfileForm(forms.ModelForm[Account]):
    """The person's own name and picture."""

    picture = forms.FileField(
        label="Photo", required=False, widget=forms.ClearableFileInput(attrs={"accept": "image/*"})
    )

    class Meta:
        model = Account
        fields = ("given_name", "family_name", "picture")

    def clean_given_name(self) -> str:
        validate_visible(self.cleaned_data["given_name"])
        return str(self.cleaned_data["given_name"])

    def clean_family_name(self) -> str | None:
        validate_visible(self.cleaned_data["family_name"] or "")
        return (self.cleaned_data["family_name"] or "").strip() or None

    def save(self, commit: bool = True) -> Account:
        """Save the name, and the photo with its file if it was changed. Raises StoreUnavailable.

        Everything else was read before the photo was processed, and another request may have changed it since.
        """
        account, fields = self.instance, ["given_name", "family_name"]
        account.given_name, account.family_name = self.cleaned_data["given_name"], self.cleaned_data["family_name"]
        content, is_changed = self.cleaned_data["picture"], "picture" in self.changed_data
        with files.discarded_on_failure():
            stored = files.store_picture(content) if is_changed and content else ""
            with transaction.atomic():
                if is_changed:
                    files.replace_picture(account, stored)
                    fields.append("picture")
                account.save(update_fields=fields)
        return account

    def clean_picture(self) -> Any:
        upload = self.cleaned_data["picture"]
        return clean_picture(upload) if upload and "picture" in self.changed_data else upload


class InvitationForm(forms.Form):
    """The email address that the owner of a family invites."""

    email = EmailAddressField(
        label="Email address",
        max_length=254,
        help_text="They share your family's plan when they accept. The email shows your email address.",
        widget=forms.EmailInput(attrs={"autocomplete": "off"}),
    )
