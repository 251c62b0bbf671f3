"""Confirmation of a deletion: the name of what is deleted has to be typed."""

from typing import Any

from django import forms
from django.http import HttpRequest


class ConfirmNameForm(forms.Form):
    """Confirmation of a deletion by typing the name of what is deleted."""

    typed = forms.CharField(
        label="Type its name to confirm",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
        error_messages={"required": "Type the name to confirm."},
    )

    def __init__(self, *args: Any, name: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.name = name

    def clean_typed(self) -> str:
        typed: str = self.cleaned_data["typed"]
        if typed.split() != self.name.split():  # HTML collapses white space
            raise forms.ValidationError("This is not the name: type it as it is written above.")
        return typed


def confirm_by_name(request: HttpRequest, name: str) -> ConfirmNameForm:
    """Return the form that asks for the name. It is valid once the name was typed and sent."""
    return ConfirmNameForm(request.POST if request.method == "POST" else None, name=name)
