"""Forms of projects and their members. What they leave out, no form can set."""

from collections.abc import Sequence
from typing import Any

from django import forms

from oidc import names
from oidc.models import ProjectMember

Role = ProjectMember.Role


class ProjectNameForm(forms.Form):
    """A project's name."""

    name = forms.CharField(
        label="Name",
        validators=[names.validate_name],
        error_messages={"required": f"A name has 1 to {names.MAX_LENGTH} characters."},
        help_text="For you and your team. People who sign in read the names of the clients.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "maxlength": names.MAX_LENGTH}),
    )


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
