"""What a submission brings about: a revision that is kept, and its pages looked at, without keeping anyone waiting."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client as Browser

from accounts.models import Account
from core.outbound import Answer, Code, OutboundRefused
from devportal.review.admin import other_pages
from devportal.review.evidence import collecting, page_checks, tasks
from devportal.review.models import AppReview, ReviewRevision
from devportal.review.submission import developer_actions
from oidc.models import Client
from tests.devportal.review.reviewing import BRANDING, fill, sent

pytestmark = pytest.mark.django_db

Web = dict[str, Any]


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> Web:
    """What addresses answer: a title, or an exception."""
    pages: Web = {BRANDING[field]: "Orbit Notes" for field in ("home_page_url", "privacy_policy_url", "terms_url")}

    def fetch(url: str) -> Answer:
        found = pages[url]
        if isinstance(found, Exception):
            raise found
        return Answer(url, 200, "text/html", f"<title>{found}</title>".encode())

    monkeypatch.setattr("core.outbound.fetch", fetch)
    return pages


def revision_of(review: AppReview) -> ReviewRevision:
    return ReviewRevision.objects.get(review=review, number=review.revision)


def test_pages_are_checked_after_the_submission_is_committed(
    app: Client, developer: Account, monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(developer_actions, "queue_task", lambda *task: asked.append(task))
    with django_capture_on_commit_callbacks(execute=True):
        review = sent(app, developer)
        assert asked == []
    assert asked == [(tasks.check_pages, revision_of(review).pk)]


def test_responses_of_pages_are_stored_with_the_revision(app: Client, developer: Account, web: Web) -> None:
    web[BRANDING["privacy_policy_url"]] = OutboundRefused(Code.CERTIFICATE, error="it has expired")
    web[BRANDING["terms_url"]] = "Terms\u202e of \x00 Orbit"
    row = revision_of(sent(app, developer))
    assert tasks.check_pages(row.pk)
    row.refresh_from_db()
    home, policy, terms = row.page_checks
    assert (home["status"], home["title"], home["final"]) == (200, "Orbit Notes", BRANDING["home_page_url"])
    assert (policy["code"], policy["parameters"]) == ("certificate", {"error": "it has expired"})
    assert terms["title"] == "Terms of Orbit"
    assert tasks.check_pages(0) is False


def test_an_internal_error_is_not_a_result_for_the_page(app: Client, developer: Account, web: Web) -> None:
    web[BRANDING["home_page_url"]] = RuntimeError("never seen before")
    review = sent(app, developer)
    assert page_checks.check_revision(revision_of(review).pk)
    facts = {fact.code: fact for fact in collecting.collect_evidence(review).facts}
    assert facts["home_page"].result == "warn"
    assert facts["terms"].result == "pass"


def test_missing_urls_are_not_checked(app: Client, developer: Account, web: Web) -> None:
    fill(app, developer, terms_url="")
    row = revision_of(developer_actions.submit(app, developer))
    page_checks.check_revision(row.pk)
    row.refresh_from_db()
    assert [check["field"] for check in row.page_checks] == ["home_page_url", "privacy_policy_url"]


def test_lost_checks_are_repeated_by_the_timer(
    app: Client, developer: Account, web: Web, later: Callable[[float], None]
) -> None:
    review = sent(app, developer)
    assert tasks.check_waiting_pages() == 0  # its own task may still come
    later(180)
    assert tasks.check_waiting_pages() == 1
    assert tasks.check_waiting_pages() == 0
    ReviewRevision.objects.filter(review=review).update(page_checks=None)
    developer_actions.withdraw(review, developer)
    assert tasks.check_waiting_pages() == 0


def test_checks_that_fail_for_a_day_are_given_up(
    app: Client, developer: Account, web: Web, later: Callable[[float], None]
) -> None:
    sent(app, developer)
    later(timedelta(days=2).total_seconds())
    assert tasks.check_waiting_pages() == 0


def press(browser: Browser, review: AppReview) -> str:
    answer = browser.post(f"/admin/review/appreview/{review.pk}/check-again/", follow=True)
    assert answer.status_code == 200
    return " ".join(str(message) for message in answer.context["messages"])


@pytest.mark.usefixtures("stopped_clock")
def test_reviewers_can_repeat_page_checks_with_a_limit(
    as_reviewer: Browser, app: Client, developer: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(other_pages, "queue_task", lambda *task: asked.append(task))
    review = sent(app, developer)
    for _ in range(other_pages.CHECKS_PER_MINUTE):
        assert "being checked" in press(as_reviewer, review)
    assert "Try again in" in press(as_reviewer, review)
    assert asked == [(tasks.check_pages, revision_of(review).pk)] * other_pages.CHECKS_PER_MINUTE


def test_only_deciding_reviewers_can_repeat_page_checks_and_only_by_post(
    as_reviewer: Browser, reviewer: Account, app: Client, developer: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(other_pages, "queue_task", lambda *task: asked.append(task))
    review = sent(app, developer)
    assert as_reviewer.get(f"/admin/review/appreview/{review.pk}/check-again/").status_code == 405
    app.project.members.create(account=reviewer, role="viewer")
    assert "Other reviewers decide" in press(as_reviewer, review)
    assert asked == []


def test_a_submission_whose_revision_is_gone_has_no_pages_to_check(
    as_reviewer: Browser, app: Client, developer: Account
) -> None:
    review = sent(app, developer)
    revision_of(review).delete()
    assert "is not stored" in press(as_reviewer, review)
