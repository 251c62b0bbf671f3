"""The admin pages of app review: the queue by age, the page of a review, and each step with a preview of its mail."""

import html
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client as Browser

from accounts.models import Account, Outbox
from core import clock
from devportal.console.models import AuditEvent
from devportal.review.decisions import reviewer_actions
from devportal.review.models import AppReview, ReviewEntry
from devportal.review.submission import developer_actions
from oidc.apis.registry import reload_registry
from oidc.models import ApiScope, Client, Project
from oidc.projects import members
from tests.devportal.admin.conftest import make_staff
from tests.devportal.console.notices.noticing import forget_mails
from tests.devportal.review.reviewing import (
    SCOPE,
    Status,
    approve,
    approved,
    fill,
    fresh,
    mails,
    resent,
    review_in,
    sent,
    ticked,
)
from tests.factories import make_account, make_api, make_domain

QUEUE = "/admin/review/appreview/"


def page(review: AppReview) -> str:
    return f"{QUEUE}{review.pk}/change/"


def text_of(browser: Browser, url: str) -> str:
    response = browser.get(url)
    assert response.status_code == 200, url
    return html.unescape(response.content.decode())


def press(browser: Browser, review: AppReview, step: str, **form: Any) -> str:
    """Fill in a step's form and confirm it; for an approval everything on the checklist is ticked."""
    form = {"revision": review.revision, "confirm": "1"} | (ticked(review) if step == "approve" else {}) | form
    response = browser.post(f"{QUEUE}{review.pk}/do/{step}/", form, follow=True)
    assert response.status_code == 200
    review.refresh_from_db()
    return html.unescape(response.content.decode())


def steps_on(text: str) -> set[str]:
    return set(re.findall(rf'(?:href|action)="{QUEUE}\d+/do/([\w-]+)/"', text)) - {"note"}


def names(text: str) -> list[str]:
    return re.findall(r'/change/[^"]*" class="[^"]*"\s*>([^<]+)</a>', text)


@pytest.fixture
def review(app: Client, developer: Account) -> AppReview:
    """A submission that waits."""
    return sent(app, developer)


def test_drafts_are_not_shown_to_reviewers(as_reviewer: Browser, app: Client, developer: Account) -> None:
    draft = fill(app, developer)
    for which in ("waiting", "mine", "nobodys", "developers", "all"):
        assert names(text_of(as_reviewer, f"{QUEUE}?which={which}")) == []
    for end in ("change/", "do/take/", "do/suspend/", "logo/asked/", "history/", "leave/?to=https://example.com/"):
        assert as_reviewer.get(f"{QUEUE}{draft.pk}/{end}").status_code == 404


def test_each_review_is_in_the_list_of_its_state(
    as_reviewer: Browser, app: Client, developer: Account, reviewer: Account
) -> None:
    row = review_in(Status.CHANGES_REQUESTED, app, developer, reviewer)
    assert names(text_of(as_reviewer, QUEUE)) == []
    assert names(text_of(as_reviewer, f"{QUEUE}?which=developers")) == ["Orbit Notes"]
    resent(app, developer)
    assert "resubmitted" in text_of(as_reviewer, QUEUE)
    for deleted_at, found in ((clock.now(), []), (None, ["Orbit Notes"])):
        Project.objects.filter(pk=app.project_id).update(deleted_at=deleted_at)
        assert names(text_of(as_reviewer, QUEUE)) == found
    developer_actions.withdraw(AppReview.objects.get(pk=row.pk), developer)
    assert names(text_of(as_reviewer, QUEUE)) == []
    assert names(text_of(as_reviewer, f"{QUEUE}?which=all")) == ["Orbit Notes"]
    assert names(text_of(as_reviewer, f"{QUEUE}?q={app.client_id}")) == ["Orbit Notes"]
    assert names(text_of(as_reviewer, f"{QUEUE}?q=0rbit")) == ["Orbit Notes"]
    assert names(text_of(as_reviewer, f"{QUEUE}?q=elsewhere")) == []


def test_a_reviewer_takes_starts_and_approves(
    as_reviewer: Browser, reviewer: Account, review: AppReview, app: Client
) -> None:
    assert steps_on(text_of(as_reviewer, page(review))) == {"take", "assign", "start", "answer", "suspend"}
    press(as_reviewer, review, "take")
    assert review.assignee == reviewer
    assert "take" not in steps_on(text_of(as_reviewer, page(review)))
    assert "Start the review" in text_of(as_reviewer, page(review))
    press(as_reviewer, review, "start")
    assert review.status == Status.IN_REVIEW
    assert steps_on(text_of(as_reviewer, page(review))) >= {"approve", "reject", "request-changes"}
    press(as_reviewer, review, "approve", **{f"scope_{SCOPE}": "approve"})
    client = fresh(app)
    assert client.is_verified
    assert client.approved_scopes == SCOPE
    event = AuditEvent.objects.order_by("-pk")[0]
    assert (event.action, event.actor) == ("review.approved", reviewer)
    assert steps_on(text_of(as_reviewer, page(review))) == {"withdraw-approval", "suspend"}


def test_decisions_are_made_on_the_page_of_the_review(
    as_reviewer: Browser, reviewer: Account, review: AppReview, app: Client
) -> None:
    assert "do/approve" not in text_of(as_reviewer, page(review)), "a review has to be started first"
    reviewer_actions.start(review, reviewer)
    text = text_of(as_reviewer, page(review))
    for step in ("approve", "request-changes", "reject"):
        form = re.search(rf'<form[^>]*action="[^"]*/do/{step}/"(.*?)</form>', text, re.S)
        assert form is not None
        assert re.search(r'name="revision" value="1"', form[1])
        assert not re.search(r" checked(?=[>=]|\s+\w+=)", form[1]), "nothing is preselected"
        first = re.search(r'<button\s[^>]*type="submit"[^>]*>\s*([\w ]+)', form[1])
        assert first is not None
        assert first[1] == "Preview the email", "the Enter key decides nothing"


def test_scopes_are_decided_one_by_one(as_reviewer: Browser, reviewer: Account, review: AppReview, app: Client) -> None:
    reviewer_actions.start(review, reviewer)
    text = press(as_reviewer, review, "approve")
    assert "This field is required" in text
    assert review.status == Status.IN_REVIEW
    assert not re.search(r" checked(?=[>=]|\s+\w+=)", text_of(as_reviewer, f"{QUEUE}{review.pk}/do/approve/"))
    press(as_reviewer, review, "approve", **{f"scope_{SCOPE}": "refuse", "scope_openid": "approve"})
    assert review.decisions == {SCOPE: False}
    assert fresh(app).is_verified
    assert fresh(app).approved_scopes == ""


MAILED: dict[str, dict[str, Any]] = {
    "start": {},
    "answer": {"text": "Which page is it? <b> & co"},
    "request-changes": {"reasons": ["other", "name_misleading"], "text": "Please."},
    "reject": {"reasons": ["justification_vague"], "text": ""},
    "approve": {f"scope_{SCOPE}": "refuse", "text": "Well done"},
    "withdraw-approval": {"what": ["the whole approval"], "reasons": ["harmful"], "text": "x"},
    "suspend": {"reasons": ["unsafe", "imitation"], "text": "Change\r\nyour secrets.\x07"},
    "lift": {"text": "Thanks."},
}


@pytest.mark.parametrize("step", MAILED)
def test_the_mail_that_is_shown_is_the_mail_that_is_queued(
    as_reviewer: Browser, reviewer: Account, developer: Account, review: AppReview, app: Client, step: str
) -> None:
    if step in ("approve", "reject", "request-changes", "withdraw-approval"):
        review = reviewer_actions.start(review, reviewer)
    if step == "withdraw-approval":
        review = approve(review, reviewer)
    form = {"revision": review.revision, **(ticked(review) if step == "approve" else {}), **MAILED[step]}
    if step == "lift":
        suspended_at = reviewer_actions.suspend_project(app.project, reviewer, reasons=["harmful"]).suspended_at
        form["suspended_at"] = suspended_at.isoformat() if suspended_at else ""
    forget_mails()
    entries = ReviewEntry.objects.count()
    response = as_reviewer.post(f"{QUEUE}{review.pk}/do/{step}/", form)
    shown = html.unescape(re.findall(r'<pre class="mail">(.*?)</pre>', response.content.decode(), re.S)[0])
    assert developer.email in response.content.decode()
    assert not Outbox.objects.exists(), "looking sends nothing"
    assert ReviewEntry.objects.count() == entries
    hidden = dict[str, list[str]]()
    for tag in re.findall(r"<input[^>]*>", response.content.decode()):
        found = dict(re.findall(r'(\w+)="([^"]*)"', tag))
        if found.get("type") == "hidden" and found["name"] != "csrfmiddlewaretoken":
            hidden.setdefault(found["name"], []).append(html.unescape(found.get("value", "")))
    done = as_reviewer.post(f"{QUEUE}{review.pk}/do/{step}/", {**hidden, "confirm": "1"})
    assert done.status_code == 302
    [(_, subject, body)] = [mail for mail in mails() if mail[0] == developer.email]
    assert shown == f"Subject: {subject}\n\n{body}"


def test_the_mail_can_be_changed_after_the_preview(as_reviewer: Browser, reviewer: Account, review: AppReview) -> None:
    reviewer_actions.start(review, reviewer)
    form = {"reasons": ["logo_unclear"], "text": "Make it bigger", "revision": "1", "edit": "1"}
    text = html.unescape(as_reviewer.post(f"{QUEUE}{review.pk}/do/reject/", form).content.decode())
    assert "Preview the email" in text
    assert re.search(r">\s*Make it bigger\s*</textarea>", text)
    assert re.search(r'value="logo_unclear"[^>]*checked', text)
    review.refresh_from_db()
    assert review.status == Status.IN_REVIEW


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({}, "This field is required"),
        ({"reasons": ["other"]}, "Write a note that explains the reason"),
        ({"reasons": ["nonsense"]}, "nonsense is not one of the available choices"),
        ({"reasons": ["logo_unclear"], "text": "x" * 5000}, "at most 4000 characters"),
        ({"reasons": ["logo_unclear"], "revision": "x"}, "Enter a whole number"),
    ],
)
def test_an_incomplete_form_names_the_missing_field(
    as_reviewer: Browser, reviewer: Account, review: AppReview, form: dict[str, Any], said: str
) -> None:
    reviewer_actions.start(review, reviewer)
    assert said in press(as_reviewer, review, "reject", **form)
    assert review.status == Status.IN_REVIEW


def test_a_decision_on_an_older_revision_can_be_made_again_on_the_form_that_says_so(
    as_reviewer: Browser, reviewer: Account, developer: Account, app: Client, review: AppReview
) -> None:
    reviewer_actions.request_changes(
        reviewer_actions.start(review, reviewer), reviewer, revision=1, reasons=["logo_unclear"]
    )
    make_domain(app.project, "orbit.test")
    developer_actions.save_submission(app, developer, {"home_page_url": "https://orbit.test/"})
    reviewer_actions.start(resent(app, developer), reviewer)
    form = {f"scope_{SCOPE}": "approve", "text": "Well done.", "domains": "example.com"}
    said = press(as_reviewer, review, "approve", revision=1, **form)
    assert "Well done." in said
    assert not re.search(r'value="approve"[^>]* checked[ >=]|name="check_[^>]* checked[ >=]', said)
    hidden = dict(re.findall(r'name="(revision|measure|failing|domains)" value="([^"]*)"', said))
    press(as_reviewer, review, "approve", **form | hidden)
    assert fresh(app).approved_domains == "example.com orbit.test"


def test_the_second_of_two_reviewers_gets_a_message(
    as_reviewer: Browser, reviewer: Account, review: AppReview, browser_of: Callable[[Account], Browser]
) -> None:
    reviewer_actions.start(review, reviewer)
    other = browser_of(make_staff("rob@example.com", "reviewer"))
    first = press(as_reviewer, review, "reject", reasons=["logo_unclear"])
    assert "The submission was rejected" in first
    second = press(other, review, "approve", **{f"scope_{SCOPE}": "approve"})
    assert "not possible now" in second
    assert review.status == Status.REJECTED
    assert ReviewEntry.objects.filter(kind="approved").count() == 0


def test_reviews_can_only_be_assigned_to_reviewers(
    as_reviewer: Browser, review: AppReview, operator: Account, outsider: Account, owner: Account
) -> None:
    rob = make_staff("rob@example.com", "reviewer")
    press(as_reviewer, review, "assign", assignee=str(rob.pk))
    assert review.assignee == rob
    for nobody in (operator, outsider, owner):
        assert "Select a valid choice" in press(as_reviewer, review, "assign", assignee=str(nobody.pk))
    assert review.assignee == rob
    boss = make_account("boss@example.com", is_superuser=True, is_staff=True)
    press(as_reviewer, review, "assign", assignee=str(boss.pk))
    assert review.assignee == boss
    press(as_reviewer, review, "assign", assignee="")
    assert review.assignee is None


@pytest.mark.parametrize("role", ["viewer", "former member"])
def test_nobody_decides_on_a_project_of_their_own(
    as_reviewer: Browser, reviewer: Account, review: AppReview, project: Project, app: Client, role: str
) -> None:
    reviewer_actions.start(review, make_staff("rob@example.com", "reviewer"))
    said = "You are a member of this project, so other reviewers decide on it."
    project.members.create(account=reviewer, role="viewer")
    if role == "former member":
        members.leave_project(project, reviewer)
        said = "You were a member of this project"
    assert "(your own)" in text_of(as_reviewer, QUEUE)
    text = text_of(as_reviewer, page(review))
    assert said in text
    assert steps_on(text) == set()
    assert re.findall(r"<button[^>]*disabled[^>]*>([^<]+)</button>", text) == [
        "Approve", "Request changes", "Reject", "Assign to me", "Assign to …", "Write to the developers",
        "Suspend the project",
    ]  # fmt: skip
    review.refresh_from_db()
    before = AppReview.objects.values().get()
    for step, form in (
        ("take", {}), ("assign", {"assignee": str(reviewer.pk)}), ("approve", MAILED["approve"]),
        ("reject", MAILED["reject"]), ("request-changes", MAILED["request-changes"]), ("suspend", MAILED["suspend"]),
    ):  # fmt: skip
        said = press(as_reviewer, review, step, **form)
        assert "other reviewers decide on it" in said, step
    assert AppReview.objects.values().get() == before
    assert not Project.objects.get(pk=project.pk).is_suspended
    assert not fresh(app).is_verified


def test_an_approval_is_withdrawn_partly_or_completely(
    as_reviewer: Browser, app: Client, developer: Account, reviewer: Account
) -> None:
    client = approved(app, developer, reviewer)
    row = client.reviews.get()
    assert SCOPE in text_of(as_reviewer, f"{QUEUE}{row.pk}/do/withdraw-approval/")
    press(as_reviewer, row, "withdraw-approval", what=[SCOPE], reasons=["misuse_of_data"])
    assert (fresh(app).approved_scopes, fresh(app).is_verified) == ("", True)
    press(as_reviewer, row, "withdraw-approval", what=["the whole approval"], reasons=["misuse_of_data"])
    assert not fresh(app).is_verified
    refused = press(as_reviewer, row, "withdraw-approval", what=["the whole approval"], reasons=["harmful"])
    assert "not possible now" in refused


def test_a_scope_named_everything_is_withdrawn_alone(
    as_reviewer: Browser, app: Client, developer: Account, reviewer: Account
) -> None:
    row = approved(app, developer, reviewer).reviews.get()
    ApiScope.objects.create(api=make_api(), name="everything", title="See it all", needs_approval=True)
    reload_registry()
    Client.objects.filter(pk=app.pk).update(approved_scopes=f"{SCOPE} everything")
    press(as_reviewer, row, "withdraw-approval", what=["everything"], reasons=["misuse_of_data"])
    assert (fresh(app).approved_scopes, fresh(app).is_verified) == (SCOPE, True)


def test_a_name_that_became_reserved_is_not_approved(
    as_reviewer: Browser, reviewer: Account, review: AppReview, app: Client, settings: Any
) -> None:
    reviewer_actions.start(review, reviewer)
    settings.SERVICE_NAME = "Orbit"
    text = press(as_reviewer, review, "approve", **{f"scope_{SCOPE}": "approve"})
    assert "A name can't contain" in text
    assert not fresh(app).is_verified
