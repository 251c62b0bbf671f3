"""The form that adds a domain to a project."""

from django import forms

from oidc.domains.names import LONGEST_TYPED


class AddDomainForm(forms.Form):
    """A domain, or an address on it; oidc/domains/names.py says what is accepted."""

    name = forms.CharField(
        label="Domain",
        max_length=LONGEST_TYPED,
        help_text="Such as example.com. One that is proven by DNS speaks for its subdomains too.",
        error_messages={"required": "Enter a domain.", "max_length": "This is too long for a domain."},
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}),
    )
