"""The field of a project's or client's name."""

from django import forms

from oidc import names


def name_field(help_text: str) -> forms.CharField:
    """Return a form field for a name; `help_text` says who reads it."""
    return forms.CharField(
        label="Name",
        validators=[names.validate_name],
        error_messages={"required": f"A name has 1 to {names.MAX_LENGTH} characters."},
        help_text=help_text,
        widget=forms.TextInput(attrs={"autocomplete": "off", "maxlength": names.MAX_LENGTH}),
    )
