"""Domains are looked up again when a review starts and when it is approved (docs/review.md#domains)."""

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client as Browser

from accounts.models import Account
from core import clock, outbound
from devportal.review.decisions import reviewer_actions
from devportal.review.models import AppReview, ReviewEntry
from devportal.review.submission import domain_lookups
from oidc.domains.proofs import Code, ProofCheck, ProofResult
from oidc.models import Client, ProjectDomain, ProjectMember
from tests.devportal.review.reviewing import SCOPE, Status, fresh, make_reviewer, sent, ticked
from tests.factories import make_domain

pytestmark = pytest.mark.django_db
FOUND = ProofCheck(ProofResult(True))
GONE = ProofCheck(ProofResult(False, Code.NO_RECORD), ProofResult(False, Code.NO_FILE, {"status": 404}))
NO_ANSWER = ProofCheck(
    ProofResult(False, outbound.Code.DNS_TIMEOUT, is_temporary=True),
    ProofResult(False, outbound.Code.TIMEOUT, is_temporary=True),
)


class Internet:
    """What lookups see, and which domains were looked up."""

    def __init__(self) -> None:
        self.seen: ProofCheck | Exception = FOUND
        self.asked: list[str] = []
        self.waits = threading.Event()

    def look(self, domain: ProjectDomain) -> ProofCheck:
        self.asked.append(domain.name)
        if isinstance(self.seen, Exception):
            raise self.seen
        return self.seen


@pytest.fixture
def internet(monkeypatch: pytest.MonkeyPatch) -> Internet:
    made = Internet()
    monkeypatch.setattr(domain_lookups, "check_proofs", made.look)
    return made


@pytest.fixture
def review(app: Client, developer: Account, later: Callable[[float], None]) -> AppReview:
    row = sent(app, developer)
    later(24 * 3600)
    return row


def press(browser: Browser, review: AppReview, step: str, **form: Any) -> str:
    address = f"/admin/review/appreview/{review.pk}/do/{step}/"
    answer = browser.post(address, form | {"confirm": "1"}, follow=True)
    assert answer.status_code == 200
    return answer.content.decode()


def approve(browser: Browser, review: AppReview) -> str:
    row = AppReview.objects.get(pk=review.pk)
    form = ticked(row) | {"despite": "It was looked up a moment ago."}
    return press(browser, row, "approve", revision=row.revision, text="", **{f"scope_{SCOPE}": "approve"}, **form)


def domain_of(app: Client) -> ProjectDomain:
    return ProjectDomain.objects.get(project=app.project, name="example.com")


@pytest.mark.parametrize("step", ["start", "approve"])
def test_the_domains_are_looked_up_and_the_page_shows_the_time(
    step: str, review: AppReview, app: Client, reviewer: Account, as_reviewer: Browser, internet: Internet
) -> None:
    make_domain(app.project, "elsewhere.example")
    make_domain(app.project, "declared.example.com", method=ProjectDomain.Method.OPERATOR)
    before = domain_of(app).checked_at
    if step == "approve":
        reviewer_actions.start(review, reviewer)
        approve(as_reviewer, review)
        assert fresh(app).is_verified
        [kept] = ReviewEntry.objects.get(kind="approved").details["domains"]
        assert (kept["name"], kept["result"]) == ("example.com", "found")
    else:
        press(as_reviewer, review, "start")
    assert internet.asked == ["example.com"], "the ones that the app is on, without those of the operator"
    now = domain_of(app).checked_at
    assert before is not None
    assert now is not None
    assert (now - before).total_seconds() > 3600
    page = as_reviewer.get(f"/admin/review/appreview/{review.pk}/change/").content.decode()
    assert f"checked on {now.day} {now:%B %Y, %H:%M} UTC" in page
    assert ("Looked up for the approval: example.com, proof found" in page) == (step == "approve")


def test_a_missing_proof_blocks_the_approval_until_it_was_seen(
    review: AppReview, app: Client, reviewer: Account, as_reviewer: Browser, internet: Internet
) -> None:
    reviewer_actions.start(review, reviewer)
    internet.seen = GONE
    said = approve(as_reviewer, review)
    assert "The proof of example.com was not found just now" in said
    assert not fresh(app).is_verified
    assert domain_of(app).missing_since is not None
    # The page says so now, and the reviewer decides; a proof that is lost can't be approved (docs/domains.md#proofs).
    approve(as_reviewer, review)
    assert fresh(app).is_verified
    assert ReviewEntry.objects.get(kind="approved").details["domains"][0]["result"] == "not_found"


@pytest.mark.parametrize("seen", [NO_ANSWER, OSError("the pool is gone")], ids=["no answer", "an error"])
def test_a_lookup_that_fails_is_shown_and_stops_nothing(
    seen: Any, review: AppReview, app: Client, as_reviewer: Browser, internet: Internet
) -> None:
    internet.seen = seen
    assert "These domains could not be looked up: example.com." in press(as_reviewer, review, "start")
    said = approve(as_reviewer, review)
    assert "These domains could not be looked up: example.com." in said
    assert fresh(app).is_verified
    page = as_reviewer.get(f"/admin/review/appreview/{review.pk}/change/").content.decode()
    assert "Looked up for the approval: example.com, no answer" in page
    assert ("the last check found no proof" in page) == (seen is NO_ANSWER)


def test_an_approval_does_not_wait_for_name_servers(
    review: AppReview, app: Client, reviewer: Account, as_reviewer: Browser, internet: Internet, monkeypatch: Any
) -> None:
    reviewer_actions.start(review, reviewer)
    for number in range(20):
        make_domain(app.project, f"d{number}.example.com")
    ended = threading.Event()
    monkeypatch.setattr(domain_lookups, "check_proofs", lambda domain: ended.wait(30) and FOUND)
    monkeypatch.setattr(domain_lookups, "WAIT_SECONDS", 0.2)
    began = time.monotonic()
    said = approve(as_reviewer, review)
    assert time.monotonic() - began < 10
    ended.set()
    assert "These domains could not be looked up: example.com" in said
    assert fresh(app).is_verified


def test_a_reviewer_with_a_conflict_has_nothing_looked_up(
    review: AppReview, app: Client, internet: Internet, browser_of: Callable[[Account], Browser]
) -> None:
    member = make_reviewer()
    ProjectMember.objects.create(project=app.project, account=member, role="viewer")
    press(browser_of(member), review, "start")
    assert internet.asked == []
    assert AppReview.objects.get(pk=review.pk).status == Status.SUBMITTED


def test_a_domain_that_was_lost_before_the_approval_stops_it(
    review: AppReview, app: Client, reviewer: Account, as_reviewer: Browser, internet: Internet
) -> None:
    reviewer_actions.start(review, reviewer)
    internet.seen = GONE
    ProjectDomain.objects.filter(pk=domain_of(app).pk).update(lost_at=clock.now(), missing_since=clock.now())
    assert "has not proven example.com" in approve(as_reviewer, review)
    assert not fresh(app).is_verified
