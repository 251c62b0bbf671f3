"""Appeals: against a rejection, a withdrawn approval, a suspension; once, in time, and answered by someone else."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client as Browser

from accounts.models import Account
from accounts.plans.members import add_member, get_or_create_family
from devportal.console.models import AuditEvent
from devportal.review.cases import cases
from devportal.review.decisions import appeals, reviewer_actions
from devportal.review.models import AppReview, ReviewCase, ReviewEntry, ReviewerSettings
from devportal.review.rules.workflow import IllegalReviewStep, IncompleteSubmission, ReviewNotAllowed
from devportal.review.submission import developer_actions
from oidc.models import Client, Project
from tests.devportal.review.reviewing import SCOPE, Status, approved, decide, fresh, mails, make_reviewer, path_of, sent

pytestmark = pytest.mark.django_db
WHY = "The second page of the settings shows the plan."


@pytest.fixture
def rejected(app: Client, developer: Account, reviewer: Account) -> AppReview:
    return decide(sent(app, developer), reviewer, Status.REJECTED)


def suspended(app: Client, by: Account) -> Project:
    return reviewer_actions.suspend_project(app.project, by, reasons=["harmful"], text="It mines coins.")


def test_an_appeal_sends_the_submission_to_another_reviewer(
    rejected: AppReview, app: Client, developer: Account, reviewer: Account, later: Callable[[float], None]
) -> None:
    later(3600)
    again = appeals.appeal_rejection(rejected, developer, WHY)
    assert (again.status, again.revision, again.label) == (Status.SUBMITTED, 1, "appeal")
    assert again.snapshot == rejected.snapshot
    assert (again.appealed_from, again.assignee, again.decided_by) == (reviewer, None, None)
    assert again.submitted_at is not None
    assert again.submitted_at > rejected.submitted_at, "it waits from now on"  # type: ignore[operator]
    steps: list[Callable[[], Any]] = [
        lambda: reviewer_actions.start(again, reviewer),
        lambda: reviewer_actions.assign(again, reviewer, None),
        lambda: reviewer_actions.assign(again, make_reviewer(), reviewer),
        lambda: developer_actions.answer(again, reviewer, "No."),
    ]
    for step in steps:
        with pytest.raises(ReviewNotAllowed):
            step()
    with pytest.raises(ReviewNotAllowed, match="You rejected this"):
        reviewer_actions.start(again, reviewer)
    decide(again, make_reviewer(), Status.APPROVED)
    assert fresh(app).is_verified


def test_a_rejection_is_appealed_against_once(rejected: AppReview, developer: Account) -> None:
    again = appeals.appeal_rejection(rejected, developer, WHY)
    with pytest.raises(IllegalReviewStep, match="now “submitted”"):
        appeals.appeal_rejection(again, developer, WHY)
    again = decide(again, make_reviewer(), Status.REJECTED)
    with pytest.raises(IllegalReviewStep, match="already appealed once"):
        appeals.appeal_rejection(again, developer, WHY)
    assert appeals.offer_for_client(again.client) is None


def test_an_appeal_has_a_deadline(
    rejected: AppReview, app: Client, developer: Account, settings: Any, later: Callable[[float], None]
) -> None:
    settings.APPEAL_DAYS = 2
    later(2 * 24 * 3600 - 60)
    assert appeals.offer_for_client(app) is not None
    later(120)
    assert appeals.offer_for_client(app) is None
    with pytest.raises(IllegalReviewStep, match="possible for 2 days"):
        appeals.appeal_rejection(rejected, developer, WHY)


def test_an_appeal_is_rejected_if_there_is_a_newer_review(rejected: AppReview, app: Client, developer: Account) -> None:
    developer_actions.save_submission(app, developer, {"name": "Orbit Two"})
    assert appeals.offer_for_client(app) is None
    with pytest.raises(IllegalReviewStep, match="new version since"):
        appeals.appeal_rejection(rejected, developer, WHY)
    developer_actions.withdraw(developer_actions.submit(app, developer), developer)
    assert appeals.appeal_rejection(rejected, developer, WHY).status == Status.SUBMITTED


def test_an_appeal_stays_when_the_rejecting_reviewer_is_deleted(
    rejected: AppReview, app: Client, developer: Account, reviewer: Account
) -> None:
    again = appeals.appeal_rejection(rejected, developer, WHY)
    reviewer.delete()
    again.refresh_from_db()
    assert again.appealed_from is None
    decide(again, make_reviewer(), Status.APPROVED)
    assert fresh(app).is_verified


def test_an_appeal_is_mailed_only_to_reviewers_who_can_decide(
    rejected: AppReview, app: Client, developer: Account
) -> None:
    relative, stranger = make_reviewer(), make_reviewer()
    add_member(get_or_create_family(developer), relative)
    before = len(mails())
    appeals.appeal_rejection(rejected, developer, WHY)
    reviewer_actions.suspend_project(app.project, stranger, reasons=["harmful"])
    appeals.appeal_suspension(app.project, developer, WHY)
    assert relative.email not in {to for to, _, _ in mails()[before:]}
    assert stranger.email in {to for to, _, _ in mails()[before:]}


def test_an_appeal_is_mailed_both_ways(rejected: AppReview, developer: Account, owner: Account) -> None:
    other, silent = make_reviewer("otis@example.com"), make_reviewer("sil@example.com")
    make_reviewer("left@example.com", is_active=False)
    ReviewerSettings.objects.create(account=silent, mails_new=False)
    before = len(mails())
    appeals.appeal_rejection(rejected, developer, WHY)
    new = mails()[before:]
    assert sorted(to for to, _, _ in new) == sorted([owner.email, developer.email, other.email])
    as_reviewer = next(body for to, _, body in new if to == other.email)
    assert WHY in as_reviewer
    assert f"/admin/review/appreview/{rejected.pk}/change/" in as_reviewer
    assert AuditEvent.objects.filter(action="review.appealed", actor=developer.pk).count() == 1


def test_an_appeal_against_a_withdrawn_approval_is_a_case(app: Client, developer: Account, reviewer: Account) -> None:
    approved(app, developer, reviewer)
    with pytest.raises(IllegalReviewStep, match="anything to appeal"):
        appeals.appeal_withdrawal(app, developer, WHY)
    second = make_reviewer()
    reviewer_actions.withdraw_approval(app, second, reasons=["imitation"])
    case = appeals.appeal_withdrawal(app, developer, WHY)
    assert (case.kind, case.client, case.text, case.opened_by) == ("appeal", app, WHY, developer)
    with pytest.raises(IllegalReviewStep, match="already with the reviewers"):
        appeals.appeal_withdrawal(app, developer, WHY)
    assert ReviewCase.objects.count() == 1
    with pytest.raises(ReviewNotAllowed, match="another reviewer answers"):
        cases.close_case(case, second, "in_order", "No.")
    with pytest.raises(ReviewNotAllowed):
        cases.assign_case(case, reviewer, second)
    before = len(mails())
    cases.close_case(case, reviewer, "in_order", "The logo is still theirs.")
    said = [body for to, _, body in mails()[before:] if to == developer.email]
    assert len(said) == 1
    assert "The logo is still theirs." in said[0]


def test_everyone_who_withdrew_something_since_the_approval_answers_no_appeal_about_it(
    app: Client, developer: Account, reviewer: Account
) -> None:
    earlier, first, second = make_reviewer(), make_reviewer(), make_reviewer()
    approved(app, developer, reviewer)
    reviewer_actions.withdraw_approval(app, earlier, reasons=["imitation"])
    approved(app, developer, reviewer)
    reviewer_actions.withdraw_approval(app, first, scopes=[SCOPE], reasons=["misuse_of_data"])
    reviewer_actions.withdraw_approval(app, second, reasons=["imitation"])
    before = len(mails())
    case = appeals.appeal_withdrawal(app, developer, WHY)
    assert {first.email, second.email}.isdisjoint(to for to, _, _ in mails()[before:])
    for person in (first, second):
        with pytest.raises(ReviewNotAllowed, match="another reviewer answers"):
            cases.close_case(case, person, "in_order", "It stays.")
        with pytest.raises(ReviewNotAllowed):
            cases.assign_case(case, reviewer, person)
    cases.assign_case(case, reviewer, earlier)


def test_an_appeal_against_a_suspension_is_a_case_of_the_project(
    app: Client, developer: Account, reviewer: Account, viewer: Account, outsider: Account
) -> None:
    project = app.project
    with pytest.raises(IllegalReviewStep, match="no longer suspended"):
        appeals.appeal_suspension(project, developer, WHY)
    suspended(app, reviewer)
    for nobody in (viewer, outsider, reviewer):
        with pytest.raises(ReviewNotAllowed):
            appeals.appeal_suspension(project, nobody, WHY)
    case = appeals.appeal_suspension(project, developer, WHY)
    assert (case.project, case.client) == (project, None)
    other = make_reviewer()
    with pytest.raises(ReviewNotAllowed, match="another reviewer answers"):
        cases.close_case(case, reviewer, "acted", "Lifted.")
    reviewer_actions.lift_suspension(project, other)
    with pytest.raises(IncompleteSubmission, match="what you found"):
        cases.close_case(case, other, "acted", " ")
    cases.close_case(case, other, "acted", "It was someone else's doing.")
    assert ReviewEntry.objects.filter(kind="appealed", project=project, client=None).count() == 1


def test_the_appeal_form_is_on_the_page_of_the_rejection(
    rejected: AppReview, app: Client, as_developer: Browser, as_viewer: Browser
) -> None:
    text = as_developer.get(path_of(app)).content.decode()
    assert f'action="{path_of(app)}/appeal"' in text
    assert f'action="{path_of(app)}/appeal"' not in as_viewer.get(path_of(app)).content.decode()
    said = as_developer.post(f"{path_of(app)}/appeal", {"text": WHY}, follow=True).content.decode()
    assert "Your appeal is sent." in said
    assert AppReview.objects.get().status == Status.SUBMITTED
    assert (
        "There is nothing to appeal against" in as_developer.get(f"{path_of(app)}/appeal", follow=True).content.decode()
    )


def test_a_rejected_appeal_keeps_the_input(rejected: AppReview, app: Client, as_developer: Browser) -> None:
    for text, says in ((" \n", "Write what the reviewers"), ("\x00", "Null characters"), ("x" * 4001, "at most 4000")):
        page = as_developer.post(f"{path_of(app)}/appeal", {"text": text})
        assert page.status_code == 200
        assert says in page.content.decode()
        assert text.strip() in page.content.decode()
    assert AppReview.objects.get().status == Status.REJECTED


def test_members_read_why_and_developers_appeal_on_the_projects_page(
    app: Client, reviewer: Account, as_developer: Browser, as_viewer: Browser, as_outsider: Browser
) -> None:
    suspended(app, reviewer)
    address = f"/console/p/{app.project.public_id}/"
    for browser in (as_developer, as_viewer):
        text = browser.get(address).content.decode()
        assert "The app harms people or their devices." in text
        assert "It mines coins." in text
        assert reviewer.email not in text
    assert "owners and developers can appeal" in as_viewer.get(address).content.decode()
    assert as_viewer.post(f"{address}appeal", {"text": WHY}).status_code == 403
    assert as_outsider.post(f"{address}appeal", {"text": WHY}).status_code == 404
    assert "Why, and how to appeal" in as_developer.get(path_of(app)).content.decode()
    assert "Your appeal is sent." in as_developer.post(f"{address}appeal", {"text": WHY}, follow=True).content.decode()
    text = as_developer.get(address).content.decode()
    assert "The reviewers have your appeal" in text
    said = as_developer.post(f"{address}appeal", {"text": WHY}, follow=True).content.decode()
    assert "already with the reviewers" in said
    assert ReviewCase.objects.count() == 1


def test_a_suspension_without_a_reason_shows_a_contact(app: Client, as_developer: Browser) -> None:
    Project.objects.filter(pk=app.project_id).update(suspended_at=app.project.created_at)
    text = as_developer.get(f"/console/p/{app.project.public_id}/").content.decode()
    assert "No reason was given" in text


DAYS = 24 * 3600.0


def test_the_next_appeal_against_a_withdrawal_is_possible_after_30_days(
    app: Client, developer: Account, reviewer: Account, as_developer: Browser, later: Callable[[float], None]
) -> None:
    approved(app, developer, reviewer)
    reviewer_actions.withdraw_approval(app, make_reviewer(), reasons=["imitation"])
    case = appeals.appeal_withdrawal(app, developer, WHY)
    later(10 * DAYS)
    cases.close_case(case, reviewer, "in_order", "The logo is still theirs.")
    later(20 * DAYS - 60)
    with pytest.raises(IllegalReviewStep, match="One appeal is possible in 30 days"):
        appeals.appeal_withdrawal(app, developer, WHY)
    page = as_developer.get(path_of(app)).content.decode()
    assert "You can appeal again from" in page
    assert "appeal-text" not in page
    said = as_developer.post(f"{path_of(app)}/appeal", {"text": WHY}, follow=True).content.decode()
    assert "One appeal is possible in 30 days" in said
    assert ReviewCase.objects.count() == 1
    later(120)
    assert "appeal-text" in as_developer.get(path_of(app)).content.decode()
    assert appeals.appeal_withdrawal(app, developer, WHY).is_open


def test_the_next_appeal_against_a_suspension_is_possible_after_30_days(
    app: Client, developer: Account, reviewer: Account, later: Callable[[float], None]
) -> None:
    suspended(app, reviewer)
    case = appeals.appeal_suspension(app.project, developer, WHY)
    other = make_reviewer()
    cases.close_case(case, other, "acted", "It was someone else's doing.")
    reviewer_actions.lift_suspension(app.project, other)
    project = suspended(app, other)
    with pytest.raises(IllegalReviewStep, match="One appeal is possible in 30 days"):
        appeals.appeal_suspension(project, developer, WHY)
    later(30 * DAYS)
    assert appeals.appeal_suspension(project, developer, WHY).is_open
