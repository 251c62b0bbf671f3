"""The state machine of app review: steps, statuses and permissions (docs/review.md#for-reviewers)."""

from collections.abc import Mapping
from dataclasses import dataclass

from accounts.models import Account
from accounts.roles import is_operator, is_reviewer
from devportal.review.models import AppReview, ReviewEntry
from devportal.review.rules.conflicts import conflict_of, message_of
from oidc.clients.lookup import lock_client
from oidc.models import Client, Project, ProjectMember
from oidc.projects.roles import Gone, lock_project

Status = AppReview.Status
Side = ReviewEntry.Side

_WITH_REVIEWERS = (Status.SUBMITTED, Status.IN_REVIEW, Status.CHANGES_REQUESTED)

FROZEN_MESSAGE = (
    "The reviewers have this submission, so it can't be changed now. Withdraw it first. Your entries stay for next "
    "time."
)


class IllegalReviewStep(Exception):
    """The step is not possible in the review's status. The argument is a message for the person."""


class IncompleteSubmission(IllegalReviewStep):
    """Something required for the step is missing. The argument says what."""


class ReviewNotAllowed(Exception):
    """The person may not take the step in any status. The argument is a message for the person."""


@dataclass(frozen=True)
class ReviewStep:
    """A step: the sides that may take it, the statuses it starts from, and its result (None: unchanged)."""

    sides: tuple[str, ...]
    starts: tuple[str, ...]
    ends: str | None = None


REVIEW_STEPS: Mapping[str, ReviewStep] = {
    "edit": ReviewStep((Side.DEVELOPER,), (Status.DRAFT, Status.CHANGES_REQUESTED)),
    "start_over": ReviewStep((Side.DEVELOPER,), (Status.DRAFT, Status.CHANGES_REQUESTED)),
    "submit": ReviewStep((Side.DEVELOPER,), (Status.DRAFT,), Status.SUBMITTED),
    "resubmit": ReviewStep((Side.DEVELOPER,), (Status.CHANGES_REQUESTED,), Status.SUBMITTED),
    "withdraw": ReviewStep((Side.DEVELOPER,), _WITH_REVIEWERS, Status.WITHDRAWN),
    "answer": ReviewStep((Side.DEVELOPER, Side.REVIEWER), _WITH_REVIEWERS),
    "assign": ReviewStep((Side.REVIEWER,), _WITH_REVIEWERS),
    "start": ReviewStep((Side.REVIEWER,), (Status.SUBMITTED,), Status.IN_REVIEW),
    "request_changes": ReviewStep((Side.REVIEWER,), (Status.IN_REVIEW,), Status.CHANGES_REQUESTED),
    "approve": ReviewStep((Side.REVIEWER,), (Status.IN_REVIEW,), Status.APPROVED),
    "reject": ReviewStep((Side.REVIEWER,), (Status.IN_REVIEW,), Status.REJECTED),
    "appeal": ReviewStep((Side.DEVELOPER,), (Status.REJECTED,), Status.SUBMITTED),
}


# --- Permissions ---


def may_review(account: Account) -> bool:
    """Return whether this person is a reviewer or superuser."""
    return is_reviewer(account)


def is_member(account: Account, project: Project) -> bool:
    """Return whether this person is a member of the project, in any role."""
    return ProjectMember.objects.filter(project=project, account=account).exists()


def side_of(account: Account, project: Project, review: AppReview | None = None) -> str | None:
    """Return this person's side in a project's reviews, or in one of them; None for neither.

    Without a review, the question is about the whole app or project. conflicts.py has the rule about reviewers.
    Members are always on the developers' side, even if they are reviewers. Viewers only read. Former members who are
    still involved are on neither side.
    """
    if not account.is_active:
        return None
    role = ProjectMember.objects.filter(project=project, account=account).values_list("role", flat=True).first()
    if role is not None:
        return None if role == ProjectMember.Role.VIEWER else Side.DEVELOPER
    return Side.REVIEWER if may_review(account) and not conflict_of(account, project, review) else None


def may_decide(account: Account, project: Project, review: AppReview | None = None) -> bool:
    """Return whether this person may take reviewers' steps in this project, or in one review of it."""
    return side_of(account, project, review) == Side.REVIEWER


def may_be_given(assignee: Account, project: Project, review: AppReview | None = None) -> bool:
    """Return whether a review or a case may be assigned to this person. Their roles are read again."""
    account = Account.objects.filter(pk=assignee.pk).first()
    return account is not None and may_decide(account, project, review)


def require_reviewer(account: Account, project: Project) -> None:
    """Raise ReviewNotAllowed unless this person may decide on this project."""
    if not may_review(account):
        raise ReviewNotAllowed("Only reviewers who have no part in this project can do this.")
    _require_no_conflict(account, project)


def require_suspender(account: Account, project: Project) -> None:
    """Raise ReviewNotAllowed unless this person is a reviewer or operator who is not involved in the project."""
    if not (is_reviewer(account) or is_operator(account)):
        raise ReviewNotAllowed("Only reviewers and operators who have no part in this project can do this.")
    _require_no_conflict(account, project)


def _require_no_conflict(account: Account, project: Project) -> None:
    if conflict := conflict_of(account, project):
        raise ReviewNotAllowed(message_of(conflict))


def require_developer(account: Account, project: Project) -> None:
    """Raise ReviewNotAllowed unless this person may edit this project's apps."""
    if side_of(account, project) != Side.DEVELOPER:
        raise ReviewNotAllowed("Only owners and developers of the project can do this.")


# --- Steps ---


def lock_rights(project_pk: int, actor: Account) -> Account:
    """Lock a project and the actor's account, and return the account with its present roles.

    Every step of a reviewer starts with this, before it locks a client, so that memberships and roles can't change
    until the step ends (docs/review.md#for-reviewers). Raises IllegalReviewStep, ReviewNotAllowed.
    """
    try:
        lock_project(project_pk)
    except Gone:
        raise IllegalReviewStep("This app is deleted.") from None
    account = Account.objects.select_for_update(no_key=True).filter(pk=actor.pk).first()
    if account is None:
        raise ReviewNotAllowed("Your account no longer exists.")
    return account


def lock_for_step(client_pk: int) -> Client:
    """Lock a client's row, so that the steps of its reviews run one after the other. Raises IllegalReviewStep."""
    try:
        client: Client | None = lock_client(client_pk)
    except Gone:
        client = None
    if client is None or client.project.is_deleted:
        raise IllegalReviewStep("This app is deleted.")
    return client


def begin_step(review: AppReview, actor: Account, name: str) -> tuple[AppReview, str]:
    """Lock and read again everything that the step depends on, check the step, and return the review and actor's side.

    It locks the project, the actor's account and the client, in this order. Call it inside a transaction. Of two
    simultaneous steps, the second sees the result of the first. Raises ReviewNotAllowed, IllegalReviewStep.
    """
    step = REVIEW_STEPS[name]
    actor = lock_rights(review.client.project_id, actor)
    client = lock_for_step(review.client_id)
    row = AppReview.objects.filter(pk=review.pk).first()
    if row is None:
        raise IllegalReviewStep("This review no longer exists.")
    row.client = client
    side = side_of(actor, client.project, row)
    if side is None or side not in step.sides:
        raise ReviewNotAllowed(_who_may(row, actor, step))
    if row.status not in step.starts:
        raise IllegalReviewStep(_why_not(row, name))
    return row, side


def _who_may(review: AppReview, actor: Account, step: ReviewStep) -> str:
    if step.sides == (Side.DEVELOPER,):
        return "Only the project's owners and developers can do this."
    conflict = conflict_of(actor, review.client.project, review) if may_review(actor) else ""
    return message_of(conflict) or "Only reviewers who have no part in this project can do this."


def _why_not(review: AppReview, name: str) -> str:
    if name in ("edit", "start_over") and review.is_frozen:
        return FROZEN_MESSAGE
    if name in ("approve", "reject", "request_changes") and review.status == Status.SUBMITTED:
        return "Start the review first."
    return f"This is no longer possible: the review is now “{Status(review.status).label.lower()}”."


# What reviewers do against an app or a project outside of a review.
MEASURES = (ReviewEntry.Kind.APPROVAL_WITHDRAWN, ReviewEntry.Kind.SUSPENDED)


def last_measure(client: Client) -> int:
    """Return the primary key of the newest measure against the app's project or any app of it, 0 if there is none."""
    rows = ReviewEntry.objects.filter(project=client.project_id, kind__in=MEASURES)
    found: int | None = rows.order_by("-pk").values_list("pk", flat=True).first()
    return found or 0


def require_measure(client: Client, seen: int) -> None:
    """Raise IllegalReviewStep if a measure was taken after the one that the reviewer saw (see `last_measure`)."""
    if last_measure(client) != seen:
        raise IllegalReviewStep(
            "An approval was withdrawn or the project suspended after you opened this page. Read it again."
        )


def suspension_of(project: Project) -> str:
    """Return since when the project is suspended, as text; "" if it is not."""
    return project.suspended_at.isoformat() if project.suspended_at else ""


def require_suspension(project: Project, seen: str) -> None:
    """Raise IllegalReviewStep if the suspension is another one than the reviewer saw (see `suspension_of`)."""
    if suspension_of(project) != seen:
        raise IllegalReviewStep("The project was suspended again after you opened this page. Read the new reasons.")


def require_revision(review: AppReview, seen: int) -> None:
    """Raise IllegalReviewStep if the developer has submitted another revision than the reviewer saw."""
    if review.revision != seen:
        raise IllegalReviewStep("The developers submitted a new version after you opened this page. Read it first.")
