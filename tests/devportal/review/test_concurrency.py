"""Two at once, on PostgreSQL with separate connections: one wins, the other is told."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from accounts.models import Account
from devportal.console.models import AuditEvent
from devportal.review.decisions import reviewer_actions
from devportal.review.models import AppReview, ReviewEntry
from devportal.review.rules import snapshots
from devportal.review.rules.workflow import IllegalReviewStep
from devportal.review.submission import developer_actions, for_reviewers
from oidc.authorization import consent
from oidc.models import Client
from tests.at_once import at_once
from tests.devportal.review.reviewing import REASON, Status, approve, fill, fresh, make_reviewer, sent
from tests.factories import make_account

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]


def attempt(step: Callable[[], Any]) -> str:
    try:
        step()
    except IllegalReviewStep:
        return "too late"
    return "done"


def test_two_concurrent_decisions(app: Client, developer: Account) -> None:
    people = [make_reviewer() for _ in range(6)]
    review = reviewer_actions.start(sent(app, developer), people[0])

    def decide(number: int) -> str:
        who = people[number]
        if number % 2:
            return attempt(lambda: approve(review, who))
        return attempt(lambda: reviewer_actions.reject(review, who, revision=1, reasons=REASON))

    assert Counter(at_once(6, decide)) == {"done": 1, "too late": 5}
    review.refresh_from_db()
    kinds = list(ReviewEntry.objects.exclude(kind__in=["submitted", "started"]).values_list("kind", "author_id"))
    assert kinds == [(review.status, review.decided_by_id)]
    assert fresh(app).is_verified == (review.status == Status.APPROVED)


def test_a_withdrawal_and_an_approval_at_once(app: Client, developer: Account, reviewer: Account) -> None:
    for _ in range(4):
        Client.objects.filter(pk=app.pk).update(verified_at=None)
        fill(app, developer)
        review = reviewer_actions.start(developer_actions.submit(app, developer), reviewer)
        steps: list[Callable[[], Any]] = [
            lambda review=review: developer_actions.withdraw(review, developer),  # type: ignore[misc]
            lambda review=review: approve(review, reviewer),  # type: ignore[misc]
        ]
        results = at_once(2, lambda number, steps=steps: attempt(steps[number]))  # type: ignore[misc]
        assert Counter(results) == {"done": 1, "too late": 1}
        review.refresh_from_db()
        assert fresh(app).is_verified == (review.status == Status.APPROVED)


def test_opening_a_test_account_while_it_is_deleted(app: Client, developer: Account, reviewer: Account) -> None:
    account = for_reviewers.ForReviewers(test_account=for_reviewers.Credentials("tester", "let me in"))
    fill(app, developer)
    developer_actions.save_submission(app, developer, {}, for_reviewers=account)
    review = reviewer_actions.start(developer_actions.submit(app, developer), reviewer)
    seen: list[Any] = []

    def step(number: int) -> str:
        if number:
            seen.append(for_reviewers.test_account_for(review, reviewer))
            return "looked"
        return attempt(lambda: reviewer_actions.reject(review, reviewer, revision=1, reasons=REASON))

    assert Counter(at_once(4, step)) == {"done": 1, "looked": 3}
    review.refresh_from_db()
    assert (review.status, review.test_account_encrypted) == (Status.REJECTED, "")
    shown = [account for account in seen if account]
    assert AuditEvent.objects.filter(action="review.test_account_seen").count() == len(shown)
    assert for_reviewers.test_account_for(review, reviewer) is None


def test_many_first_edits_make_one_draft(app: Client, developer: Account, owner: Account) -> None:
    def edit(number: int) -> str:
        who = owner if number % 2 else developer
        return attempt(lambda: developer_actions.save_submission(app, who, {"name": f"Orbit {number}"}))

    assert Counter(at_once(8, edit)) == {"done": 8}
    draft = AppReview.objects.get()
    assert (draft.number, draft.snapshot["name"]) == (1, fresh(app).name)


def test_a_double_click_on_submit_sends_once(app: Client, developer: Account) -> None:
    fill(app, developer)
    results = at_once(5, lambda number: attempt(lambda: developer_actions.submit(app, developer)))
    assert Counter(results) == {"done": 1, "too late": 4}
    assert AppReview.objects.get().revision == 1


def test_an_edit_and_a_submission_at_once_agree(app: Client, developer: Account) -> None:
    """What was sent is what people see: a rename comes before, or is refused."""
    for number in range(4):
        fill(app, developer, name=f"Orbit {number}")
        names = [f"Nova {number}"]
        steps: list[Callable[[], Any]] = [
            lambda names=names: developer_actions.save_submission(app, developer, {"name": names[0]}),  # type: ignore[misc]
            lambda: developer_actions.submit(app, developer),
        ]
        results = at_once(2, lambda place, steps=steps: attempt(steps[place]))  # type: ignore[misc]
        assert results[1] == "done"
        review = snapshots.open_review(app)
        assert review is not None
        assert review.snapshot["name"] == fresh(app).name
        developer_actions.withdraw(review, developer)


def test_an_approval_while_people_arrive(app: Client, developer: Account, reviewer: Account) -> None:
    """Both lock the client's row; neither waits for the other for good."""
    review = reviewer_actions.start(sent(app, developer), reviewer)
    people = [make_account() for _ in range(7)]

    def act(number: int) -> None:
        if number == 7:
            approve(review, reviewer)
        else:
            consent.record_consent(people[number], app, ["openid", "email"])

    at_once(8, act)
    assert fresh(app).is_verified
    assert app.connections.count() == 7
