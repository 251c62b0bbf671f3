"""Forms of projects and their members. What they leave out, no form can set."""

from collections.abc import Sequence
from typing import Any

from django import forms

from devportal.lib.mail import check_address
from oidc import names
from oidc.models import ProjectMember

Role = ProjectMember.Role

ROLES = (
    (Role.VIEWER, "Viewer", "Reads everything. There are no secrets to read."),
    (Role.DEVELOPER, "Developer", "Also changes clients, makes secrets and keys, and sends apps to review."),
    (Role.OWNER, "Owner", "Also decides about members, and may hand the project over or delete it."),
)


class ProjectNameForm(forms.Form):
    """A project's name."""

    name = forms.CharField(
        label="Name",
        validators=[names.check_name],
        error_messages={"required": f"A name has 1 to {names.LONGEST} characters."},
        help_text="For you and your team. People who sign in read the names of the clients.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "maxlength": names.LONGEST}),
    )


class RoleForm(forms.Form):
    """What a member may do."""

    role = forms.ChoiceField(
        label="Role",
        choices=[(value, name) for value, name, _ in ROLES],
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
            check_address(address)
        except forms.ValidationError as error:
            raise forms.ValidationError("This address can't be mailed.") from error
        return address


class TransferForm(forms.Form):
    """The member who becomes an owner."""

    to = forms.ChoiceField(
        label="Hand it over to",
        error_messages={"required": "Choose a member.", "invalid_choice": "Choose one of the members."},
    )

    def __init__(self, *args: Any, members: Sequence[ProjectMember], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["to"]
        assert isinstance(field, forms.ChoiceField)
        # None is chosen beforehand: who only presses the button hands nothing over.
        people = [(str(member.pk), member.account.email) for member in members]
        field.choices = [("", "Choose a member"), *people]
        self.members = {str(member.pk): member for member in members}

    def chosen(self) -> ProjectMember:
        """Return the member of a valid form."""
        return self.members[self.cleaned_data["to"]]
