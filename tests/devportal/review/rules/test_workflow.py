"""Who may take which step of a review from where: every step, by everyone, in every state that matters."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import transaction

from accounts.models import Account
from devportal.console.models import AuditEvent
from devportal.review.decisions import reviewer_actions
from devportal.review.decisions.appeals import appeal_rejection
from devportal.review.models import AppReview
from devportal.review.rules.workflow import IllegalReviewStep, IncompleteSubmission, ReviewNotAllowed
from devportal.review.submission import developer_actions
from oidc.models import Client, FormerMember, Project, ProjectMember
from oidc.projects import members
from tests.contents import Rows, contents, writes
from tests.devportal.review.reviewing import (
    REASON,
    SCOPE,
    Status,
    approve,
    decide,
    fill,
    fresh,
    make_operator,
    make_reviewer,
    resent,
    review_in,
    sent,
)
from tests.factories import make_account

pytestmark = pytest.mark.django_db
Role = ProjectMember.Role

# Takes the step as `actor` would from a page that was opened just before.
TAKE: dict[str, Callable[[AppReview, Account], Any]] = {
    "edit": lambda review, actor: developer_actions.save_submission(review.client, actor, {"name": "Orbit Two"}),
    "start_over": lambda review, actor: developer_actions.start_over(review.client, actor),
    "submit": lambda review, actor: developer_actions.submit(review.client, actor),
    "resubmit": lambda review, actor: resent(review.client, actor),
    "withdraw": developer_actions.withdraw,
    "answer": lambda review, actor: developer_actions.answer(review, actor, "Here it is."),
    "assign": lambda review, actor: reviewer_actions.assign(review, actor, actor),
    "start": reviewer_actions.start,
    "request_changes": lambda review, actor: reviewer_actions.request_changes(
        review, actor, revision=review.revision, reasons=REASON
    ),
    "approve": lambda review, actor: approve(review, actor, {SCOPE: True}),
    "reject": lambda review, actor: reviewer_actions.reject(review, actor, revision=review.revision, reasons=REASON),
    "appeal": lambda review, actor: appeal_rejection(review, actor, "The second page shows it."),
}
D, S, I, C = Status.DRAFT, Status.SUBMITTED, Status.IN_REVIEW, Status.CHANGES_REQUESTED  # noqa: E741  (one letter a column)
A, R, W = Status.APPROVED, Status.REJECTED, Status.WITHDRAWN
# From where a step leads, and to where, written down apart from the code. After the end of a review, editing and
# sending begin a new one (NEXT).
LEADS: dict[str, dict[str, str]] = {
    "edit": {D: D, C: C},
    "start_over": {D: D, C: C},
    "submit": {D: S},
    "resubmit": {C: S},
    "withdraw": {S: W, I: W, C: W},
    "answer": {S: S, I: I, C: C},
    "assign": {S: S, I: I, C: C},
    "start": {S: I},
    "request_changes": {I: C},
    "approve": {I: A},
    "reject": {I: R},
    "appeal": {R: S},
}
NEXT = {"edit": D, "start_over": D, "submit": S}
DEVELOPERS = {"edit", "start_over", "submit", "resubmit", "withdraw", "answer", "appeal"}
REVIEWERS = set(LEADS) - DEVELOPERS | {"answer"}
MAY: dict[str, set[str]] = {
    "owner": DEVELOPERS,
    "developer": DEVELOPERS,
    "viewer": set(),
    "outsider": set(),
    "reviewer": REVIEWERS,
    "superuser": REVIEWERS,
    "operator": set(),
    "reviewing developer": DEVELOPERS,
    "reviewing viewer": set(),
    "superuser who is a viewer": set(),
    "deactivated reviewer": set(),
    "deactivated owner": set(),
    "reviewer who just left": set(),
    "reviewer who rejected what is appealed": set(),
    "assignee": REVIEWERS,
    "staff": set(),
    "reviewer without staff": set(),
}


@pytest.fixture
def actor_of(project: Project, owner: Account, developer: Account, viewer: Account, outsider: Account) -> Any:
    """Return a person of each kind, made when asked for."""

    def member(role: str, **fields: Any) -> Account:
        account = make_reviewer(**fields)
        ProjectMember.objects.create(project=project, account=account, role=role)
        return account

    make: dict[str, Callable[[], Account]] = {
        "owner": lambda: owner,
        "developer": lambda: developer,
        "viewer": lambda: viewer,
        "outsider": lambda: outsider,
        "reviewer": make_reviewer,
        "superuser": lambda: make_account(is_staff=True, is_superuser=True),
        "operator": make_operator,
        "reviewing developer": lambda: member(Role.DEVELOPER),
        "reviewing viewer": lambda: member(Role.VIEWER),
        "superuser who is a viewer": lambda: as_superuser(member(Role.VIEWER)),
        "deactivated reviewer": lambda: make_reviewer(is_active=False),
        "deactivated owner": lambda: member(Role.OWNER, is_active=False),
        "staff": lambda: make_account(is_staff=True),
        "reviewer without staff": lambda: _without_staff(make_reviewer()),
    }
    return lambda who: make[who]() if who in make else make_reviewer()


def _leave(review: AppReview, actor: Account) -> None:
    ProjectMember.objects.create(project=review.client.project, account=actor, role=Role.DEVELOPER)
    members.leave_project(review.client.project, actor)


# What relates a reviewer to a review that is there.
RELATE: dict[str, Callable[[AppReview, Account], Any]] = {
    "reviewer who just left": _leave,
    "reviewer who rejected what is appealed": lambda review, actor: AppReview.objects.filter(pk=review.pk).update(
        appealed_at=review.created_at, appealed_from=actor
    ),
    "assignee": lambda review, actor: AppReview.objects.filter(pk=review.pk).update(assignee=actor),
}


def related_review(
    status: str, app: Client, developer: Account, reviewer: Account, who: str, actor: Account
) -> AppReview:
    """Return a review in this state, to which the actor is related as `who` says."""
    review = review_in(status, app, developer, reviewer)
    if who in RELATE:
        RELATE[who](review, actor)
    return AppReview.objects.get(pk=review.pk)


def as_superuser(account: Account) -> Account:
    account.is_superuser = True
    account.save()
    return account


def _without_staff(account: Account) -> Account:
    Account.objects.filter(pk=account.pk).update(is_staff=False)
    return Account.objects.get(pk=account.pk)


@contextmanager
def refused(error: type[Exception], before: dict[str, Rows], step: str = "") -> Iterator[None]:
    """Expect a step to be refused with an error, and to leave the database as it was `before`."""
    with writes() as written, pytest.raises(error):
        yield
    assert not written or contents() == before, step


# Rights are checked before the state, so three states are enough for people without rights.
CASES = [(who, status) for who, steps in MAY.items() for status in (Status.values if steps else (D, I, R))]


@pytest.mark.parametrize(("who", "status"), CASES)
def test_every_step_from_every_state(
    who: str, status: str, app: Client, developer: Account, reviewer: Account, actor_of: Any
) -> None:
    actor = actor_of(who)
    review = related_review(status, app, developer, reviewer, who, actor)
    before, events = contents(), AuditEvent.objects.count()
    for step, take in TAKE.items():
        ends = LEADS[step].get(status)
        if ends is None and not review.is_open:
            ends = NEXT.get(step)
        if step == "submit" and status == A:
            ends = None  # nothing has changed since
        if step not in MAY[who] or ends is None:
            with refused(IllegalReviewStep if step in MAY[who] else ReviewNotAllowed, before, step):
                take(review, actor)
            continue
        # Undone afterwards, so that the next step starts from the same state.
        with transaction.atomic():
            # Some steps write to the objects that they get.
            take(AppReview.objects.get(pk=review.pk), Account.objects.get(pk=actor.pk))
            newest = AppReview.objects.filter(client=app).order_by("-number").first()
            assert newest is not None
            assert newest.status == ends, step
            is_nothing_new = step == "start_over" or (step, who) == ("assign", "assignee")
            assert AuditEvent.objects.count() > events or is_nothing_new, step
            transaction.set_rollback(True)


@pytest.mark.parametrize("who", MAY)
def test_roles_that_can_suspend_and_withdraw_approvals(
    who: str, app: Client, developer: Account, reviewer: Account, actor_of: Any
) -> None:
    decide(sent(app, developer), reviewer, Status.APPROVED)
    actor, project = actor_of(who), app.project
    if who in RELATE:
        RELATE[who](AppReview.objects.get(), actor)
    approvals: list[Callable[[], Any]] = [
        lambda: reviewer_actions.withdraw_approval(app, actor, scopes=[SCOPE], reasons=["other"], text="Because."),
        lambda: reviewer_actions.withdraw_approval(app, actor, reasons=["at_your_request"]),
    ]
    suspensions: list[Callable[[], Any]] = [
        lambda: reviewer_actions.suspend_project(project, actor, reasons=["harmful"]),
        lambda: reviewer_actions.lift_suspension(project, actor),
    ]
    # Who rejected a submission may do what concerns the app as a whole.
    reviews_it = MAY[who] >= REVIEWERS or who == "reviewer who rejected what is appealed"
    for step in (*approvals, *suspensions):
        if reviews_it or (who == "operator" and step in suspensions):
            step()
            with pytest.raises(IllegalReviewStep):
                step()  # done already
        else:
            with refused(ReviewNotAllowed, contents()):
                step()
    project.refresh_from_db()
    assert project.suspended_at is None


def test_a_membership_is_remembered_once_and_goes_with_the_person_or_the_project(app: Client, owner: Account) -> None:
    for _ in range(2):
        mine = ProjectMember.objects.create(project=app.project, account=make_reviewer(), role=Role.DEVELOPER)
        ProjectMember.objects.filter(pk=mine.pk).delete()
        again = ProjectMember.objects.create(project=app.project, account=mine.account, role=Role.VIEWER)
        members.remove_member(again, owner)
        assert FormerMember.objects.filter(account=mine.account).count() == 1
    mine.account.delete()
    assert FormerMember.objects.count() == 1
    app.project.delete()
    assert not FormerMember.objects.exists()


# --- Details of the steps ---

DECISIONS: list[Callable[..., AppReview]] = [reviewer_actions.reject, reviewer_actions.request_changes]


def test_a_decision_on_an_unseen_revision_is_rejected(app: Client, developer: Account, reviewer: Account) -> None:
    review = decide(sent(app, developer), reviewer, Status.CHANGES_REQUESTED)
    seen = review.revision
    developer_actions.save_submission(app, developer, {"name": "Something else"})
    review = reviewer_actions.start(resent(app, developer), reviewer)
    with pytest.raises(IllegalReviewStep, match="new version"):
        approve(review, reviewer, revision=seen)
    for decision in DECISIONS:
        with pytest.raises(IllegalReviewStep, match="new version"):
            decision(review, reviewer, revision=seen, reasons=REASON)
    assert not fresh(app).is_verified
    approve(review, reviewer)
    assert fresh(app).name == "Something else"


def test_a_decision_needs_a_reason_from_the_list(app: Client, developer: Account, reviewer: Account) -> None:
    review = reviewer_actions.start(sent(app, developer), reviewer)
    for reasons, text in ([], ""), ([], "A note"), (["no_such"], ""), (["other"], " "), (["against_the_rules"], ""):
        for decision in DECISIONS:
            with pytest.raises(IncompleteSubmission):
                decision(review, reviewer, revision=1, reasons=reasons, text=text)
    with pytest.raises(IncompleteSubmission, match="4000"):
        reviewer_actions.reject(review, reviewer, revision=1, reasons=REASON, text="x" * 4001)
    review = reviewer_actions.reject(
        review, reviewer, revision=1, reasons=["other", *REASON, *REASON], text=" Why?\x00 "
    )
    assert (review.reasons, review.reason_text) == ([*REASON, "other"], "Why?")


def test_a_refused_submission_leaves_no_draft_behind(app: Client, developer: Account) -> None:
    with pytest.raises(IncompleteSubmission, match="home page"):
        developer_actions.submit(app, developer)
    assert not AppReview.objects.exists()


def test_submissions_per_day_are_limited(app: Client, developer: Account, later: Callable[[float], None]) -> None:
    fill(app, developer)
    for _ in range(10):
        developer_actions.withdraw(developer_actions.submit(app, developer), developer)
    with pytest.raises(IllegalReviewStep, match="too often today"):
        developer_actions.submit(app, developer)
    later(24 * 3600 + 1)
    review = developer_actions.submit(app, developer)
    for _ in range(20):
        developer_actions.answer(review, developer, "And another thing.")
    with pytest.raises(IllegalReviewStep, match="Too many messages"):
        developer_actions.answer(review, developer, "And another thing.")


def test_an_assignee_is_a_reviewer_of_other_peoples_apps(app: Client, developer: Account, reviewer: Account) -> None:
    review = sent(app, developer)
    own = make_reviewer()
    ProjectMember.objects.create(project=app.project, account=own, role=Role.VIEWER)
    for nobody in (developer, own, make_account(), make_reviewer(is_active=False)):
        with pytest.raises(ReviewNotAllowed):
            reviewer_actions.assign(review, reviewer, nobody)
    other = make_reviewer()
    assert reviewer_actions.assign(review, reviewer, other).assignee == other
    assert reviewer_actions.start(review, reviewer).assignee == other, "beginning takes it from nobody"
    assert reviewer_actions.assign(review, reviewer, None).assignee is None


def test_steps_for_a_deleted_app_are_rejected(app: Client, developer: Account, reviewer: Account) -> None:
    review = reviewer_actions.start(sent(app, developer), reviewer)
    Project.objects.filter(pk=app.project_id).update(deleted_at=review.submitted_at)
    assert not AppReview.objects.waiting().exists()
    with pytest.raises(IllegalReviewStep, match="deleted"):
        approve(review, reviewer)
    Client.objects.filter(pk=app.pk).delete()
    with pytest.raises(IllegalReviewStep, match="deleted"):
        approve(review, reviewer)
    with pytest.raises(IllegalReviewStep, match="deleted"):
        developer_actions.save_submission(app, developer, {"name": "Orbit"})
