"""A resubmission goes back to its reviewer, and keeps its age in the queue."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from accounts.models import Account, Outbox
from accounts.roles import set_roles
from core import clock
from devportal.review import tasks
from devportal.review.decisions import reviewer_actions
from devportal.review.models import AppReview, ReviewRevision
from devportal.review.rules import targets
from oidc.models import Client, Project, ProjectMember
from tests.devportal.review.reviewing import REASON, make_reviewer, resent, sent

DAY = 24 * 3600.0
Later = Callable[[float], None]


def sent_back(review: AppReview, reviewer: Account) -> AppReview:
    review = reviewer_actions.start(review, reviewer)
    return reviewer_actions.request_changes(review, reviewer, revision=review.revision, reasons=REASON)


def waits(review: AppReview) -> timedelta:
    assert review.submitted_at is not None
    return clock.now() - review.submitted_at


def test_the_time_with_the_reviewers_counts_and_the_time_with_the_developers_does_not(
    app: Client, developer: Account, reviewer: Account, later: Later
) -> None:
    review = sent(app, developer)
    later(2 * DAY)
    sent_back(review, reviewer)
    later(30 * DAY)
    again = resent(app, developer)
    assert abs(waits(again) - timedelta(days=2)) < timedelta(minutes=1)
    assert clock.now() - ReviewRevision.objects.get(number=2).sent_at < timedelta(minutes=1)
    later(DAY)
    sent_back(again, reviewer)
    later(5 * DAY)
    third = resent(app, developer)
    assert abs(waits(third) - timedelta(days=3)) < timedelta(minutes=1)
    assert abs(targets.time_left(third.submitted_at) - timedelta(days=2)) < timedelta(minutes=1)  # type: ignore[arg-type]


def test_a_first_submission_waits_from_now_on(app: Client, developer: Account) -> None:
    assert waits(sent(app, developer)) < timedelta(minutes=1)


def test_a_resubmission_that_was_late_before_is_late_again(
    app: Client, developer: Account, reviewer: Account, later: Later
) -> None:
    review = sent(app, developer)
    later(6 * DAY)
    assert tasks.announce_late_reviews() == 1
    sent_back(review, reviewer)
    later(10 * DAY)
    resent(app, developer)
    assert tasks.announce_late_reviews() == 1


@pytest.mark.parametrize("assigned", [True, False])
def test_it_goes_back_to_its_reviewer(app: Client, developer: Account, reviewer: Account, assigned: bool) -> None:
    review = sent_back(sent(app, developer), reviewer)
    if not assigned:
        reviewer_actions.assign(review, make_reviewer(), None)
    Outbox.objects.all().delete()
    assert resent(app, developer).assignee == reviewer
    assert Outbox.objects.filter(to=reviewer.email).count() == 1


def test_it_goes_to_nobody_who_may_no_longer_decide(
    app: Client, developer: Account, reviewer: Account, project: Project
) -> None:
    colleague = make_reviewer()
    review = sent_back(sent(app, developer), reviewer)
    reviewer_actions.assign(review, reviewer, colleague)
    set_roles(colleague, [])
    assert resent(app, developer).assignee == reviewer, "who requested the changes"
    sent_back(AppReview.objects.get(), reviewer)
    ProjectMember.objects.create(project=project, account=reviewer, role=ProjectMember.Role.VIEWER)
    assert resent(app, developer).assignee is None
