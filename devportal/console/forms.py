"""Form fields for several pages of the console: names, and the typed confirmation of a deletion."""

from typing import Any

from django import forms
from django.http import HttpRequest

from oidc import names


class ConfirmNameForm(forms.Form):
    """Confirmation of a deletion by typing the name of the object."""

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
            raise forms.ValidationError("This is not the name. Type it as shown above.")
        return typed


def confirm_by_name(request: HttpRequest, name: str) -> ConfirmNameForm:
    """Return the form that asks for the name. It is valid when the typed name is correct."""
    return ConfirmNameForm(request.POST if request.method == "POST" else None, name=name)


class NameField(forms.CharField):
    """A name. `saved` is the current name, which may stay even if a newer rule would reject it."""

    saved = ""

    def run_validators(self, value: Any) -> None:
        if not self.saved or value != self.saved:
            names.validate_name(value)
        super().run_validators(value)


def accept_saved_name(field: forms.Field, saved: str) -> None:
    """Let a form keep the saved name, even if a newer rule would reject it."""
    assert isinstance(field, NameField)
    field.saved = saved


def name_field(help_text: str) -> NameField:
    """Return a form field for a name. `help_text` says who sees it."""
    return NameField(
        label="Name",
        error_messages={"required": f"Enter a name of 1 to {names.MAX_LENGTH} characters."},
        help_text=help_text,
        widget=forms.TextInput(attrs={"autocomplete": "off", "maxlength": names.MAX_LENGTH}),
    )
