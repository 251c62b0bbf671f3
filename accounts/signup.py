"""The fields of sign-up besides email address and password; allauth adds them to its own form.

This is a separate module, because allauth imports it while it is still defining its forms.
"""

from django import forms
from django.http import HttpRequest

from accounts.models import Account


class NamesForm(forms.Form):
    """The person's name (ACCOUNT_SIGNUP_FORM_CLASS)."""

    given_name = forms.CharField(
        label="Given name", max_length=100, widget=forms.TextInput(attrs={"autocomplete": "given-name"})
    )
    family_name = forms.CharField(
        label="Family name",
        max_length=100,
        required=False,
        widget=forms.TextInput(attrs={"autocomplete": "family-name"}),
    )

    field_order = ("email", "given_name", "family_name", "password1")

    def names(self) -> dict[str, str | None]:
        """Return the names as they are stored."""
        family_name = self.cleaned_data["family_name"].strip() or None
        return {"given_name": self.cleaned_data["given_name"].strip(), "family_name": family_name}

    def signup(self, request: HttpRequest, user: Account) -> None:
        """Store the names in the new account; allauth calls this after the account was saved."""
        names = self.names()
        user.given_name, user.family_name = names["given_name"] or "", names["family_name"]
        user.save(update_fields=["given_name", "family_name"])
