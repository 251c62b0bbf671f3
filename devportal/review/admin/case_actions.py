"""Admin actions on a case, each with its consequence."""

from typing import Any

from django.http import HttpRequest

from accounts.authentication import account_of
from core.admin.actions import RowAction
from devportal.review import cases
from devportal.review.admin import actions, forms
from devportal.review.admin.action_handlers import report_refusals
from devportal.review.admin.forms import CloseForm
from devportal.review.models import ReviewCase

Kind = ReviewCase.Kind


@report_refusals
def _take(request: HttpRequest, case: ReviewCase, form: Any) -> str:
    cases.assign_case(case, account_of(request), account_of(request))
    return "The case is yours."


@report_refusals
def _assign(request: HttpRequest, case: ReviewCase, form: Any) -> str:
    assignee = form.cleaned_data["assignee"]
    cases.assign_case(case, account_of(request), assignee)
    return f"The case is with {assignee or 'nobody'}."


@report_refusals
def _note(request: HttpRequest, case: ReviewCase, form: Any) -> str:
    cases.add_note(case, account_of(request), form.cleaned_data["note"])
    return "The note is added."


@report_refusals
def _ask(request: HttpRequest, case: ReviewCase, form: Any) -> str:
    cases.ask_developers(case, account_of(request), form.cleaned_data["text"])
    return "The developers were notified."


@report_refusals
def _close(request: HttpRequest, case: ReviewCase, form: Any) -> str:
    cases.close_case(case, account_of(request), form.cleaned_data["outcome"], form.cleaned_data["text"])
    return "The case is closed."


@report_refusals
def _renew(request: HttpRequest, case: ReviewCase, form: Any) -> str:
    cases.close_case(case, account_of(request), ReviewCase.Outcome.IN_ORDER, form.cleaned_data["text"])
    return "The approval stays valid, and the developers were notified."


@report_refusals
def _confirm(request: HttpRequest, case: ReviewCase, form: Any) -> str:
    cases.close_case(case, account_of(request), ReviewCase.Outcome.IN_ORDER, form.cleaned_data["text"])
    return "Your approval is noted as the second one."


def _is_open(request: HttpRequest, case: Any) -> bool:
    return bool(case.is_open)


def _closing(case: Any) -> str:
    if case.kind == Kind.APPEAL:
        return "The developers get what you write by mail. Lift the suspension first, if that is what you decided."
    return "The case leaves the list of open cases. Only reviewers can read what you write."


TAKE = RowAction(
    "take",
    "Assign to me",
    "You become the assignee, and other reviewers can see it. No mail is sent.",
    _take,
    is_open=lambda request, case: case.is_open and case.assignee_id != request.user.pk,
    icon="back_hand",
)
ASSIGN = RowAction(
    "assign",
    "Assign to …",
    "The new assignee sees it in the list. No mail is sent.",
    _assign,
    form=forms.AssigneeForm,
    is_open=_is_open,
    icon="assignment_ind",
)
NOTE = RowAction(
    "note", "Add a note", "Only reviewers read it.", _note, form=forms.InternalNoteForm, icon="sticky_note_2"
)
ASK = RowAction(
    "ask",
    "Write to the developers",
    "Your note is added to the app's timeline, and the developers get it by mail.",
    _ask,
    form=forms.NoteForm,
    is_open=_is_open,
    icon="chat",
)
RENEW = RowAction(
    "renew",
    "Everything is in order",
    "The approval is renewed from now on, and the case is closed. The developers get a mail.",
    _renew,
    form=forms.OptionalNoteForm,
    is_open=lambda request, case: (
        case.is_open and case.kind == Kind.RE_REVIEW and case.client is not None and case.client.is_verified
    ),
    icon="verified",
)
CONFIRM = RowAction(
    "confirm",
    "Approve as well",
    "The approval of account.read stays, now with two reviewers, and the case is closed. Nobody gets a mail.",
    _confirm,
    form=forms.OptionalNoteForm,
    is_open=lambda request, case: case.is_open and case.kind == Kind.SECOND_APPROVAL,
    icon="verified",
)
CLOSE = RowAction("close", "Close the case", _closing, _close, form=CloseForm, is_open=_is_open, icon="task_alt")

CASE_ACTIONS = (
    TAKE,
    ASSIGN,
    NOTE,
    ASK,
    RENEW,
    CONFIRM,
    CLOSE,
    actions.WITHDRAW,
    actions.SUSPEND,
    actions.LIFT,
)
