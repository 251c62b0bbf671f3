"""An approval in spite of failing evidence takes a reason, which only reviewers read."""

import re
from collections.abc import Callable

import pytest
from django.test import Client as Browser
from django.test.utils import override_settings

from accounts.models import Account
from core import clock
from devportal.console.models import AuditEvent
from devportal.review.decisions import reviewer_actions
from devportal.review.models import AppReview, ReviewEntry, ReviewRevision
from devportal.review.rules.workflow import IncompleteSubmission
from oidc.models import Client
from tests.devportal.review.reviewing import BRANDING, SCOPE, Status, approve, fresh, make_reviewer, sent, ticked

WHY = "The page is down for maintenance until noon."


@pytest.fixture
def failing(app: Client, developer: Account, reviewer: Account) -> AppReview:
    """A started review of an app whose home page answers 404."""
    review = reviewer_actions.start(sent(app, developer), reviewer)
    address = BRANDING["home_page_url"]
    check: dict[str, object] = {"field": "home_page_url", "address": address, "at": clock.now().isoformat()}
    check |= {"status": 404, "final": address, "title": ""}
    ReviewRevision.objects.filter(review=review).update(page_checks=[check])
    return review


def test_without_a_reason_nothing_is_approved(failing: AppReview, reviewer: Account) -> None:
    for despite in ("", " ", "\x00"):
        with pytest.raises(IncompleteSubmission, match="although these checks fail: Home page"):
            approve(failing, reviewer, despite=despite)
    assert not fresh(failing.client).is_verified


def test_the_reason_is_in_the_timeline_and_not_in_the_audit_trail(failing: AppReview, reviewer: Account) -> None:
    approve(failing, reviewer, despite=WHY)
    assert ReviewEntry.objects.get(kind="approved").details["despite"] == WHY
    assert WHY not in str(list(AuditEvent.objects.values()))


def test_a_reason_that_nothing_calls_for_is_not_stored(app: Client, developer: Account, reviewer: Account) -> None:
    approve(reviewer_actions.start(sent(app, developer), reviewer), reviewer, despite=WHY)
    assert "despite" not in ReviewEntry.objects.get(kind="approved").details


@override_settings(REVIEW_SECOND_KEY_PEOPLE=0)
def test_each_of_two_reviewers_says_why(failing: AppReview, reviewer: Account) -> None:
    second = make_reviewer()
    approve(failing, reviewer, despite=WHY)
    with pytest.raises(IncompleteSubmission, match="Home page"):
        approve(failing, second, despite="")
    assert approve(failing, second, despite="I saw it working.").status == Status.APPROVED
    kept = [entry.details.get("despite") for entry in ReviewEntry.objects.order_by("pk")]
    assert [text for text in kept if text] == [WHY, "I saw it working."]


def set_failing(review: AppReview, *fields: str) -> None:
    """Let the pages of the submission answer 404."""
    now = clock.now().isoformat()
    checks = [
        {"field": field, "address": BRANDING[field], "at": now, "status": 404, "final": BRANDING[field], "title": ""}
        for field in fields
    ]
    ReviewRevision.objects.filter(review=review).update(page_checks=checks)


def test_a_reason_does_not_cover_a_check_that_fails_since(
    failing: AppReview, reviewer: Account, as_reviewer: Browser
) -> None:
    page = f"/admin/review/appreview/{failing.pk}/"
    shown = re.search(r'name="failing" value="([^"]*)"', as_reviewer.get(f"{page}change/").content.decode())
    assert shown
    form = {"revision": 1, "confirm": "1", f"scope_{SCOPE}": "approve", **ticked(failing), "despite": WHY}
    set_failing(failing, "home_page_url", "privacy_policy_url")
    text = as_reviewer.post(f"{page}do/approve/", {**form, "failing": shown[1]}).content.decode()
    assert "These checks fail as well now: Privacy policy." in text
    assert WHY in text
    assert not fresh(failing.client).is_verified
    with pytest.raises(IncompleteSubmission, match="fail as well now: Privacy policy"):
        approve(failing, reviewer, despite=WHY, failing=["home_page"])
    set_failing(failing, "home_page_url")
    as_reviewer.post(f"{page}do/approve/", {**form, "failing": "home_page privacy_policy"})
    assert fresh(failing.client).is_verified, "fewer checks may fail"
    assert "Approved although these checks fail: Home page" in as_reviewer.get(f"{page}change/").content.decode()
    assert ReviewEntry.objects.get(kind="approved").details["failing"] == ["home_page"]


def test_the_form_asks_for_it_and_developers_never_read_it(
    failing: AppReview, reviewer: Account, developer: Account, browser_of: Callable[[Account], Browser]
) -> None:
    as_reviewer = browser_of(reviewer)
    page = f"/admin/review/appreview/{failing.pk}/"
    assert "Why you approve it although checks fail" in as_reviewer.get(f"{page}change/").content.decode()
    form = {"revision": 1, "confirm": "1", f"scope_{SCOPE}": "approve", **ticked(failing)}
    assert "This field is required" in as_reviewer.post(f"{page}do/approve/", form).content.decode()
    as_reviewer.post(f"{page}do/approve/", {**form, "despite": WHY})
    assert fresh(failing.client).is_verified
    assert WHY in as_reviewer.get(f"{page}change/").content.decode()
    path = f"/console/p/{failing.client.project.public_id}/clients/{failing.client.client_id}/review"
    text = browser_of(developer).get(path).content.decode()
    assert "Approved" in text
    assert WHY not in text
