"""Forms of reviewers' decisions: reasons, a decision for each scope, and a note."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils.html import format_html
from unfold.widgets import (
    UnfoldAdminCheckboxSelectMultipleWidget,
    UnfoldAdminRadioSelectWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
)

from accounts.models import Account
from core.admin.actions import ActionForm
from core.admin.forms import PointsField
from core.database.storable import is_key
from devportal.review.admin.action_handlers import project_of
from devportal.review.cases.cases import content_of, require_content
from devportal.review.decisions import canned_replies
from devportal.review.decisions.checklist import Group, checklist_for, failing_checks, new_failures
from devportal.review.evidence.collecting import evidence_of
from devportal.review.models import CannedReply, ReviewCase
from devportal.review.rules.notifications import reviewers
from devportal.review.rules.reasons import REASONS, SUSPENSION_REASONS, ReviewReason, validate_reasons
from devportal.review.rules.snapshots import label_of
from devportal.review.rules.timeline import MAX_TEXT_LENGTH, clean_text
from devportal.review.rules.workflow import (
    IllegalReviewStep,
    IncompleteSubmission,
    last_measure,
    require_measure,
    require_revision,
    require_suspension,
    suspension_of,
)
from devportal.review.submission.differences import reveal
from devportal.review.submission.requirements import domains_to_cover

# Value of the button "edit" that puts the chosen reply in front (templates/admin/row_action.html).
REPLY = "reply"


class ReplyForm(ActionForm):
    """A form with a field `text`. A chosen reply is added to the text, whichever button sends the form."""

    begin_with = forms.ModelChoiceField(
        queryset=CannedReply.objects.all(),
        label="Begin with a canned reply (optional)",
        required=False,
        empty_label="None",
        widget=UnfoldAdminSelectWidget,
    )

    def __init__(self, data: Any = None, *, request: HttpRequest, row: Any) -> None:
        data = _with_reply(data, row)
        # The button only inserts the reply, so the rest of the form is not validated yet.
        self._typed = data if data is not None and data.get("edit") == REPLY else None
        super().__init__(None if self._typed is not None else data, request=request, row=row)
        replies = _replies(request)
        if replies:
            self.fields["begin_with"].choices = [("", "None"), *replies]  # type: ignore[attr-defined]
        else:
            del self.fields["begin_with"]

    def get_initial_for_field(self, field: forms.Field, field_name: str) -> Any:
        if self._typed is not None:
            return field.widget.value_from_datadict(self._typed, {}, field_name)
        return super().get_initial_for_field(field, field_name)

    def clean(self) -> dict[str, Any]:
        """Return the cleaned data without the choice, because the note already contains the reply."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        cleaned.pop("begin_with", None)
        return cleaned

    def require_seen(self, name: str, require: Callable[[Any], None], present: Callable[[], Any]) -> Any:
        """Return what the reviewer saw, from the hidden field `name`.

        If `require` refuses it, because it has changed since, the form is shown again with what the reviewer wrote, the
        reason and the `present` value. It can then be sent.
        """
        seen = self.cleaned_data[name]
        try:
            require(seen)
        except IllegalReviewStep as error:
            self.show_again(**{name: present()})
            raise ValidationError(str(error)) from error
        return seen

    def show_again(self, **values: Any) -> None:
        """Replace submitted values in the form that is shown again, so that it can be sent."""
        data: Any = self.data
        self.data = data = data.copy()
        for name, value in values.items():
            data[name] = value


def _replies(request: Any) -> list[tuple[int, str]]:
    """Return the keys and titles of the canned replies, read once for all forms of a page."""
    if not hasattr(request, "canned_replies"):
        request.canned_replies = [(reply.pk, reply.title) for reply in CannedReply.objects.all()]
    known: list[tuple[int, str]] = request.canned_replies
    return known


def _with_reply(data: Any, row: Any) -> Any:
    """Return the submitted data with the chosen reply in front of the note, and nothing chosen."""
    key = data.get("begin_with") if data is not None else None
    reply = CannedReply.objects.filter(pk=key).first() if key and is_key(key) else None
    if reply is None:
        return data
    changed = data.copy()
    text = canned_replies.filled_in(reply.text, canned_replies.values_for(row))
    changed["text"] = canned_replies.put_in_front(text, data.get("text", ""))
    changed["begin_with"] = ""
    return changed


EVERYTHING = "the whole approval"  # with spaces, so that no scope has this name
APPROVE, REFUSE = "approve", "refuse"


def _note(label: str, *, required: bool = False) -> forms.CharField:
    widget = UnfoldAdminTextareaWidget({"rows": 5})
    return forms.CharField(label=label, max_length=MAX_TEXT_LENGTH, required=required, widget=widget)


class InternalNoteForm(ActionForm):
    """A note for other reviewers. Developers never read it."""

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


class LiftForm(OptionalNoteForm):
    """A note to the developers. The hidden field holds the suspension that the reviewer saw."""

    suspended_at = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial["suspended_at"] = suspension_of(project_of(self.row))

    def clean_suspended_at(self) -> str:
        """Reject lifting a newer suspension."""
        project = project_of(self.row)
        require, present = partial(require_suspension, project), partial(suspension_of, project)
        return str(self.require_seen("suspended_at", require, present))


class RevisionForm(OptionalNoteForm):
    """Base form of decisions. Its hidden field holds the revision that the reviewer saw."""

    revision = forms.IntegerField(widget=forms.HiddenInput)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial["revision"] = self.row.revision

    def clean_revision(self) -> int:
        """Reject a decision on an older revision."""
        return int(self.require_seen("revision", partial(require_revision, self.row), lambda: self.row.revision))


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
    """The reasons for requesting changes or rejecting an app."""

    table = REASONS
    reasons = _reasons(REASONS)
    field_order = ("reasons", "begin_with", "text")


class SuspensionForm(_NeedsReasons):
    """The reasons for suspending a project."""

    table = SUSPENSION_REASONS
    reasons = _reasons(SUSPENSION_REASONS)
    field_order: tuple[str, ...] = ("reasons", "begin_with", "text")


class WithdrawalForm(SuspensionForm):
    """The approvals to withdraw, and the reasons."""

    what = forms.MultipleChoiceField(widget=UnfoldAdminCheckboxSelectMultipleWidget, label="Approvals to withdraw")
    field_order = ("what", "reasons", "begin_with", "text")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        held = [(scope, f"Only {label_of(scope)}") for scope in self.row.client.approved_scopes.split()]
        everything = (EVERYTHING, "Everything: the app is shown as not reviewed")
        choices = [*([everything] if self.row.client.is_verified else []), *held]
        self.fields["what"].choices = choices  # type: ignore[attr-defined]

    @property
    def scopes(self) -> list[str] | None:
        """The scopes to withdraw; None for the whole approval."""
        what: list[str] = self.cleaned_data["what"]
        return None if EVERYTHING in what else what


class _CodesWidget(forms.HiddenInput):
    """Hidden input with the codes that the page shows now, also when the form is shown again."""

    def __init__(self, codes: Iterable[str]) -> None:
        super().__init__()
        self.codes = " ".join(codes)

    def format_value(self, value: Any) -> str:
        return self.codes


class ApprovalForm(RevisionForm):
    """A decision on each requested scope, and the reviewers' checklist. Nothing is preselected.

    Hidden fields hold what the page showed: the proven domains, the facts of the evidence that fail, and the newest
    measure of other reviewers.
    """

    measure = forms.IntegerField(widget=forms.HiddenInput)
    domains = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial["measure"] = last_measure(self.row.client)
        known = evidence_of(self.row).gathered.domains
        self.initial["domains"] = " ".join(domains_to_cover(self.row.snapshot, known))
        for scope, justification in self.row.snapshot.get("scopes", {}).items():
            self.fields[f"scope_{scope}"] = forms.ChoiceField(
                label=label_of(scope),
                # The theme marks help texts as safe HTML, but developers wrote this one.
                help_text=format_html("“{}”", reveal(justification)) if justification else "",
                choices=[(APPROVE, "Approve"), (REFUSE, "Refuse")],
                widget=UnfoldAdminRadioSelectWidget,
            )
        items = checklist_for(self.row, evidence_of(self.row))
        for group in Group:
            if points := {item.code: item.text for item in items if item.group == group}:
                self.fields[f"check_{group}"] = PointsField(points, label=group.label)
        if failing := failing_checks(evidence_of(self.row)):
            self.fields["failing"] = forms.CharField(required=False, widget=_CodesWidget(failing))
            self.fields["despite"] = _note("Why you approve it although checks fail", required=True)
            titles = ", ".join(failing.values())
            self.fields["despite"].help_text = f"These fail: {titles}. Only reviewers read your reason."
        decided = [name for name in self.fields if name.startswith(("scope_", "check_", "failing", "despite"))]
        self.order_fields([*decided, "begin_with", "text"])

    def clean_revision(self) -> int:
        """Reject an approval of an older revision. What was decided about that one is not shown again as decided."""
        try:
            return super().clean_revision()
        except ValidationError:
            decided = dict.fromkeys((name for name in self.data if name.startswith(("scope_", "check_"))), "")
            self.show_again(domains=self.initial["domains"], **decided)
            raise

    def clean_measure(self) -> int:
        """Reject an approval from before a measure."""
        client = self.row.client
        return int(self.require_seen("measure", partial(require_measure, client), partial(last_measure, client)))

    def clean_domains(self) -> list[str]:
        return str(self.cleaned_data["domains"]).split()

    def clean_failing(self) -> list[str]:
        return str(self.cleaned_data["failing"]).split()

    def clean_despite(self) -> str:
        """Reject a reason that was written before other facts failed, and show the form again with the reason."""
        failing = failing_checks(evidence_of(self.row))
        if problem := new_failures(failing, self.cleaned_data.get("failing", [])):
            raise ValidationError(problem)
        return clean_text(self.cleaned_data["despite"])

    @property
    def scopes(self) -> dict[str, bool]:
        """Each requested scope, and whether it is approved."""
        decided = {name: value for name, value in self.cleaned_data.items() if name.startswith("scope_")}
        return {name.removeprefix("scope_"): value == APPROVE for name, value in decided.items()}

    @property
    def checked(self) -> list[str]:
        """The codes of the checklist that are ticked."""
        ticked = [codes for name, codes in self.cleaned_data.items() if name.startswith("check_")]
        return [code for codes in ticked for code in codes]


class AssigneeForm(ActionForm):
    """The assignee of a review: any reviewer, or nobody."""

    assignee = forms.ModelChoiceField(
        queryset=Account.objects.none(), required=False, empty_label="Nobody", widget=UnfoldAdminSelectWidget
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["assignee"].queryset = reviewers()  # type: ignore[attr-defined]
        self.initial["assignee"] = self.row.assignee_id


Outcome = ReviewCase.Outcome
# Labels of the outcomes of an appeal.
OF_APPEAL = [(Outcome.IN_ORDER, "The decision stands"), (Outcome.ACTED, "The decision was changed")]


class EndingForm(OptionalNoteForm):
    """Base form of the steps that close a case. Its hidden field tells what of the case the reviewer saw."""

    seen = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial["seen"] = self.request.GET.get("seen") or content_of(self.row)

    def clean_seen(self) -> str:
        """Reject a case to which something was added."""
        return str(self.require_seen("seen", partial(require_content, self.row), partial(content_of, self.row)))


class ConfirmationForm(EndingForm):
    """A second approval of the scopes that an app already has. The developers do not read the note."""

    text = _note("What you checked (optional). Only reviewers can read this")


class CloseForm(EndingForm):
    """The outcome of a case, and what the reviewer found or did."""

    outcome = forms.ChoiceField(choices=Outcome.choices, widget=UnfoldAdminRadioSelectWidget, label="Outcome")
    text = forms.CharField(
        label="What you found and did",
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
