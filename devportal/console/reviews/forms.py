"""Forms of the page Branding and review: branding, requested scopes with justifications, messages."""

from typing import Any

from django import forms
from django.forms import BoundField

from devportal.console.reviews import REVIEWED_SCOPES
from devportal.console.reviews.snapshots import Snapshot
from devportal.console.reviews.timeline import MAX_TEXT_LENGTH
from oidc import names
from oidc.clients import logos
from oidc.clients.branding import FIELD_VALIDATORS, MAX_URL_LENGTH
from oidc.scopes import SCOPES


def _page(label: str, help_text: str) -> forms.CharField:
    return forms.CharField(
        label=label,
        required=False,
        max_length=MAX_URL_LENGTH,
        help_text=help_text,
        widget=forms.URLInput(attrs={"placeholder": "https://", "autocomplete": "off"}),
    )


def _long_text(label: str, help_text: str, rows: int = 3) -> forms.CharField:
    return forms.CharField(
        label=label,
        required=False,
        max_length=MAX_TEXT_LENGTH,
        help_text=help_text,
        widget=forms.Textarea(attrs={"rows": rows}),
    )


class BrandingForm(forms.Form):
    """All reviewed fields. Only the name is required to save; the checklist says what is required to submit."""

    name = forms.CharField(
        label="Name",
        max_length=names.MAX_LENGTH,
        error_messages={"required": "An app has a name."},
        help_text="People read it when they sign in.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    logo = forms.FileField(
        label="Logo",
        required=False,
        help_text="A square PNG, JPEG, WebP or GIF. People see it once the app is reviewed.",
        widget=forms.FileInput(attrs={"accept": "image/png,image/jpeg,image/webp,image/gif"}),
    )
    remove_logo = forms.BooleanField(label="Remove the logo", required=False)
    home_page_url = _page("Home page", "Says what the app is, to anybody, without signing in.")
    privacy_policy_url = _page("Privacy policy", "What becomes of what the app reads here.")
    terms_url = _page("Terms", "")
    support_address = forms.CharField(
        label="Support address",
        required=False,
        max_length=254,
        help_text="Where people and reviewers reach you.",
        widget=forms.EmailInput(attrs={"autocomplete": "off"}),
    )
    note = _long_text(
        "Note to the reviewers", "For example how to sign in and where to look. Goes along when you send."
    )

    use_required_attribute = False

    def __init__(self, *args: Any, snapshot: Snapshot, **kwargs: Any) -> None:
        scopes = snapshot["scopes"]
        initial = {field: snapshot[field] for field in FIELD_VALIDATORS}
        for scope in REVIEWED_SCOPES:
            initial |= {f"ask_{_key(scope)}": scope in scopes, f"why_{_key(scope)}": scopes.get(scope, "")}
        super().__init__(*args, **({"initial": initial} | kwargs))
        for field, check in FIELD_VALIDATORS.items():
            self.fields[field].validators.append(check)
        for scope in REVIEWED_SCOPES:
            self.fields[f"ask_{_key(scope)}"] = forms.BooleanField(label=f"Ask for {scope}", required=False)
            self.fields[f"why_{_key(scope)}"] = _long_text(
                f"What {scope} is needed for",
                "Name the feature, and what it shows or does with what it reads.",
            )

    def clean_logo(self) -> Any:
        upload = self.cleaned_data["logo"]
        return logos.clean_logo(upload) if upload else None

    @property
    def scopes(self) -> list[tuple[str, str, BoundField, BoundField]]:
        """For the template: each scope with its title, its checkbox and its justification field."""
        return [
            (scope, SCOPES[scope].title, self[f"ask_{_key(scope)}"], self[f"why_{_key(scope)}"])
            for scope in REVIEWED_SCOPES
        ]

    @property
    def changes(self) -> dict[str, Any]:
        """The keyword arguments for `reviews.save`, from the valid form."""
        given = self.cleaned_data
        return {
            "values": {field: given[field] for field in FIELD_VALIDATORS},
            "scopes": {scope: given[f"why_{_key(scope)}"] for scope in REVIEWED_SCOPES if given[f"ask_{_key(scope)}"]},
            "logo": given["logo"],
            "remove_logo": given["remove_logo"],
        }

    def over(self, snapshot: Snapshot) -> Snapshot:
        """Return the snapshot updated with the valid values of the form, for a preview; nothing is saved."""
        self.is_valid()
        given = self.cleaned_data
        typed = {field: given[field] for field in FIELD_VALIDATORS if field in given}
        asked = [scope for scope in REVIEWED_SCOPES if given.get(f"ask_{_key(scope)}")]
        return snapshot | typed | {"scopes": dict.fromkeys(asked, "")}


def _key(scope: str) -> str:
    # No dots in ids: they mean a class in CSS selectors.
    return scope.replace(".", "_")


class AnswerForm(forms.Form):
    """A message in the review's thread."""

    text = forms.CharField(
        label="Your answer",
        max_length=MAX_TEXT_LENGTH,
        error_messages={"required": "Write something first."},
        widget=forms.Textarea(attrs={"rows": 4}),
    )
