"""Forms of a project's members and invitations. What they leave out, no form can set."""

from django import forms

from devportal.console.projects.forms import Role
from devportal.lib.mail import validate_mail_address

ROLE_CHOICES = (
    (Role.VIEWER, "Viewer", "Reads everything. There are no secrets to read."),
    (Role.DEVELOPER, "Developer", "Also changes clients, makes secrets and keys, and sends apps to review."),
    (Role.OWNER, "Owner", "Also decides about members, and may hand the project over or delete it."),
)


class RoleForm(forms.Form):
    """What a member may do."""

    role = forms.ChoiceField(
        label="Role",
        choices=[(value, name) for value, name, _ in ROLE_CHOICES],
        error_messages={"required": "Choose a role.", "invalid_choice": "Choose one of these three."},
    )


class InviteForm(RoleForm):
    """Somebody to invite."""

    email = forms.EmailField(
        label="E-mail address",
        error_messages={"required": "Type an address.", "invalid": "This is no e-mail address."},
        widget=forms.EmailInput(attrs={"autocomplete": "off"}),
    )
    field_order = ("email", "role")

    def clean_email(self) -> str:
        address: str = self.cleaned_data["email"].strip().lower()
        try:
            validate_mail_address(address)
        except forms.ValidationError as error:
            raise forms.ValidationError("This address can't be mailed.") from error
        return address
