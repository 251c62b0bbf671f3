"""Forms of the desk's cases."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from unfold.widgets import UnfoldAdminRadioSelectWidget, UnfoldAdminTextareaWidget

from devportal.console.admin.forms import NoteForm
from devportal.console.models import ReviewCase
from devportal.console.reviews.timeline import MAX_TEXT_LENGTH

Outcome = ReviewCase.Outcome
# What the outcomes are called where the case is an appeal.
OF_APPEAL = [(Outcome.IN_ORDER, "The decision stands"), (Outcome.ACTED, "The decision was fixed")]


class CloseForm(NoteForm):
    """How a case ended, and what was found or done."""

    outcome = forms.ChoiceField(choices=Outcome.choices, widget=UnfoldAdminRadioSelectWidget, label="How it ended")
    text = forms.CharField(
        label="What was found and done",
        max_length=MAX_TEXT_LENGTH,
        required=False,
        widget=UnfoldAdminTextareaWidget({"rows": 5}),
    )
    field_order = ("outcome", "text")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.row.kind == ReviewCase.Kind.APPEAL:
            self.fields["outcome"].choices = OF_APPEAL  # type: ignore[attr-defined]
            self.fields["text"].help_text = "The developers can read this."

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        needs_text = self.row.kind == ReviewCase.Kind.APPEAL or cleaned.get("outcome") == Outcome.ACTED
        if needs_text and "text" in cleaned and not cleaned["text"]:
            raise ValidationError({"text": "Write down what you found and did."})
        return cleaned
