"""The review queue: how long each review waits against the target, its filters, its pages, and its head."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client as Browser
from django.test.utils import CaptureQueriesContext, override_settings

from accounts.models import Account
from core import clock
from devportal.review.evidence.glance import refresh_due_glances, refresh_glance
from devportal.review.models import AppReview
from oidc.models import Client, Project
from tests.devportal.admin.conftest import make_staff
from tests.devportal.admin.test_review_admin import QUEUE, names
from tests.devportal.admin.test_review_admin import text_of as page_at
from tests.factories import make_account, make_client, make_project

DAY = timedelta(days=1)


def text_of(browser: Browser, query: str = "") -> str:
    return page_at(browser, QUEUE + query)


def link(text: str, rel: str) -> str | None:
    found = re.search(rf'rel="{rel}" href="([^"]+)"', text)
    return found[1] if found else None


def chip(text: str, title: str) -> str:
    found = re.search(rf'class="queue__chip" href="([^"]*)"[^>]*>{re.escape(title)}', text)
    assert found is not None, title
    return found[1]


def head(text: str) -> dict[str, str]:
    return dict(re.findall(r'<dt>(\w+)</dt><dd><a href="[^"]*">([^<]+)<', text))


NOTHING_GIVEN: dict[str, Any] = dict.fromkeys(
    ("home_page_url", "privacy_policy_url", "terms_url", "support_address", "logo"), ""
) | {"redirect_urls": ["https://app.example.com/callback"], "sign_out_urls": []}


def waiting(client: Client, name: str, age: timedelta = DAY, **fields: Any) -> AppReview:
    """Store a review that waits, without the steps that lead there."""
    now = clock.now()
    values: dict[str, Any] = {"status": "submitted", "revision": 1, "created_at": now, "submitted_at": now - age}
    snapshot = NOTHING_GIVEN | {"name": name, "scopes": fields.pop("scopes", {})}
    number = AppReview.objects.filter(client=client).count() + 1
    return AppReview.objects.create(client=client, number=number, snapshot=snapshot, **values | fields)


@pytest.fixture
def one_project(db: None) -> Project:
    return make_project(make_account("dora@example.com"), name="Observatory")


@pytest.fixture
def wait(one_project: Project) -> Any:
    return lambda name, age=DAY, **fields: waiting(make_client(one_project, name=name), name, age, **fields)


# --- The target ---


@override_settings(REVIEW_TARGET_DAYS=5)
def test_each_row_says_how_long_is_left_or_by_how_much_it_is_late(as_reviewer: Browser, wait: Any) -> None:
    wait("Late", 7 * DAY + timedelta(hours=3))
    wait("Just late", 5 * DAY + timedelta(minutes=1))
    wait("Soon", 4 * DAY + timedelta(hours=20))
    wait("Due", 3 * DAY)
    text = text_of(as_reviewer)
    assert names(text) == ["Late", "Just late", "Soon", "Due"]
    for shown in ("late by 2 d", "late by less than 1 h", "due in 3 h", "due in 1 d", "7 d 3 h", "4 d 20 h"):
        assert shown in text, shown
    assert names(text_of(as_reviewer, "?late=1")) == ["Late", "Just late"]


def test_reviews_that_are_not_waiting_are_never_late(as_reviewer: Browser, wait: Any) -> None:
    for number, status in enumerate(("approved", "changes_requested", "withdrawn")):
        wait(f"App {number}", 90 * DAY, status=status)
    assert names(text_of(as_reviewer, "?which=all&late=1")) == []
    assert "late by" not in text_of(as_reviewer, "?which=all")


# --- Filters ---


@pytest.fixture
def mixed(wait: Any, reviewer: Account) -> None:
    wait("New", 9 * DAY, scopes={"account.read": "To show the plan"})
    wait("Changed", 3 * DAY, is_change=True, assignee=reviewer)
    wait("Again", 8 * DAY, revision=2, is_change=True)
    wait("Objection", 2 * DAY, revision=2, appealed_at=clock.now(), scopes={"account.read": "x"})


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("?kind=new", ["New"]),
        ("?kind=changed", ["Changed"]),
        ("?kind=resubmitted", ["Again"]),
        ("?kind=appeal", ["Objection"]),
        ("?asks=account.read", ["New", "Objection"]),
        ("?late=1", ["New", "Again"]),
        ("?late=1&asks=account.read", ["New"]),
        ("?late=1&kind=appeal", []),
        ("?which=nobodys&late=1", ["New", "Again"]),
        ("?which=mine&late=1", []),
        ("?which=mine&kind=changed", ["Changed"]),
        # What is none is no filter: nothing is hidden without a chip that says so.
        ("?kind=nonsense&asks=openid&late=yes&assignee=me", ["New", "Again", "Changed", "Objection"]),
        ("?assignee=99999999999999999999&kind=&late=", ["New", "Again", "Changed", "Objection"]),
    ],
)
def test_filters_combine(as_reviewer: Browser, mixed: None, query: str, found: list[str]) -> None:
    assert names(text_of(as_reviewer, query)) == found


@pytest.mark.parametrize("status", ["changes_requested", "withdrawn"])
def test_no_filter_tells_for_which_scopes_a_draft_asks(as_reviewer: Browser, wait: Any, status: str) -> None:
    wait("Draft", status=status, scopes={"account.read": "Not sent yet"})
    wait("Sent", status="approved", scopes={"account.read": "To show the plan"})
    assert names(text_of(as_reviewer, "?which=all")) == ["Sent", "Draft"]
    assert names(text_of(as_reviewer, "?which=all&asks=account.read")) == ["Sent"]
    assert names(text_of(as_reviewer, "?which=developers&asks=account.read")) == []


def test_reviews_of_one_assignee(as_reviewer: Browser, mixed: None, reviewer: Account, wait: Any) -> None:
    rob = make_staff("rob@example.com", "reviewer")
    wait("Of Rob", assignee=rob)
    text = text_of(as_reviewer)
    assert names(text_of(as_reviewer, chip(text, "rob@example.com"))) == ["Of Rob"]
    assert names(text_of(as_reviewer, chip(text, reviewer.email))) == ["Changed"]
    assert text.count("Observatory") >= 5, "each row names its project"
    gone = make_staff("gone@example.com", "operator")
    assert "Someone else" in text_of(as_reviewer, f"?assignee={gone.pk}")


def test_a_chosen_filter_is_never_folded(as_reviewer: Browser, mixed: None) -> None:
    folded, opened = '<details class="review-fold">', '<details class="review-fold" open>'
    assert folded in text_of(as_reviewer)
    assert folded in text_of(as_reviewer, "?kind=new")
    assert opened in text_of(as_reviewer, "?late=1")


def test_filter_chips_combine_and_can_be_removed_one_by_one(as_reviewer: Browser, mixed: None) -> None:
    text = text_of(as_reviewer, chip(text_of(as_reviewer, "?late=1"), "New"))
    assert names(text) == ["New"]
    back = text_of(as_reviewer, chip(text, "New"))
    assert names(back) == ["New", "Again"]
    assert names(text_of(as_reviewer, chip(back, "Late"))) == ["New", "Again", "Changed", "Objection"]


def test_a_list_keeps_the_filters_and_a_search_looks_everywhere(as_reviewer: Browser, mixed: None) -> None:
    text = text_of(as_reviewer, "?late=1")
    for title in ("Nobody's", "All"):
        url = re.search(rf'<a href="(\?[^"]*)"[^>]*>{title}</a>', text)
        assert url is not None
        assert "late=1" in url[1]
    assert names(text_of(as_reviewer, "?q=objec")) == ["Objection"]


def test_a_project_is_found_by_its_id(as_reviewer: Browser, mixed: None, one_project: Project) -> None:
    assert len(names(text_of(as_reviewer, f"?q={one_project.public_id}"))) == 4
    assert names(text_of(as_reviewer, "?q=prj_none")) == []


# --- Pages ---


@pytest.fixture
def crowd(one_project: Project) -> list[str]:
    """120 reviews, of which three and three were sent at the same moment, in both states that wait."""
    titles = [f"App {number}" for number in range(120)]
    now = clock.now()
    for number, title in enumerate(titles):
        client = make_client(one_project, name=title)
        status = "in_review" if number % 2 else "submitted"
        sent = now - timedelta(hours=200) + timedelta(hours=number // 3)
        waiting(client, title, status=status, submitted_at=sent, revision=1 + number % 2)
    return titles


def walk(browser: Browser, query: str, rel: str) -> list[list[str]]:
    pages: list[list[str]] = []
    while True:
        text = text_of(browser, query)
        pages.append(names(text))
        following = link(text, rel)
        if following is None:
            return pages
        query = following


def test_pages_by_age_follow_each_other_and_lead_back(as_reviewer: Browser, crowd: list[str]) -> None:
    pages = walk(as_reviewer, "", "next")
    assert [len(page) for page in pages] == [50, 50, 20]
    assert [name for page in pages for name in page] == crowd
    last = text_of(as_reviewer, link(text_of(as_reviewer, link(text_of(as_reviewer), "next") or ""), "next") or "")
    before = link(last, "prev")
    assert before is not None
    assert names(text_of(as_reviewer, before)) == crowd[50:100]
    assert names(text_of(as_reviewer, link(text_of(as_reviewer, before), "prev") or "")) == crowd[:50]


def test_filters_survive_paging(as_reviewer: Browser, crowd: list[str]) -> None:
    pages = walk(as_reviewer, "?kind=resubmitted", "next")
    assert [name for page in pages for name in page] == crowd[1::2]


def test_decisions_meanwhile_do_not_shift_pages(as_reviewer: Browser, crowd: list[str]) -> None:
    following = link(text_of(as_reviewer), "next")
    assert following is not None
    AppReview.objects.filter(snapshot__name__in=crowd[:50]).update(status="approved")
    assert names(text_of(as_reviewer, following)) == crowd[50:100]


@pytest.mark.parametrize("place", ["x", "1.", "-1.1", "1.1.1", f"{'9' * 19}.1", f"{2**63 - 1}.1", "\u0661.\u0661"])
def test_invalid_and_extreme_page_positions_are_handled(as_reviewer: Browser, wait: Any, place: str) -> None:
    wait("One")
    for name in ("after", "before"):
        assert as_reviewer.get(f"{QUEUE}?{name}={place}").status_code == 200


# --- The head, and what the page costs ---


def test_the_heading_counts_waiting_reviews_up_to_a_limit(
    as_reviewer: Browser, mixed: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = text_of(as_reviewer, "?kind=new")
    assert head(text) == {"waiting": "4", "late": "2", "mine": "1", "appeals": "1"}
    monkeypatch.setattr("devportal.review.admin.review_queue.MAX_COUNTED", 3)
    assert head(text_of(as_reviewer))["waiting"] == "3+"
    assert head(text_of(as_reviewer))["late"] == "2"


def queries(browser: Browser, query: str) -> list[str]:
    with CaptureQueriesContext(connection) as captured:
        text_of(browser, query)
    return [query["sql"] for query in captured.captured_queries]


@pytest.mark.parametrize("query", ["", "?late=1&kind=resubmitted", "?which=mine", "?which=all"])
def test_the_queue_takes_a_fixed_number_of_statements(
    as_reviewer: Browser, one_project: Project, wait: Any, query: str
) -> None:
    wait("First")
    few = len(queries(as_reviewer, query))
    for number in range(120):
        wait(f"App {number}", 9 * DAY, revision=2)
    assert len(queries(as_reviewer, query)) <= max(few, 13)


def test_every_statement_of_the_queue_has_a_limit(as_reviewer: Browser, crowd: list[str]) -> None:
    """Each is limited, or names the rows of one page by their keys."""
    reading = [sql for sql in queries(as_reviewer, "") if 'FROM "review_appreview"' in sql]
    assert len(reading) == 7  # two states, the page's rows, four numbers
    by_key = [sql for sql in reading if not re.search(r"LIMIT (51|501)\b", sql)]
    assert len(by_key) == 1
    assert '"review_appreview"."id" IN (' in by_key[0]


class TestAtAGlance:
    def test_a_row_says_what_the_evidence_says(self, as_reviewer: Browser, one_project: Project) -> None:
        review = waiting(make_client(one_project, name="Orbit"), "Orbit", scopes={"account.read": "Why."})
        text = text_of(as_reviewer)
        assert "Asks for account.read" in text
        assert "Evidence is being gathered" in text
        assert refresh_due_glances() == 1
        review.refresh_from_db()
        assert review.glance["failing"] > 1
        text = text_of(as_reviewer)
        assert f"{review.glance['failing']} failing checks" in text
        assert "Nobody uses it yet" in text
        assert refresh_due_glances() == 0

    def test_it_is_refreshed_after_an_hour_and_after_a_new_submission(self, one_project: Project) -> None:
        review = waiting(make_client(one_project, name="Orbit"), "Orbit")
        refresh_due_glances()
        AppReview.objects.update(glance_at=clock.now() - timedelta(hours=2))
        assert refresh_due_glances() == 1
        AppReview.objects.update(revision=2, glance=None, glance_at=None)
        refresh_glance(review)  # gathered for the revision before
        review.refresh_from_db()
        assert review.glance is None

    def test_a_missing_second_approval_is_named(self, as_reviewer: Browser, one_project: Project) -> None:
        with override_settings(REVIEW_SECOND_KEY_PEOPLE=0):
            waiting(
                make_client(one_project, name="Orbit"),
                "Orbit",
                scopes={"account.read": "Why."},
                status="in_review",
                revision=1,
            )
            refresh_due_glances()
        assert "Takes two approvals" in text_of(as_reviewer)
        AppReview.objects.update(first_approval_by=make_staff("rob@example.com", "reviewer"))
        assert "Second approval missing" in text_of(as_reviewer)

    def test_reviewers_with_a_conflict_of_interest_see_only_the_scopes(
        self, as_reviewer: Browser, reviewer: Account
    ) -> None:
        waiting(make_client(make_project(reviewer), name="Orbit"), "Orbit", scopes={"account.read": "Why."})
        refresh_due_glances()
        text = text_of(as_reviewer)
        assert "Asks for account.read" in text
        assert "failing check" not in text


def test_a_search_for_a_developer_finds_nothing_of_one_s_own(
    as_reviewer: Browser, reviewer: Account, one_project: Project
) -> None:
    owner = one_project.members.get().account
    waiting(make_client(one_project, name="Orbit"), "Orbit")
    own = make_project(reviewer, name="Own")
    own.members.create(account=owner, role="developer")
    waiting(make_client(own, name="Tide"), "Tide")
    assert "Tide" not in text_of(as_reviewer, f"?q={owner.email}")
    assert "Tide" in text_of(as_reviewer, "?q=tide")


def test_evidence_that_can_t_be_gathered_stops_no_other(one_project: Project, caplog: pytest.LogCaptureFixture) -> None:
    broken = waiting(make_client(one_project, name="Orbit"), "Orbit", age=2 * DAY)
    AppReview.objects.filter(pk=broken.pk).update(snapshot={})
    fine = waiting(make_client(one_project, name="Tide"), "Tide")
    assert refresh_due_glances() == 2
    fine.refresh_from_db()
    assert fine.glance is not None
    assert "could not be gathered" in caplog.text
    assert refresh_due_glances() == 0
