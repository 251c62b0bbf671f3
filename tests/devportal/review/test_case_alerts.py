"""Emails to reviewers about cases, their target time, and what is shown of people who report (docs/review.md#cases)."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client as Browser

from accounts.models import Account, Outbox
from core import clock
from devportal.review import tasks
from devportal.review.cases import cases
from devportal.review.cases.app_reports import report_app
from devportal.review.decisions import appeals, reviewer_actions
from devportal.review.models import ReviewCase, ReviewerSettings
from oidc.authorization import consent
from oidc.domains.results import Change, announce_change
from oidc.models import Client, Connection, ProjectDomain, ProjectMember
from tests.devportal.review.reviewing import approved, make_reviewer
from tests.factories import make_account, make_client

DAY = 24 * 3600.0


def mailed(task: Callable[[], int]) -> dict[str, tuple[str, str]]:
    """Run a task and return subject and body of the emails that it queued, by recipient."""
    Outbox.objects.all().delete()
    task()
    return {row.to: (row.subject, row.body) for row in Outbox.objects.all()}


@pytest.mark.django_db
class TestMails:
    def test_a_report_is_mailed_to_the_reviewers_once(self, app: Client, reviewer: Account) -> None:
        reporter, silent, member = make_account("rosa@example.com"), make_reviewer(), make_reviewer()
        ReviewerSettings.objects.create(account=silent, mails_cases=False)
        ProjectMember.objects.create(project=app.project, account=member, role="viewer")
        report_app(app, reporter, "pretends", "It copies our bank.")
        found = mailed(tasks.announce_cases)
        assert set(found) == {reviewer.email}
        subject, body = found[reviewer.email]
        case = ReviewCase.objects.get()
        assert "A case was opened about Orbit" in subject
        assert "Reported by people" in body
        assert f"/admin/review/reviewcase/{case.pk}/change/" in body
        assert "rosa" not in body
        assert "bank" not in body
        assert not mailed(tasks.announce_cases)

    def test_a_lost_domain_of_a_reviewed_app_is_mailed(
        self, app: Client, developer: Account, reviewer: Account
    ) -> None:
        app = approved(app, developer, reviewer)
        domain = ProjectDomain.objects.get(project=app.project)
        domain.lost_at = clock.now()
        domain.save()
        announce_change(app.project, domain, Change.LOST)
        assert "Domain lost" in mailed(tasks.announce_cases)[reviewer.email][1]

    def test_several_cases_are_one_mail(self, app: Client, reviewer: Account) -> None:
        for number in range(25):
            cases.open_case("report", app.project, make_client(app.project, name=f"App {number}"))
        subject, body = mailed(tasks.announce_cases)[reviewer.email]
        assert "25 cases were opened" in subject
        assert "and 5 more" in body

    def test_appeals_are_mailed_at_once_and_apps_that_are_due_again_not_at_all(
        self, app: Client, developer: Account, reviewer: Account
    ) -> None:
        reviewer_actions.suspend_project(app.project, make_reviewer(), reasons=["harmful"])
        appeals.appeal_suspension(app.project, developer, "It was not us.")
        cases.open_case("re_review", app.project, app)
        assert not mailed(tasks.announce_cases)

    def test_a_late_case_is_mailed_once(
        self, app: Client, reviewer: Account, settings: Any, later: Callable[[float], None]
    ) -> None:
        settings.CASE_TARGET_DAYS = 2
        case = cases.open_case("report", app.project, app)
        cases.open_case("re_review", app.project, app)
        later(2 * DAY - 60)
        assert not mailed(tasks.announce_late_cases)
        later(120)
        subject, body = mailed(tasks.announce_late_cases)[reviewer.email]
        assert "A case about Orbit is late" in subject
        assert "within 2 days" in body
        assert not mailed(tasks.announce_late_cases)
        cases.close_case(case, reviewer, "in_order")
        again = cases.open_case("report", app.project, app)
        assert again.pk != case.pk
        later(3 * DAY)
        assert mailed(tasks.announce_late_cases)

    def test_closed_cases_and_deleted_projects_are_not_mailed(self, app: Client, reviewer: Account) -> None:
        cases.close_case(cases.open_case("report", app.project, app), reviewer, "in_order")
        assert not mailed(tasks.announce_cases)
        cases.open_case("domain_lost", app.project, app)
        app.project.deleted_at = clock.now()
        app.project.save()
        assert not mailed(tasks.announce_cases)

    def test_the_reviewer_of_the_decision_gets_no_mail_about_its_second_approval(
        self, app: Client, developer: Account, reviewer: Account
    ) -> None:
        app, other = approved(app, developer, reviewer), make_reviewer()
        cases.open_case("second_approval", app.project, app)
        assert set(mailed(tasks.announce_cases)) == {other.email}


@pytest.mark.django_db
class TestPages:
    def test_the_list_and_the_page_say_when_a_case_is_due(
        self, app: Client, reviewer: Account, settings: Any, later: Callable[[float], None], as_reviewer: Browser
    ) -> None:
        settings.CASE_TARGET_DAYS = 3
        case = cases.open_case("report", app.project, app)
        page, late = f"/admin/review/reviewcase/{case.pk}/change/", "/admin/review/reviewcase/?which=late"
        later(DAY + 60)
        for address in ("/admin/review/reviewcase/", page):
            assert "in 1 d" in as_reviewer.get(address).content.decode(), address
        assert "Reported by people" not in as_reviewer.get(late).content.decode()
        later(3 * DAY)
        assert "late by 1 d" in as_reviewer.get(page).content.decode()
        assert "late by 1 d" in as_reviewer.get(late).content.decode()

    def test_each_reporter_has_the_age_of_the_account_the_use_of_the_app_and_earlier_reports(
        self, app: Client, reviewer: Account, as_reviewer: Browser
    ) -> None:
        now = clock.now()
        people = {name: make_account(f"{name}@example.com") for name in ("user", "former", "stranger")}
        Account.objects.filter(pk=people["user"].pk).update(created_at=now - timedelta(days=400))
        for name in ("user", "former"):
            consent.record_consent(people[name], app, ["openid"])
        Connection.objects.filter(account=people["former"]).update(removed_at=now)
        for outcome, name in (("acted", "One"), ("in_order", "Two")):
            other = make_client(app.project, name=name)
            report_app(other, people["stranger"], "other", "")
            cases.close_case(ReviewCase.objects.get(client=other), reviewer, outcome, "Done.")
        for person in people.values():
            report_app(app, person, "pretends", "")
        case = ReviewCase.objects.get(client=app)
        text = " ".join(as_reviewer.get(f"/admin/review/reviewcase/{case.pk}/change/").content.decode().split())
        said = {name: text.split(f"{name}@example.com")[1].split("</div>")[0] for name in people}
        since = now - timedelta(days=400)
        assert f"Account since {since.day} {since:%B %Y}" in said["user"]
        assert "Has used this app since" in said["user"]
        assert "No earlier reports." in said["user"]
        assert "and removed it on" in said["former"]
        assert "Has never allowed this app." in said["stranger"]
        assert "Earlier reports: 2, 1 of them upheld." in said["stranger"]

    def test_a_report_of_a_deleted_account_says_nothing_of_the_person(self, app: Client, as_reviewer: Browser) -> None:
        person = make_account()
        report_app(app, person, "pretends", "It copies our bank.")
        person.delete()
        case = ReviewCase.objects.get()
        text = as_reviewer.get(f"/admin/review/reviewcase/{case.pk}/change/").content.decode()
        assert "a deleted account" in text
        assert "Account since" not in text
