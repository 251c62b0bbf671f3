"""Forms that create a passkey or security key, and that accept its response (setting MFA_FORMS)."""

import contextlib
from collections.abc import Iterator
from typing import Any

from allauth.core import context as allauth_context
from allauth.mfa.models import Authenticator
from allauth.mfa.webauthn import forms as webauthn_forms
from django import forms
from django.core.exceptions import ValidationError

from accounts.activity import audit_lines
from accounts.allauth_internals import webauthn
from accounts.entrance import guesses, reauthentication
from accounts.entrance.staff import needs_verified_keys
from accounts.factors import ceremonies
from accounts.factors.ceremonies import Purpose
from accounts.models import Account
from accounts.sessions import keys
from accounts.sessions.authentication import current_authentication
from core.invisible import shows_something, validate_visible

EXPIRED = "This took too long, or another page asked for your passkey in the meantime. Please try again."
NOT_VERIFIED = "Your passkey or security key did not ask for your fingerprint, your face or a PIN. Try again with it."
NOT_ALONE = "This security key works only after your password. Sign in with your password first."
UNUSABLE = "The response of your passkey or security key could not be checked. Please try again."
UNKNOWN = (
    "No account here has this passkey. It was probably removed. Sign in another way, and delete the passkey from your "
    "device or password manager."
)


class KeyAnswerField(forms.JSONField):
    """The response of a key, as JSON."""

    def to_python(self, value: Any) -> Any:
        try:
            return super().to_python(value)
        except RecursionError:  # caused by deeply nested lists
            raise ValidationError(self.error_messages["invalid"], code="invalid") from None

    def bound_data(self, data: Any, initial: Any) -> Any:
        return ""  # a response is valid once: the error page asks for another one


@contextlib.contextmanager
def refused_if_no_answer() -> Iterator[None]:
    """Reject JSON that is not the response of a key: the library assumes that all its members exist.

    The library's own sentence about a wrong code is replaced, because nobody has typed a code.
    """
    try:
        yield
    except ValidationError as error:
        raise ValidationError(UNUSABLE, code="unusable") if error.code == "incorrect_code" else error from None
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ValidationError(UNUSABLE, code="unusable") from error


class ChallengeMixin(forms.Form):
    """A form that only accepts a response to a challenge of its own purpose, once and for a few minutes.

    `user` is None if the response itself identifies the account.
    """

    purpose: ceremonies.Purpose
    user: Account | None
    challenge_is_current = False

    def full_clean(self) -> None:
        if not self.is_bound:
            return super().full_clean()
        with ceremonies.challenge_of(self.purpose, self.user) as self.challenge_is_current:
            super().full_clean()
        if self.errors and self.purpose in (ceremonies.Purpose.SIGN_IN, ceremonies.Purpose.SECOND_FACTOR):
            audit_lines.note_refused(allauth_context.request, "key", audit_lines.WRONG, self.user or "")

    def check_challenge(self) -> None:
        """Raise ValidationError if there is no challenge that this form may accept."""
        if not self.challenge_is_current:
            raise ValidationError(EXPIRED, code="expired")


class UserVerificationMixin(ChallengeMixin, webauthn_forms.AuthenticateWebAuthnForm):  # type: ignore[misc]  # untyped
    """Marks the key that was used with `user_was_verified`, after its response has been validated.

    With `needs_verification`, a key that did not verify its user is rejected, whatever its challenge asked for.
    """

    needs_verification = False
    credential = KeyAnswerField(required=True, widget=forms.HiddenInput)

    def clean_credential(self) -> Authenticator:
        self.check_challenge()
        answer: Any = self.cleaned_data["credential"]
        with refused_if_no_answer():
            authenticator: Any = super().clean_credential()
        flags = webauthn.parse_authentication_response(answer).response.authenticator_data
        authenticator.user_was_verified = flags.is_user_verified()
        if self.needs_verification and not authenticator.user_was_verified:
            raise ValidationError(NOT_VERIFIED, code="not_verified")
        return authenticator


class AuthenticateKeyForm(UserVerificationMixin):
    """A key as the second factor of a sign-in."""

    purpose = Purpose.SECOND_FACTOR


class LoginKeyForm(UserVerificationMixin, webauthn_forms.LoginWebAuthnForm):  # type: ignore[misc]
    """A passkey that signs in without a password."""

    purpose = Purpose.SIGN_IN
    needs_verification = True
    unknown_id: bytes | None = None  # of a passkey that no account has

    def clean_credential(self) -> Authenticator:
        answer = self.cleaned_data["credential"] = keys.with_account(self.cleaned_data["credential"])
        try:
            authenticator = super().clean_credential()
        except ValidationError as error:
            self.unknown_id = keys.unknown_id(answer) if error.code == "unusable" else None
            if self.unknown_id is None:
                raise
            raise ValidationError(UNKNOWN, code="unknown") from error
        if not keys.may_sign_in(authenticator):
            raise ValidationError(NOT_ALONE, code="not_alone")
        return authenticator


class ReauthenticateKeyForm(UserVerificationMixin, webauthn_forms.ReauthenticateWebAuthnForm):  # type: ignore[misc]
    """A key of someone who is signed in, which was not added in this session."""

    purpose = Purpose.REAUTHENTICATION

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # of the untyped library: takes `user`
        super().__init__(*args, **kwargs)
        assert self.user is not None
        self.needs_verification = needs_verified_keys(self.user)

    def clean_credential(self) -> Authenticator:
        assert self.user is not None
        self.check_challenge()
        with guesses.count_key(allauth_context.request, self.user):
            authenticator = super().clean_credential()
        reauthentication.check_not_added_here(allauth_context.request, authenticator)
        return authenticator


class StepUpKeyForm(ReauthenticateKeyForm):
    """A key for an app that requires a higher level, which has to count for that level."""

    purpose = Purpose.STEP_UP

    def clean_credential(self) -> Authenticator:
        authenticator = super().clean_credential()
        if not current_authentication(allauth_context.request).counts(authenticator):
            raise ValidationError(reauthentication.ADDED_HERE, code="added_late")
        return authenticator


def begin_authentication(account: Account, purpose: Purpose, *, verified: bool) -> dict[str, Any]:
    """Return the browser's options for a response of the person's keys.

    allauth asks every key to verify its user if it can (`preferred`). With `verified`, it has to: the state that the
    response is checked against says so too, and a response without the flag is rejected.
    """
    options: dict[str, Any] = webauthn.begin_authentication(account)
    if verified:
        options["publicKey"] = {**options["publicKey"], "userVerification": "required"}
        webauthn.set_state({**webauthn.get_state(), "user_verification": "required"})
    ceremonies.keep_challenge(purpose, account)
    return options


def begin_conditional_creation(account: Account) -> dict[str, Any]:
    """Return the options with which a browser creates a passkey by itself, and store their challenge.

    It does not verify the person then, so that must not be required; each sign-in with the passkey does.
    """
    options: dict[str, Any] = webauthn.begin_registration(account, True)
    asked = {**options["publicKey"]["authenticatorSelection"], "userVerification": "preferred"}
    webauthn.set_state({**webauthn.get_state(), "user_verification": "preferred"})
    ceremonies.keep_challenge(Purpose.CONDITIONAL, account)
    return {**options, "publicKey": {**options["publicKey"], "authenticatorSelection": asked}}


class NamedByDevice(ChallengeMixin):
    """A default name that nobody changed is replaced by the name of the passkey provider, if it is known."""

    user: Any
    credential = KeyAnswerField(required=True, widget=forms.HiddenInput)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["name"].widget.attrs |= {"maxlength": keys.NAME_LENGTH, "autocomplete": "off"}
        self.fields["credential"].error_messages["required"] = (
            "The browser did not create a passkey. Press the button again and follow its instructions."
        )

    def clean_name(self) -> str:
        if not shows_something(self.cleaned_data["name"]):
            self.cleaned_data["name"] = ""  # then the library finds one
        name: str = super().clean_name()  # type: ignore[misc]  # of the library's form
        return name[: keys.NAME_LENGTH]

    def clean(self) -> dict[str, Any]:
        if self.cleaned_data.get("credential"):
            self.check_challenge()
        with refused_if_no_answer():
            cleaned = super().clean() or {}
        keeper = keys.keeper_of(cleaned["credential"]) if cleaned.get("credential") else ""
        if keeper and cleaned.get("name") == self.get_initial_for_field(self.fields["name"], "name"):
            cleaned["name"] = keys.untaken(keeper, keys.names_of(self.user))
        return cleaned


class AddWebAuthnForm(NamedByDevice, webauthn_forms.AddWebAuthnForm):  # type: ignore[misc]  # allauth is untyped
    """Another passkey, or a security key for two-step verification only."""

    purpose = Purpose.ENROLMENT

    passwordless = forms.TypedChoiceField(
        choices=[("true", "Passkey"), ("false", "Security key, for two-step verification only")],
        coerce=lambda value: value == "true",
        initial="true",
    )


class RenameKeyForm(webauthn_forms.EditWebAuthnForm):  # type: ignore[misc]
    """Another name for a passkey or security key."""

    name = forms.CharField(
        max_length=keys.NAME_LENGTH,
        validators=[validate_visible],
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )


class SignupWebAuthnForm(NamedByDevice, webauthn_forms.SignupWebAuthnForm):  # type: ignore[misc]
    """The passkey of an account that is being created."""

    purpose = Purpose.SIGN_UP


class ConditionalKeyForm(NamedByDevice, webauthn_forms.SignupWebAuthnForm):  # type: ignore[misc]
    """A passkey that the browser created by itself after a sign-in with a password."""

    purpose = Purpose.CONDITIONAL

    def clean(self) -> dict[str, Any]:
        made = self.cleaned_data.get("credential")
        if made:
            with refused_if_no_answer():
                self.cleaned_data["credential"] = keys.with_presence(made)
        cleaned = super().clean()
        return cleaned | {"credential": made} if made else cleaned
