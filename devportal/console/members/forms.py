"""Forms of a project's members and invitations. What they leave out, no form can set."""

from django import forms

from devportal.console.projects.forms import Role
from devportal.lib.mail import validate_mail_address

ROLE_CHOICES = (
    (Role.VIEWER, "Viewer", "Reads everything. There are no secrets to read."),
    (Role.DEVELOPER, "Developer", "Also changes clients, creates secrets and keys, and submits apps for review."),
    (Role.OWNER, "Owner", "Also manages members, and may transfer or delete the project."),
)


class RoleForm(forms.Form):
    """A member's role."""

    role = forms.ChoiceField(
        label="Role",
        choices=[(value, name) for value, name, _ in ROLE_CHOICES],
        error_messages={"required": "Choose a role.", "invalid_choice": "Choose one of these three."},
    )


class InviteForm(RoleForm):
    """Invitation of an email address, with a role."""

    email = forms.EmailField(
        label="Email address",
        error_messages={"required": "Enter an email address.", "invalid": "This is not an email address."},
        widget=forms.EmailInput(attrs={"autocomplete": "off"}),
    )
    field_order = ("email", "role")

    def clean_email(self) -> str:
        address: str = self.cleaned_data["email"].strip().lower()
        try:
            validate_mail_address(address)
        except forms.ValidationError as error:
            raise forms.ValidationError("Mail can't be sent to this address.") from error
        return address
