"""The form of the tester."""

from django import forms

from oidc.authorization import tester


class TesterForm(forms.Form):
    """Form of the tester with the authorization or sign-out URL to check."""

    url = forms.CharField(
        label="Authorization or sign-out URL",
        max_length=tester.MAX_LENGTH,
        widget=forms.Textarea(attrs={"rows": 4, "class": "code", "spellcheck": "false", "autocomplete": "off"}),
        error_messages={"required": "Paste an authorization URL or a sign-out URL."},
        help_text="The URL to which your app sends people to sign in or out, or the part after its question mark.",
    )
