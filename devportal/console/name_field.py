"""The field of a project's or client's name."""

from typing import Any

from django import forms

from oidc import names


class NameField(forms.CharField):
    """A name; `saved` is the one that may stay although it is older than a rule, "" for none."""

    saved = ""

    def run_validators(self, value: Any) -> None:
        if not self.saved or value != self.saved:
            names.validate_name(value)
        super().run_validators(value)


def accept_saved_name(field: forms.Field, saved: str) -> None:
    """Let a form keep the saved name, which may be older than a rule that would refuse it now."""
    assert isinstance(field, NameField)
    field.saved = saved


def name_field(help_text: str) -> NameField:
    """Return a form field for a name; `help_text` says who reads it."""
    return NameField(
        label="Name",
        error_messages={"required": f"A name has 1 to {names.MAX_LENGTH} characters."},
        help_text=help_text,
        widget=forms.TextInput(attrs={"autocomplete": "off", "maxlength": names.MAX_LENGTH}),
    )
