"""Form fields for several pages of the console, and the live checks of names and addresses."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, JsonResponse

from core import names
from core.limits.middleware import limited_by_person
from devportal.console.navigation import console_page
from oidc.values import redirect_uris


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


@limited_by_person
@console_page("POST")
def check_name(request: HttpRequest) -> HttpResponse:
    """POST `name`: its error, or "" if it is valid."""
    try:
        names.validate_name(request.POST.get("name", "").strip())
    except ValidationError as error:
        return JsonResponse({"error": error.messages[0]})
    return JsonResponse({"error": ""})


@limited_by_person
@console_page("POST")
def check_addresses(request: HttpRequest) -> HttpResponse:
    """POST `address` (repeated): the error and notes of each URL."""
    entries = redirect_uris.check_each(request.POST.getlist("address"))
    return JsonResponse({"entries": [{"error": entry.error, "notes": entry.notes} for entry in entries]})


class SeenForm(forms.Form):
    """Base class of forms with a hidden field that tells which values the page showed (core/changed_meanwhile.py)."""

    seen = forms.CharField(required=False, widget=forms.HiddenInput)

    def show_over(self, digest: str) -> None:
        """Show the sent values again beside the digest of the present ones, so that the form can be sent again."""
        data: Any = self.data
        self.data = data = data.copy()
        data[self.add_prefix("seen")] = digest
