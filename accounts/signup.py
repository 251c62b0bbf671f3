"""What sign-up asks for beside address and password; allauth mixes it into its own form.

A module of its own: allauth imports it while its forms are still being made.
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
        """Return the name as it is kept."""
        family_name = self.cleaned_data["family_name"].strip() or None
        return {"given_name": self.cleaned_data["given_name"].strip(), "family_name": family_name}

    def signup(self, request: HttpRequest, user: Account) -> None:
        """Put the name on the new account; allauth calls this once the account is saved."""
        names = self.names()
        user.given_name, user.family_name = names["given_name"] or "", names["family_name"]
        user.save(update_fields=["given_name", "family_name"])
