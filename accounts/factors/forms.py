"""Forms that make a passkey or security key."""

from typing import Any

from allauth.mfa.webauthn import forms as webauthn_forms
from django import forms

from accounts.factors import devices
from accounts.factors.ceremonies import Purpose
from accounts.key_forms import ChallengeMixin, KeyAnswerField, refused_if_no_answer

NAME_LENGTH = 60


class NamedByDevice(ChallengeMixin):
    """A name that nobody changed becomes that of the passkey's keeper, where it is known."""

    user: Any
    credential = KeyAnswerField(required=True, widget=forms.HiddenInput)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["name"].widget.attrs |= {"maxlength": NAME_LENGTH, "autocomplete": "off"}
        self.fields["credential"].error_messages["required"] = (
            "The browser did not create a passkey. Press the button again and follow its instructions."
        )

    def clean_name(self) -> str:
        name: str = super().clean_name()  # type: ignore[misc]  # of the library's form
        return name[:NAME_LENGTH]

    def clean(self) -> dict[str, Any]:
        if self.cleaned_data.get("credential"):
            self.check_challenge()
        with refused_if_no_answer():
            cleaned = super().clean() or {}
        keeper = devices.keeper_of(cleaned["credential"]) if cleaned.get("credential") else ""
        if keeper and cleaned.get("name") == self.get_initial_for_field(self.fields["name"], "name"):
            cleaned["name"] = devices.untaken(keeper, devices.names_of(self.user))
        return cleaned


class AddWebAuthnForm(NamedByDevice, webauthn_forms.AddWebAuthnForm):  # type: ignore[misc]  # allauth is untyped
    """A further passkey, or a security key that is a second step only."""

    purpose = Purpose.ENROLMENT

    passwordless = forms.TypedChoiceField(
        choices=[("true", "Passkey"), ("false", "Security key, for two-step verification only")],
        coerce=lambda value: value == "true",
        initial="true",
    )


class SignupWebAuthnForm(NamedByDevice, webauthn_forms.SignupWebAuthnForm):  # type: ignore[misc]
    """The passkey of an account that is being made."""

    purpose = Purpose.SIGN_UP
