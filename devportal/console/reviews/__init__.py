"""App review: a developer asks for an app to be looked at, a reviewer answers (specification 5.4, docs/review.md).

`machine.py` holds who may do what from where; `developers.py` and `reviewers.py` are the steps of the two sides.
"""

from devportal.console.reviews.completeness import Item, checklist
from devportal.console.reviews.developers import (
    answer,
    draft_of,
    request_scopes,
    require_editable,
    resubmit,
    save,
    save_branding,
    send,
    start_over,
    submit,
    withdraw,
)
from devportal.console.reviews.facts import Evidence, Similar, evidence
from devportal.console.reviews.machine import (
    STEPS,
    IllegalStep,
    Incomplete,
    NotAllowed,
    may_decide,
    may_review,
    steps_for,
)
from devportal.console.reviews.reasons import REASONS, SUSPENSION_REASONS, Reason
from devportal.console.reviews.reviewers import (
    approve,
    assign,
    lift_suspension,
    reject,
    request_changes,
    start,
    suspend_project,
    withdraw_approval,
)
from devportal.console.reviews.snapshots import (
    LABELS,
    REVIEWED_SCOPES,
    Difference,
    differences,
    last_approved,
    open_review,
    working,
    working_in,
)
from devportal.console.reviews.thread import timeline

__all__ = [
    "LABELS",
    "REASONS",
    "REVIEWED_SCOPES",
    "STEPS",
    "SUSPENSION_REASONS",
    "Difference",
    "Evidence",
    "IllegalStep",
    "Incomplete",
    "Item",
    "NotAllowed",
    "Reason",
    "Similar",
    "answer",
    "approve",
    "assign",
    "checklist",
    "differences",
    "draft_of",
    "evidence",
    "last_approved",
    "lift_suspension",
    "may_decide",
    "may_review",
    "open_review",
    "reject",
    "request_changes",
    "request_scopes",
    "require_editable",
    "resubmit",
    "save",
    "save_branding",
    "send",
    "start",
    "start_over",
    "steps_for",
    "submit",
    "suspend_project",
    "timeline",
    "withdraw",
    "withdraw_approval",
    "working",
    "working_in",
]
