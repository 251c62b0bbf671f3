"""Forms of reviewers' decisions: reasons from the catalogue, a decision for each scope, a note to the developers."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.html import format_html
from unfold.widgets import (
    UnfoldAdminCheckboxSelectMultipleWidget,
    UnfoldAdminRadioSelectWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldBooleanWidget,
)

from accounts.models import Account
from devportal.console import reviews
from devportal.console.admin.reply_forms import ReplyForm
from devportal.console.reviews import IllegalReviewStep, IncompleteSubmission
from devportal.console.reviews.desk_checklist import checklist_for
from devportal.console.reviews.desk_differences import reveal
from devportal.console.reviews.reasons import ReviewReason, validate_reasons
from devportal.console.reviews.recipients import reviewers
from devportal.console.reviews.timeline import MAX_TEXT_LENGTH, clean_text
from devportal.console.reviews.workflow import require_revision
from devportal.lib.admin.actions import ActionForm
from oidc.scopes import SCOPES

EVERYTHING = "everything"
APPROVE, REFUSE = "approve", "refuse"


def _note(label: str, *, required: bool = False) -> forms.CharField:
    widget = UnfoldAdminTextareaWidget({"rows": 5})
    return forms.CharField(label=label, max_length=MAX_TEXT_LENGTH, required=required, widget=widget)


class DeskNoteForm(ActionForm):
    """A note for other reviewers, which developers never read."""

    note = _note("Internal note", required=True)

    def clean_note(self) -> str:
        return clean_text(self.cleaned_data["note"])


class NoteForm(ReplyForm):
    """A note that the developers read."""

    text = _note("Note", required=True)

    def clean_text(self) -> str:
        return clean_text(self.cleaned_data["text"])


class OptionalNoteForm(NoteForm):
    text = _note("Note to the developers (optional)")


class RevisionForm(OptionalNoteForm):
    """Base form of decisions; its hidden field holds the revision that the reviewer saw."""

    revision = forms.IntegerField(widget=forms.HiddenInput)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial["revision"] = self.row.revision

    def clean_revision(self) -> int:
        """Refuse a decision on what was not seen here already: with the form, what was written is still there."""
        seen: int = self.cleaned_data["revision"]
        try:
            require_revision(self.row, seen)
        except IllegalReviewStep as error:
            raise ValidationError(str(error)) from error
        return seen


def _reasons(table: Mapping[str, ReviewReason]) -> forms.MultipleChoiceField:
    choices = [(reason.code, reason.title) for reason in table.values()]
    return forms.MultipleChoiceField(label="Reasons", choices=choices, widget=UnfoldAdminCheckboxSelectMultipleWidget)


class _NeedsReasons(OptionalNoteForm):
    table: Mapping[str, ReviewReason]

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        if "reasons" in cleaned and "text" in cleaned:
            try:
                cleaned["reasons"] = validate_reasons(cleaned["reasons"], cleaned["text"], self.table)
            except IncompleteSubmission as error:
                raise ValidationError(str(error)) from error
        return cleaned


class RefusalForm(_NeedsReasons, RevisionForm):
    """Why changes are requested, or an app is rejected."""

    table = reviews.REASONS
    reasons = _reasons(reviews.REASONS)
    field_order = ("reasons", "begin_with", "text")


class SuspensionForm(_NeedsReasons):
    """Why a project is suspended."""

    table = reviews.SUSPENSION_REASONS
    reasons = _reasons(reviews.SUSPENSION_REASONS)
    field_order: tuple[str, ...] = ("reasons", "begin_with", "text")


class WithdrawalForm(SuspensionForm):
    """Which approval is taken back, and why."""

    what = forms.MultipleChoiceField(widget=UnfoldAdminCheckboxSelectMultipleWidget, label="Approvals to withdraw")
    field_order = ("what", "reasons", "begin_with", "text")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        held = [(scope, f"{scope} alone: {scope_title(scope)}") for scope in self.row.client.approved_scopes.split()]
        everything = (EVERYTHING, "Everything: the app becomes one that has not been reviewed")
        choices = [*([everything] if self.row.client.is_verified else []), *held]
        self.fields["what"].choices = choices  # type: ignore[attr-defined]

    @property
    def scopes(self) -> list[str] | None:
        """The scopes to withdraw; None for the whole approval."""
        what: list[str] = self.cleaned_data["what"]
        return None if EVERYTHING in what else what


class ApprovalForm(RevisionForm):
    """A decision on each requested scope, and the desk's checklist; nothing is preselected."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for scope, justification in self.row.snapshot.get("scopes", {}).items():
            self.fields[f"scope_{scope}"] = forms.ChoiceField(
                label=f"{scope}: {scope_title(scope)}",
                # The theme takes help texts for HTML; this one is the developers'.
                help_text=format_html("“{}”", reveal(justification)) if justification else "",
                choices=[(APPROVE, "Approve"), (REFUSE, "Refuse")],
                widget=UnfoldAdminRadioSelectWidget,
            )
        for item in checklist_for(self.row):
            self.fields[f"check_{item.code}"] = forms.BooleanField(label=item.text, widget=UnfoldBooleanWidget)
        decided = [name for name in self.fields if name.startswith(("scope_", "check_"))]
        self.order_fields([*decided, "begin_with", "text"])

    @property
    def scopes(self) -> dict[str, bool]:
        """Each requested scope, and whether it is approved."""
        decided = {name: value for name, value in self.cleaned_data.items() if name.startswith("scope_")}
        return {name.removeprefix("scope_"): value == APPROVE for name, value in decided.items()}

    @property
    def checked(self) -> list[str]:
        """The codes of the checklist that are ticked."""
        return [
            name.removeprefix("check_") for name, yes in self.cleaned_data.items() if name.startswith("check_") and yes
        ]


class AssigneeForm(ActionForm):
    """The assignee of a review: any reviewer, or nobody."""

    assignee = forms.ModelChoiceField(
        queryset=Account.objects.none(), required=False, empty_label="Nobody", widget=UnfoldAdminSelectWidget
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["assignee"].queryset = reviewers()  # type: ignore[attr-defined]
        self.initial["assignee"] = self.row.assignee_id


def scope_title(scope: str) -> str:
    """Return the title of a scope; its id if the scope does not exist any more."""
    return SCOPES[scope].title if scope in SCOPES else scope
