"""Admin page of canned replies, which reviewers and operators write."""

from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError

from core.admin.model_admin import ServiceModelAdmin
from devportal.review.canned_replies import PLACEHOLDERS, clean_reply
from devportal.review.models import CannedReply
from devportal.review.workflow import IncompleteSubmission

_FILLED_IN = "; ".join(f"{{{name}}} is {meaning}" for name, meaning in PLACEHOLDERS.items())


class CannedReplyForm(forms.ModelForm):  # type: ignore[type-arg]
    """A reply. Unknown placeholders are rejected."""

    class Meta:
        model = CannedReply
        fields = ("title", "text")
        help_texts = {
            "title": "Reviewers choose it by this; developers never read it.",
            "text": f"It is put in front of a note, which developers read. Filled in: {_FILLED_IN}.",
        }

    def clean_text(self) -> str:
        try:
            return clean_reply(self.cleaned_data["text"])
        except IncompleteSubmission as error:
            raise ValidationError(str(error)) from error


@admin.register(CannedReply)
class CannedReplyAdmin(ServiceModelAdmin[CannedReply]):
    """Admin of the texts that reviewers can begin a note with."""

    is_long = False
    form: Any = CannedReplyForm
    list_display = ("title", "beginning")
    ordering = ("title",)

    @admin.display(description="text")
    def beginning(self, reply: CannedReply) -> str:
        return reply.text if len(reply.text) <= 100 else f"{reply.text[:100]}…"

    def deletion_consequence(self, row: CannedReply) -> str:
        return "Existing notes keep their text. The reply can no longer be chosen."
