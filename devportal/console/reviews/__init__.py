"""App review: developers submit an app, reviewers decide on it (docs/review.md).

`workflow.py` is the state machine with its permissions; `developer_actions.py` and `reviewer_actions.py` are the steps
of both sides.
"""

from devportal.console.reviews.desk_notes import may_read_notes, notes_on, write_note
from devportal.console.reviews.developer_actions import (
    answer,
    draft_of,
    require_editable,
    resubmit,
    save_submission,
    send_submission,
    start_over,
    submit,
    withdraw,
)
from devportal.console.reviews.evidence import Evidence, SimilarApp, collect_evidence
from devportal.console.reviews.for_reviewers import ForReviewers
from devportal.console.reviews.points import answered_points, points_of
from devportal.console.reviews.reasons import REASONS, SUSPENSION_REASONS, ReviewReason
from devportal.console.reviews.requirements import Requirement, missing_among, submission_requirements
from devportal.console.reviews.reviewer_actions import (
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
    working_snapshot,
    working_snapshot_of,
)
from devportal.console.reviews.test_accounts import Credentials
from devportal.console.reviews.timeline import timeline
from devportal.console.reviews.workflow import (
    REVIEW_STEPS,
    IllegalReviewStep,
    IncompleteSubmission,
    ReviewNotAllowed,
    may_decide,
    may_review,
)

__all__ = [
    "LABELS",
    "REASONS",
    "REVIEWED_SCOPES",
    "REVIEW_STEPS",
    "SUSPENSION_REASONS",
    "Credentials",
    "Difference",
    "Evidence",
    "ForReviewers",
    "IllegalReviewStep",
    "IncompleteSubmission",
    "Requirement",
    "ReviewNotAllowed",
    "ReviewReason",
    "SimilarApp",
    "answer",
    "answered_points",
    "approve",
    "assign",
    "collect_evidence",
    "differences",
    "draft_of",
    "last_approved",
    "lift_suspension",
    "may_decide",
    "may_read_notes",
    "may_review",
    "missing_among",
    "notes_on",
    "open_review",
    "points_of",
    "reject",
    "request_changes",
    "require_editable",
    "resubmit",
    "save_submission",
    "send_submission",
    "start",
    "start_over",
    "submission_requirements",
    "submit",
    "suspend_project",
    "timeline",
    "withdraw",
    "withdraw_approval",
    "working_snapshot",
    "working_snapshot_of",
    "write_note",
]
