"""Forms of passkeys and security keys that keep whether the key checked who holds it (setting MFA_FORMS).

WebAuthn §6.1: the flag UV in what the key has signed. allauth checks the signature, and reads the flag only where it
asked for it.
"""

import contextlib
from collections.abc import Iterator
from typing import Any

from allauth.mfa.adapter import get_adapter
from allauth.mfa.models import Authenticator
from allauth.mfa.webauthn import forms as webauthn_forms
from allauth.mfa.webauthn.internal import auth as webauthn
from django import forms
from django.core.exceptions import ValidationError

from accounts.models import Account


class KeyAnswerField(forms.JSONField):
    """What a key has answered, as JSON."""

    def to_python(self, value: Any) -> Any:
        try:
            return super().to_python(value)
        except RecursionError:  # of lists in lists
            raise ValidationError(self.error_messages["invalid"], code="invalid") from None

    def bound_data(self, data: Any, initial: Any) -> Any:
        return ""  # an answer counts once: the page that says what is wrong asks for another


@contextlib.contextmanager
def refused_if_no_answer() -> Iterator[None]:
    """Refuse JSON that is no answer of a key: the library takes its members for granted."""
    try:
        yield
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise get_adapter().validation_error("incorrect_code") from error


class UserVerificationMixin(webauthn_forms.AuthenticateWebAuthnForm):  # type: ignore[misc]  # allauth is untyped
    """Marks the key that was used with `user_was_verified`, once its answer has been found to be right."""

    credential = KeyAnswerField(required=True, widget=forms.HiddenInput)

    def clean_credential(self) -> Authenticator:
        answer: Any = self.cleaned_data["credential"]
        with refused_if_no_answer():
            authenticator: Any = super().clean_credential()
        flags = webauthn.parse_authentication_response(answer).response.authenticator_data
        authenticator.user_was_verified = flags.is_user_verified()
        return authenticator


class AuthenticateKeyForm(UserVerificationMixin):
    """A key as the second step of a sign-in."""


class LoginKeyForm(UserVerificationMixin, webauthn_forms.LoginWebAuthnForm):  # type: ignore[misc]
    """A passkey that signs in by itself."""


class ReauthenticateKeyForm(UserVerificationMixin, webauthn_forms.ReauthenticateWebAuthnForm):  # type: ignore[misc]
    """A key of somebody who is signed in."""


def begin_authentication(account: Account, *, verified: bool) -> dict[str, Any]:
    """Return the options for the browser to ask a key of the person; `verified`: one that checks who holds it.

    allauth asks every key to do so if it can (`preferred`). Where it has to, the state that the answer is checked
    against says so too, and an answer without the flag is refused.
    """
    options: dict[str, Any] = webauthn.begin_authentication(account)
    if verified:
        options["publicKey"] = {**options["publicKey"], "userVerification": "required"}
        webauthn.set_state({**webauthn.get_state(), "user_verification": "required"})
    return options
