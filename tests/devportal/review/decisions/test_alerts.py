"""Emails to reviewers about what was submitted and what is late: who gets them, when, and what stands in them."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client as Browser
from django.test.utils import CaptureQueriesContext, override_settings

from accounts.models import Account, Outbox
from core import clock
from devportal.review import tasks
from devportal.review.decisions import appeals, reviewer_actions
from devportal.review.models import AppReview, ReviewerSettings
from devportal.review.submission import developer_actions
from oidc.models import Client, Project, ProjectMember
from oidc.projects import members
from tests.at_once import at_once
from tests.devportal.admin.conftest import make_staff
from tests.devportal.review.reviewing import REASON, SCOPE, fill, make_reviewer, resent, sent
from tests.factories import make_account, make_client, make_domain, make_project

MY_MAILS = "/admin/review/appreview/my-mails/"


@pytest.fixture
def rob(db: None) -> Account:
    return make_staff("rob@example.com", "reviewer")


@pytest.fixture
def submitted(app: Client, developer: Account) -> AppReview:
    row = sent(app, developer)
    Outbox.objects.all().delete()
    return row


def mails(template: Callable[[], int], *, to: str | None = None) -> list[Outbox]:
    """Run a task and return the emails that it queued."""
    Outbox.objects.all().delete()
    template()
    found = Outbox.objects.order_by("to")
    return list(found if to is None else found.filter(to=to))


def news(**choice: Any) -> list[str]:
    return [mail.to for mail in mails(tasks.announce_submissions, **choice)]


def late(**choice: Any) -> list[str]:
    return [mail.to for mail in mails(tasks.announce_late_reviews, **choice)]


def aged(review: AppReview, days: float) -> None:
    AppReview.objects.filter(pk=review.pk).update(submitted_at=clock.now() - timedelta(days=days))


@pytest.fixture
def unreachable(db: None) -> Account:
    """A reviewer whose stored email address no mail server accepts (core/mail.py)."""
    account = Account.objects.create_superuser("anna@example.com", "a long password 1")
    Account.objects.filter(pk=account.pk).update(email="änna@example.com")
    account.refresh_from_db()
    return account


def test_a_reviewer_who_gets_no_mail_stops_none(
    app: Client, developer: Account, unreachable: Account, reviewer: Account
) -> None:
    review = sent(app, developer)
    assert news() == [reviewer.email]
    aged(review, 400)
    assert late() == [reviewer.email]
    reviewer_actions.assign(review, reviewer, unreachable)
    developer_actions.answer(review, developer, "Are you there?")
    reviewer_actions.start(review, reviewer)
    reviewer_actions.reject(review, reviewer, revision=1, reasons=REASON, text="Which one?")
    appeals.appeal_rejection(review, developer, "It is safe.")


def test_each_reviewer_gets_one_mail_for_a_submission(submitted: AppReview, reviewer: Account, rob: Account) -> None:
    make_staff("opal@example.com", "operator")
    found = mails(tasks.announce_submissions)
    assert [mail.to for mail in found] == [reviewer.email, rob.email]
    assert found[0].subject.endswith("Orbit Notes waits for review")
    assert f"/admin/review/appreview/{submitted.pk}/change/" in found[0].body
    assert news() == []


def test_a_resubmission_is_announced_again(
    submitted: AppReview, app: Client, developer: Account, reviewer: Account, rob: Account
) -> None:
    assert len(news()) == 2
    reviewer_actions.start(submitted, reviewer)
    reviewer_actions.request_changes(submitted, reviewer, revision=1, reasons=["logo_unclear"])
    assert news() == []
    resent(app, developer)
    # The assignee got a separate mail immediately.
    assert news() == [rob.email]


def test_started_and_withdrawn_submissions_are_not_announced(
    submitted: AppReview, reviewer: Account, developer: Account
) -> None:
    reviewer_actions.start(submitted, reviewer)
    assert news() == []
    AppReview.objects.filter(pk=submitted.pk).update(status="submitted")
    developer_actions.withdraw(submitted, developer)
    assert news() == []


def test_deleted_projects_are_not_announced(submitted: AppReview, reviewer: Account, project: Project) -> None:
    Project.objects.filter(pk=project.pk).update(deleted_at=clock.now())
    assert news() == []
    aged(submitted, 30)
    assert late() == []


def test_only_reviewers_who_want_the_mail_get_it(submitted: AppReview, reviewer: Account, rob: Account) -> None:
    ReviewerSettings.objects.create(account=rob, mails_new=False)
    unproven = make_staff("una@example.com", "reviewer")
    Account.objects.filter(pk=unproven.pk).update(email_verified=False)
    inactive = make_staff("ina@example.com", "reviewer")
    Account.objects.filter(pk=inactive.pk).update(is_active=False)
    root = make_account("root@example.com", is_staff=True, is_superuser=True)
    assert news() == [reviewer.email, root.email]
    aged(submitted, 30)
    assert late() == [reviewer.email, rob.email, root.email]


def test_reviewers_get_no_mail_about_their_own_projects(
    submitted: AppReview, project: Project, reviewer: Account, rob: Account
) -> None:
    ProjectMember.objects.create(project=project, account=reviewer, role="viewer")
    assert news() == [rob.email]
    # Leaving it first does not help either (devportal.review.rules.workflow).
    members.leave_project(project, reviewer)
    aged(submitted, 30)
    assert late() == [rob.email]


def test_many_submissions_are_one_mail_that_names_a_few(reviewer: Account, rob: Account, project: Project) -> None:
    own = make_project(rob, name="Of Rob")
    now = clock.now()
    for number in range(45):
        client = make_client(own if number < 3 else project, name=f"App {number}")
        AppReview.objects.create(
            client=client, number=1, status="submitted", revision=1, created_at=now,
            submitted_at=now - timedelta(minutes=60 - number), snapshot={"name": f"App {number}"},
        )  # fmt: skip
    to_reviewer, to_rob = mails(tasks.announce_submissions)
    assert to_reviewer.subject.endswith("45 apps wait for review")
    assert "App 19 (new)" in to_reviewer.body
    assert "App 20" not in to_reviewer.body
    assert "and 25 more" in to_reviewer.body
    assert to_rob.subject.endswith("42 apps wait for review")
    assert "App 2 " not in to_rob.body
    assert "App 3 (new)" in to_rob.body


def test_many_submissions_take_a_fixed_number_of_statements(reviewer: Account, project: Project) -> None:
    def count(number: int) -> int:
        now = clock.now()
        for _ in range(number):
            AppReview.objects.create(
                client=make_client(project), number=1, status="submitted", revision=1, created_at=now,
                submitted_at=now, snapshot={"name": "One"},
            )  # fmt: skip
        with CaptureQueriesContext(connection) as captured:
            assert tasks.announce_submissions() == number
        return len(captured.captured_queries)

    assert count(90) == count(45)


def test_one_run_handles_a_batch_and_the_next_one_the_rest(
    submitted: AppReview, reviewer: Account, project: Project, developer: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("devportal.review.decisions.alerts.BATCH", 1)
    other = make_client(project, name="Second")
    fill(other, developer, name="Second")
    developer_actions.submit(other, developer)
    assert [mail.subject.rpartition("] ")[2] for mail in mails(tasks.announce_submissions)] == [
        "Orbit Notes waits for review"
    ]
    assert len(news()) == 1
    assert news() == []


def test_the_mail_contains_only_the_app_name_of_developers_texts(
    app: Client, developer: Account, reviewer: Account
) -> None:
    fill(app, developer, name="<b>Tom</b> & Jerry")
    developer_actions.save_submission(
        app, developer, {}, scopes={SCOPE: "The overview shows a secret plan of yours, always."}
    )
    row = developer_actions.submit(app, developer, "Call me at home")
    (mail,) = mails(tasks.announce_submissions)
    aged(row, 30)
    (too_late,) = mails(tasks.announce_late_reviews)
    for each in (mail, too_late):
        assert "<b>Tom" not in each.html
        assert "&lt;b&gt;Tom&lt;/b&gt; &amp; Jerry" in each.html
        assert "<b>Tom</b> & Jerry" in each.body
        for word in ("secret plan", "Call me", "help@example.com", developer.email):
            assert word not in each.body + each.html


@override_settings(REVIEW_TARGET_DAYS=5)
def test_late_reviews_are_mailed_once_for_each_revision(
    submitted: AppReview, app: Client, developer: Account, reviewer: Account
) -> None:
    aged(submitted, 4.9)
    assert late() == []
    aged(submitted, 6.1)
    (mail,) = mails(tasks.announce_late_reviews)
    assert mail.subject.endswith("Orbit Notes is late in review")
    assert "within 5 days" in mail.body
    assert "waiting for 6 d" in mail.body
    assert late() == []
    reviewer_actions.start(submitted, reviewer)
    assert late() == []
    reviewer_actions.request_changes(submitted, reviewer, revision=1, reasons=["logo_unclear"])
    resent(app, developer)
    assert late() == [reviewer.email], "it keeps its age"
    assert late() == []


def test_assigned_reviews_can_be_late(submitted: AppReview, reviewer: Account) -> None:
    reviewer_actions.start(submitted, reviewer)
    aged(submitted, 30)
    assert late() == [reviewer.email]


def test_a_mail_that_fails_is_sent_by_the_next_run(
    submitted: AppReview, reviewer: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: Any) -> None:
        raise OSError("full")

    with monkeypatch.context() as patched:
        patched.setattr("devportal.review.rules.notifications.outbox.queue_mail", fail)
        with pytest.raises(OSError, match="full"):
            tasks.announce_submissions()
    assert news() == [reviewer.email]


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_concurrent_tasks_send_one_mail() -> None:
    make_reviewer("rita@example.com")
    owner = make_account("olga@example.com")
    project = make_project(owner)
    make_domain(project)
    sent(make_client(project, name="Orbit"), owner)
    Outbox.objects.all().delete()
    told = at_once(4, lambda number: tasks.announce_submissions())
    assert sorted(told) == [0, 0, 0, 1]
    assert Outbox.objects.count() == 1


def ticked(browser: Browser) -> list[str]:
    inputs = re.findall(r"<input[^>]*>", browser.get(MY_MAILS).content.decode())
    boxes = [found for found in inputs if 'type="checkbox"' in found and re.search(r"\schecked[\s>=]", found)]
    return [name for found in boxes for name in re.findall(r'name="(mails_\w+)"', found)]


def test_reviewers_choose_their_mails(
    rob: Account, browser_of: Callable[[Account], Browser], submitted: AppReview
) -> None:
    browser = browser_of(rob)
    assert ticked(browser) == ["mails_new", "mails_late", "mails_cases"]
    assert browser.post(MY_MAILS, {"mails_late": "on"}).status_code == 302
    assert news(to=rob.email) == []
    aged(submitted, 30)
    assert late(to=rob.email) == [rob.email]
    assert ticked(browser) == ["mails_late"]
    browser.post(MY_MAILS, {"mails_new": "on", "mails_late": "on", "account": "1"})
    assert ReviewerSettings.objects.get().account == rob
    assert MY_MAILS in browser.get("/admin/review/appreview/").content.decode()
