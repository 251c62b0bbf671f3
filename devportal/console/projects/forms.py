"""Forms of projects and their members (docs/security.md#the-console)."""

from collections.abc import Sequence
from typing import Any

from django import forms

from devportal.console.name_field import name_field
from oidc.models import ProjectMember

Role = ProjectMember.Role


class ProjectNameForm(forms.Form):
    """A project's name."""

    name = name_field("For you and your team. People who sign in read the names of the clients.")


class TransferForm(forms.Form):
    """Transfer of a project: the member who becomes its owner."""

    to = forms.ChoiceField(
        label="New owner",
        error_messages={"required": "Choose a member.", "invalid_choice": "Choose one of the members."},
    )

    def __init__(self, *args: Any, members: Sequence[ProjectMember], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["to"]
        assert isinstance(field, forms.ChoiceField)
        # No member is preselected, so that submitting the form as it is transfers nothing.
        people = [(str(member.pk), member.account.email) for member in members]
        field.choices = [("", "Choose a member"), *people]
        self.members = {str(member.pk): member for member in members}

    def chosen(self) -> ProjectMember:
        """Return the chosen member, once the form is valid."""
        return self.members[self.cleaned_data["to"]]
