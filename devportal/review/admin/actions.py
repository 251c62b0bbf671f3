"""Admin actions of app review, with their consequences."""

from typing import Any

from django.http import HttpRequest

from accounts.sessions.authentication import account_of
from core.admin.actions import RowAction
from devportal.review.admin import action_handlers, forms
from devportal.review.admin.action_handlers import project_of
from devportal.review.decisions import notes, reviewer_actions
from devportal.review.models import ReviewEntry
from devportal.review.rules import workflow
from devportal.review.rules.snapshots import sensitive_among
from devportal.review.submission import developer_actions
from devportal.review.submission.second_approval import first_approval, needs_second_approval

Kind = ReviewEntry.Kind


_APPROVAL = (
    "People immediately see the name, the logo and the domain as reviewed, any number of them can use the app, and it "
    "may ask for the scopes that you approve. A scope that was approved and is no longer requested loses its approval."
)


def _from(step: str) -> Any:
    """Return a function that tells whether a step is possible in a review's state. `workflow.py` checks the person."""
    return lambda request, review: review.status in workflow.REVIEW_STEPS[step].starts


def _is_approved(request: HttpRequest, review: Any) -> bool:
    client = review.client
    return client is not None and (client.is_verified or bool(client.approved_scopes))


def _consequence_of_approving(review: Any) -> str:
    if not needs_second_approval(review):
        return _APPROVAL
    scopes = ", ".join(sensitive_among(review.snapshot["scopes"]))
    two = (
        f"The app asks for {scopes} and its project has many people, so two reviewers have to make the same decision "
        f"on each scope."
    )
    if first_approval(review) is None:
        return f"{two} Yours is noted as the first, and changes nothing yet. The developers are not notified."
    return (
        f"{two} Yours is the second. If it differs from the first, nothing changes, and each of you can "
        f"read what the other decided. Otherwise it takes effect. {_APPROVAL}"
    )


TAKE = RowAction(
    "take",
    "Assign to me",
    "You become the assignee, and other reviewers can see it. No email is sent.",
    action_handlers.assigning(reviewer_actions.assign, "review"),
    is_open=lambda request, review: _from("assign")(request, review) and review.assignee_id != request.user.pk,
    icon="back_hand",
)
ASSIGN = RowAction(
    "assign",
    "Assign to …",
    "The new assignee gets an email. The developers do not.",
    action_handlers.assigning(reviewer_actions.assign, "review"),
    form=forms.AssigneeForm,
    is_open=_from("assign"),
    icon="assignment_ind",
)
START = RowAction(
    "start",
    "Start the review",
    "From now on you can decide on the submission. Its domains are looked up again, which takes a few seconds at most. "
    "The developers get a notice that the review has started.",
    action_handlers.start,
    prepare=action_handlers.look_up_domains,
    is_open=_from("start"),
    preview=action_handlers.decision_preview(Kind.STARTED),
    icon="play_arrow",
)
COMMENT = RowAction(
    "answer",
    "Write to the developers",
    "Your note is added to the timeline, and the developers get a notice. It is not a decision.",
    action_handlers.taking(developer_actions.answer, "The developers were notified."),
    form=forms.NoteForm,
    is_open=_from("answer"),
    preview=action_handlers.decision_preview(Kind.COMMENT),
    icon="chat",
)
REQUEST_CHANGES = RowAction(
    "request-changes",
    "Request changes",
    "The developers can edit the submission and resubmit it. What was approved before stays in force.",
    action_handlers.taking(reviewer_actions.request_changes, "The developers were notified of what to change."),
    form=forms.RefusalForm,
    is_open=_from("request_changes"),
    preview=action_handlers.decision_preview(Kind.CHANGES_REQUESTED),
    icon="edit_note",
)
APPROVE = RowAction(
    "approve",
    "Approve",
    _consequence_of_approving,
    action_handlers.approve,
    prepare=action_handlers.look_up_domains_for_approval,
    form=forms.ApprovalForm,
    is_open=_from("approve"),
    preview=action_handlers.approval_preview,
    icon="verified",
)
REJECT = RowAction(
    "reject",
    "Reject",
    "This review ends. What was approved before stays in force; the developers can begin a new one.",
    action_handlers.taking(reviewer_actions.reject, "The submission was rejected, and the developers were notified."),
    form=forms.RefusalForm,
    is_open=_from("reject"),
    preview=action_handlers.decision_preview(Kind.REJECTED),
    icon="block",
    is_dangerous=True,
)
WITHDRAW = RowAction(
    "withdraw-approval",
    "Withdraw the approval",
    "Within 30 seconds a withdrawn scope no longer gives access, also in existing tokens. Without an approval "
    "the app has no logo, is shown as not reviewed, and accepts new people only up to the limit for such apps. "
    "Existing users keep access.",
    action_handlers.withdraw,
    form=forms.WithdrawalForm,
    is_open=_is_approved,
    preview=action_handlers.withdrawal_preview,
    icon="gpp_bad",
    is_dangerous=True,
)
SUSPEND = RowAction(
    "suspend",
    "Suspend the project",
    "Within 30 seconds nobody can sign in to any of the project's apps: people see a page that says so, tokens can't "
    "be issued or refreshed, and API requests are refused with project_suspended. Nothing is deleted; lifting the "
    "suspension "
    "brings everything back. Its members can read the reasons in the project's timeline.",
    action_handlers.suspend,
    form=forms.SuspensionForm,
    is_open=lambda request, row: not project_of(row).is_suspended,
    preview=action_handlers.project_preview(Kind.SUSPENDED),
    icon="pause_circle",
    is_dangerous=True,
)
LIFT = RowAction(
    "lift",
    "Lift the suspension",
    "Within 30 seconds the project's apps work again, with the tokens that they have.",
    action_handlers.lift,
    form=forms.LiftForm,
    is_open=lambda request, row: project_of(row).is_suspended,
    preview=action_handlers.project_preview(Kind.SUSPENSION_LIFTED),
    icon="play_circle",
)

NOTE = RowAction(
    "note",
    "Add an internal note",
    "Reviewers who may decide on this app read it, on the page of this review. Developers never do, and nobody gets a "
    "mail.",
    action_handlers.taking(notes.write_note, "Your note is kept. Developers don't see it."),
    form=forms.InternalNoteForm,
    is_open=lambda request, review: notes.may_read_notes(account_of(request), review),
    icon="note_add",
)

REVIEW_ACTIONS = (TAKE, ASSIGN, START, COMMENT, REQUEST_CHANGES, APPROVE, REJECT, WITHDRAW, SUSPEND, LIFT, NOTE)
# On the page of a review: the decisions, whose forms it shows, the steps that take one click, the ones that concern the
# whole app or project, and the others.
DECISIONS = (APPROVE, REQUEST_CHANGES, REJECT)
AT_ONCE = (START, TAKE)
OF_THE_APP = (WITHDRAW, SUSPEND, LIFT)
OTHERS = (ASSIGN, COMMENT)
