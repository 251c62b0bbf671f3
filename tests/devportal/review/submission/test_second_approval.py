"""Two approvals: a sensitive scope is approved once two reviewers decide the same (docs/review.md#two-approvals)."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.test import Client as Browser
from django.test.utils import CaptureQueriesContext

from accounts.models import Account
from accounts.roles import set_roles
from core import clock
from devportal.console import activity
from devportal.console.models import AuditEvent
from devportal.review import tasks
from devportal.review.cases import cases
from devportal.review.decisions import appeals, reviewer_actions
from devportal.review.models import AppReview, ReviewCase, ReviewEntry, ReviewerSettings
from devportal.review.rules.workflow import IllegalReviewStep, ReviewNotAllowed
from devportal.review.submission import developer_actions
from devportal.review.submission.second_approval import first_approval, has_many_people
from oidc.authorization import consent
from oidc.clients.reviewed_hosts import counts_as_reviewed
from oidc.models import Client, Project, ProjectMember
from oidc.projects import members
from tests.at_once import at_once
from tests.devportal.console.notices.noticing import forget_mails
from tests.devportal.review.reviewing import (
    REASON,
    SCOPE,
    Status,
    approve,
    decide,
    fill,
    fresh,
    mails,
    make_reviewer,
    resent,
    sent,
    ticked,
)
from tests.factories import make_account, make_client

YES, NO = {SCOPE: True}, {SCOPE: False}


@pytest.fixture(autouse=True)
def every_app(settings: Any) -> None:
    settings.REVIEW_SECOND_KEY_PEOPLE = 0


@pytest.fixture
def review(app: Client, developer: Account, reviewer: Account) -> AppReview:
    return reviewer_actions.start(sent(app, developer), reviewer)


def approval_form(review: AppReview) -> dict[str, Any]:
    form = {"revision": review.revision, f"scope_{SCOPE}": "approve", "text": "", "confirm": "1"}
    return form | ticked(review)


def held(review: AppReview) -> Account | None:
    found = first_approval(AppReview.objects.get(pk=review.pk))
    return found.by if found else None


def _deactivate(account: Account) -> None:
    account.is_active = False
    account.save()


@pytest.mark.django_db
class TestTwoApprovals:
    def test_a_suspension_ends_a_first_approval_that_did_not_know_it(
        self, review: AppReview, app: Client, reviewer: Account
    ) -> None:
        approve(review, reviewer)
        reviewer_actions.suspend_project(app.project, make_reviewer(), reasons=["harmful"])
        assert held(review) is None

    def test_a_withdrawn_approval_ends_a_first_approval_that_did_not_know_it(
        self, review: AppReview, app: Client, reviewer: Account, developer: Account
    ) -> None:
        approve(review, reviewer)
        approve(review, make_reviewer())
        developer_actions.save_submission(app, developer, {"name": "Nova Notes"})
        again = reviewer_actions.start(developer_actions.submit(app, developer), reviewer)
        approve(again, reviewer)
        reviewer_actions.withdraw_approval(fresh(app), make_reviewer(), reasons=["unsafe"])
        assert held(again) is None

    def test_an_address_that_nobody_sent_is_never_approved(
        self, review: AppReview, app: Client, reviewer: Account
    ) -> None:
        approve(review, reviewer)
        Client.objects.filter(pk=app.pk).update(redirect_uris=f"{app.redirect_uris} https://evil.example/callback")
        approve(review, make_reviewer())
        after = fresh(app)
        assert after.is_verified
        assert "evil.example" not in after.approved_hosts + after.reviewed_hosts
        assert not counts_as_reviewed(after, "https://evil.example/callback")

    def test_a_reviewer_who_is_a_developer_of_the_app_reads_nothing_of_the_first_one(
        self, review: AppReview, reviewer: Account, developer: Account, browser_of: Callable[[Account], Browser]
    ) -> None:
        approve(review, reviewer, text="It needs the plan.")
        address = f"/admin/review/appreview/{review.pk}/change/"
        set_roles(developer, ["reviewer"])
        text = browser_of(developer).get(address).content.decode()
        assert "It needs the plan." not in text
        assert 'id="second-approval"' not in text
        assert "It needs the plan." in browser_of(reviewer).get(address).content.decode()

    def test_the_first_approval_changes_nothing_and_the_second_takes_effect(
        self, review: AppReview, app: Client, reviewer: Account
    ) -> None:
        forget_mails()
        after_first = approve(review, reviewer, text="It needs the plan.")
        assert after_first.status == Status.IN_REVIEW
        assert not fresh(app).is_verified
        assert fresh(app).approved_scopes == ""
        assert held(review) == reviewer
        assert not mails(), "the developers are not told, and there is no other reviewer"
        second = make_reviewer()
        done = approve(after_first, second)
        assert (done.status, done.decided_by, done.first_approval) == (Status.APPROVED, second, None)
        assert fresh(app).approved_scopes == SCOPE
        assert done.reason_text == "It needs the plan.", "the developers read the first one's note"
        kinds = list(ReviewEntry.objects.order_by("pk").values_list("kind", flat=True))
        assert kinds[-2:] == ["first_approval", "approved"]
        assert AuditEvent.objects.filter(action="review.first_approval", actor=reviewer.pk).count() == 1

    def test_one_reviewer_gives_one_approval(self, review: AppReview, app: Client, reviewer: Account) -> None:
        approve(review, reviewer)
        for scopes in (YES, NO):
            with pytest.raises(ReviewNotAllowed, match="second reviewer"):
                approve(review, reviewer, scopes)
        assert not fresh(app).is_verified

    def test_another_decision_takes_the_place_of_the_first(
        self, review: AppReview, app: Client, reviewer: Account
    ) -> None:
        second = make_reviewer()
        approve(review, reviewer, YES)
        approve(review, second, NO)
        assert held(review) == second
        assert not fresh(app).is_verified
        assert approve(review, reviewer, NO).status == Status.APPROVED
        assert fresh(app).is_verified
        assert fresh(app).approved_scopes == ""

    def test_both_approvals_need_reviewers_without_a_conflict(
        self, review: AppReview, app: Client, reviewer: Account, project: Any
    ) -> None:
        approve(review, reviewer)
        mine = ProjectMember.objects.create(project=project, account=make_reviewer(), role="viewer")
        members.leave_project(project, mine.account)
        with pytest.raises(ReviewNotAllowed):
            approve(review, mine.account)
        # And the first one, who joined the project meanwhile, has none any more.
        ProjectMember.objects.create(project=project, account=reviewer, role="viewer")
        assert held(review) is None
        third = make_reviewer()
        assert approve(review, third).status == Status.IN_REVIEW
        assert held(review) == third

    ENDS: dict[str, Callable[[AppReview, Account, Account, Account], Any]] = {
        "a withdrawal": lambda review, first, second, developer: developer_actions.withdraw(review, developer),
        "a request for changes": lambda review, first, second, developer: decide(
            review, second, Status.CHANGES_REQUESTED
        ),
        "a rejection": lambda review, first, second, developer: decide(review, second, Status.REJECTED),
        "the role's end": lambda review, first, second, developer: set_roles(first, []),
        "the role's end for a while": lambda review, first, second, developer: [
            set_roles(first, []),
            set_roles(first, ["reviewer"]),
        ],
        "a deactivation": lambda review, first, second, developer: _deactivate(first),
        "a deletion": lambda review, first, second, developer: first.delete(),
    }

    @pytest.mark.parametrize("what", ENDS)
    def test_actions_that_end_a_first_approval(
        self, what: str, review: AppReview, app: Client, reviewer: Account, developer: Account
    ) -> None:
        second = make_reviewer()
        approve(review, reviewer)
        self.ENDS[what](AppReview.objects.get(pk=review.pk), reviewer, second, developer)
        assert held(review) is None
        now = AppReview.objects.get(pk=review.pk)
        if now.status == Status.CHANGES_REQUESTED:
            now = reviewer_actions.start(resent(app, developer), second)
        elif now.status != Status.IN_REVIEW:
            fill(app, developer)
            now = reviewer_actions.start(developer_actions.submit(app, developer), second)
        assert approve(now, second).status == Status.IN_REVIEW, "it takes two again"
        assert not fresh(app).is_verified

    def test_few_people_or_no_such_scope_take_one_reviewer(
        self, app: Client, developer: Account, reviewer: Account, settings: Any
    ) -> None:
        settings.REVIEW_SECOND_KEY_PEOPLE = 2
        for _ in range(2):
            consent.record_consent(make_account(), app, ["openid"])
        assert not has_many_people(app.project)
        assert decide(sent(app, developer), reviewer, Status.APPROVED).status == Status.APPROVED
        consent.record_consent(make_account(), app, ["openid"])
        assert has_many_people(app.project), "a third one"
        developer_actions.save_submission(app, developer, {"name": "Orbit Two"})
        review = reviewer_actions.start(developer_actions.submit(app, developer), reviewer)
        assert approve(review, reviewer).status == Status.IN_REVIEW, "a scope that is held and kept counts"
        developer_actions.withdraw(review, developer)
        developer_actions.save_submission(app, developer, {"name": "Orbit Two"}, scopes={})
        review = reviewer_actions.start(developer_actions.submit(app, developer), reviewer)
        assert approve(review, reviewer, {}).status == Status.APPROVED

    def test_people_of_all_apps_of_the_project_count_also_for_a_first_grant(
        self, app: Client, developer: Account, reviewer: Account, settings: Any
    ) -> None:
        settings.REVIEW_SECOND_KEY_PEOPLE = 3
        other = make_client(app.project, name="Comet")
        people = [make_account() for _ in range(4)]
        for person, client in zip(people, (app, other, other, app), strict=True):
            consent.record_consent(person, client, ["openid"])
        assert has_many_people(app.project)
        new = make_client(app.project, name="Orbit")
        review = reviewer_actions.start(sent(new, developer), reviewer)
        assert approve(review, reviewer).status == Status.IN_REVIEW, "nobody uses this app yet"
        assert approve(review, make_reviewer()).second_approval_at is not None
        # One person with several apps is one person.
        settings.REVIEW_SECOND_KEY_PEOPLE = 4
        for client in (app, other):
            consent.record_consent(people[0], client, ["openid"])
        assert not has_many_people(app.project)

    def test_people_are_counted_no_further_than_the_threshold(self, app: Client, settings: Any) -> None:
        settings.REVIEW_SECOND_KEY_PEOPLE = 10_000
        with CaptureQueriesContext(connection) as statements:
            assert not has_many_people(app.project)
        assert not statements, "never"
        settings.REVIEW_SECOND_KEY_PEOPLE = 7
        with CaptureQueriesContext(connection) as statements:
            has_many_people(app.project)
        assert "LIMIT 8" in statements[0]["sql"]

    def test_the_developers_read_nothing_of_the_first_approval(
        self, review: AppReview, app: Client, reviewer: Account, as_developer: Browser
    ) -> None:
        approve(review, reviewer, text="Secret of the desk.")
        address = f"/console/p/{app.project.public_id}/"
        for page in (f"{address}clients/{app.client_id}/review", f"{address}activity", address):
            text = as_developer.get(page).content.decode()
            assert "Secret of the desk" not in text
            assert "First of two" not in text
            assert "first_approval" not in text
        assert not activity.events_of(app.project).filter(action="review.first_approval").exists()

    def test_the_first_decision_is_hidden_until_the_second(
        self, review: AppReview, reviewer: Account, browser_of: Callable[[Account], Browser]
    ) -> None:
        second = make_reviewer()
        as_reviewer = browser_of(second)
        page, step = (f"/admin/review/appreview/{review.pk}/{end}" for end in ("change/", "do/approve/"))
        assert "This review needs two approvals." in as_reviewer.get(page).content.decode()
        approve(review, reviewer, NO, text="Secret of the first one.")
        case = cases.open_case("report", review.client.project, review.client)
        pages = [page, step, f"/admin/review/reviewcase/{case.pk}/change/"]
        previews = {}
        for decision in ("approve", "refuse"):
            form = approval_form(review) | {f"scope_{SCOPE}": decision}
            del form["confirm"]
            previews[decision] = as_reviewer.post(step, form).content.decode()
            assert "Secret of the first one." not in previews[decision]
        assert ("Mail to" in previews["approve"]) == ("Mail to" in previews["refuse"]), "the preview tells nothing"
        for address in pages:
            text = as_reviewer.get(address).content.decode()
            assert "Secret of the first one." not in text, address
            assert "First of two approvals" not in text, address
        assert "This review waits for a second approval." in as_reviewer.get(page).content.decode()
        trail = AuditEvent.objects.get(action="review.first_approval")
        assert not {"scopes", "checked", "text"} & set(trail.details)
        approve(review, second, YES)
        for who, other in ((second, reviewer), (reviewer, second)):
            text = browser_of(who).get(page).content.decode()
            assert "Secret of the first one." in text
            assert f"{other}" in text
        assert f"{second} decided differently" in browser_of(reviewer).get(page).content.decode()
        assert "Secret of the first one." not in browser_of(make_reviewer()).get(page).content.decode()

    def test_an_approval_from_before_an_appeal_shows_no_decision_of_after_it(
        self, review: AppReview, developer: Account, reviewer: Account, browser_of: Callable[[Account], Browser]
    ) -> None:
        """An appeal sends the same revision again, and everyone decides on it again."""
        approve(review, reviewer)
        reviewer_actions.reject(review, make_reviewer(), revision=1, reasons=REASON)
        review = appeals.appeal_rejection(review, developer, "The page says it in its second line.")
        third = make_reviewer()
        approve(reviewer_actions.start(review, third), third, text="Secret of the third one.")
        page = f"/admin/review/appreview/{review.pk}/change/"
        assert "Secret of the third one." not in browser_of(reviewer).get(page).content.decode()
        assert "Secret of the third one." in browser_of(third).get(page).content.decode()

    def test_an_approval_from_before_a_measure_shows_no_decision_of_after_it(
        self, review: AppReview, reviewer: Account, browser_of: Callable[[Account], Browser]
    ) -> None:
        """A measure ends the first approval, and everyone decides on the same revision again."""
        approve(review, reviewer)
        third, project = make_reviewer(), review.client.project
        reviewer_actions.suspend_project(project, third, reasons=["harmful"])
        reviewer_actions.lift_suspension(project, third)
        forget_mails()
        approve(review, third, NO, text="Secret of the third one.", despite="The suspension was a mistake.")
        page = f"/admin/review/appreview/{review.pk}/change/"
        assert "Secret of the third one." not in browser_of(reviewer).get(page).content.decode()
        assert "Secret of the third one." in browser_of(third).get(page).content.decode()
        [(to, _, body)] = mails()
        assert to == reviewer.email
        assert "You can read the first decision after you have decided." in " ".join(body.split())

    def test_the_other_reviewers_get_a_mail_and_find_it_in_the_queue(
        self, review: AppReview, app: Client, reviewer: Account, browser_of: Callable[[Account], Browser]
    ) -> None:
        second, member, silent = make_reviewer(), make_reviewer(), make_reviewer()
        ProjectMember.objects.create(project=app.project, account=member, role="viewer")
        ReviewerSettings.objects.create(account=silent, mails_new=False)
        queue = "/admin/review/appreview/?which=waiting&approval=second"
        assert "Orbit Notes" not in browser_of(second).get(queue).content.decode()
        forget_mails()
        approve(review, reviewer, text="Secret of the first one.")
        [(to, subject, body)] = mails()
        assert (to, "needs a second approval" in subject) == (second.email, True)
        assert f"/admin/review/appreview/{review.pk}/change/" in body
        assert "Secret" not in body
        assert str(reviewer) not in body
        assert "Orbit Notes" in browser_of(second).get(queue).content.decode()
        forget_mails()
        approve(review, second, NO)
        [(to, _, body)] = mails()
        assert to == reviewer.email
        assert "decided differently" in body

    def test_the_pages_name_the_first_approval(self, review: AppReview, as_reviewer: Browser) -> None:
        address = f"/admin/review/appreview/{review.pk}/do/approve/"
        assert "Yours is noted as the first" in as_reviewer.get(address).content.decode()
        form = approval_form(review)
        assert "Your approval is noted." in as_reviewer.post(address, form, follow=True).content.decode()
        assert "You have already approved this" in as_reviewer.post(address, form, follow=True).content.decode()


@pytest.mark.django_db
class TestGrowth:
    """An app that one reviewer approved, in a project that has many people by now."""

    @pytest.fixture
    def grown(self, app: Client, developer: Account, reviewer: Account, settings: Any) -> Client:
        settings.REVIEW_SECOND_KEY_PEOPLE = 2
        decide(sent(app, developer), reviewer, Status.APPROVED)
        for _ in range(2):
            consent.record_consent(make_account(), app, ["openid"])
        assert tasks.open_second_approvals() == 0, "at the threshold"
        consent.record_consent(make_account(), make_client(app.project, name="Comet"), ["openid"])
        return fresh(app)

    def test_a_second_approval_is_asked_for_once(self, grown: Client, reviewer: Account) -> None:
        assert tasks.open_second_approvals() == 1
        assert tasks.open_second_approvals() == 0
        case = ReviewCase.objects.get(kind="second_approval")
        assert case.client == grown
        assert fresh(grown).approved_scopes == SCOPE, "the scope stays approved meanwhile"
        with pytest.raises(ReviewNotAllowed, match="first approval"):
            cases.close_case(case, reviewer, "in_order")
        with pytest.raises(ReviewNotAllowed):
            cases.assign_case(case, make_reviewer(), reviewer)
        cases.close_case(case, make_reviewer(), "in_order")
        assert AppReview.objects.get().second_approval_at is not None
        assert tasks.open_second_approvals() == 0, "two have approved"

    def test_an_app_that_fails_is_left_to_the_next_run(self, grown: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        def lock(pk: int) -> Client:
            raise OperationalError("canceling statement due to lock timeout")

        with monkeypatch.context() as patched:
            patched.setattr("devportal.review.submission.second_approval.lock_client", lock)
            assert tasks.open_second_approvals() == 0
        assert tasks.open_second_approvals() == 1

    def test_closing_without_an_approval_asks_again(self, grown: Client) -> None:
        tasks.open_second_approvals()
        cases.close_case(ReviewCase.objects.get(), make_reviewer(), "acted", "We wrote to them.")
        assert tasks.open_second_approvals() == 1

    def test_a_withdrawal_closes_the_case(self, grown: Client) -> None:
        tasks.open_second_approvals()
        reviewer_actions.withdraw_approval(grown, make_reviewer(), scopes=[SCOPE], reasons=["harmful"])
        case = ReviewCase.objects.get()
        assert (case.is_open, case.outcome) == (False, "acted")
        assert tasks.open_second_approvals() == 0

    def test_a_new_approval_by_two_closes_the_case(self, grown: Client, developer: Account, reviewer: Account) -> None:
        tasks.open_second_approvals()
        developer_actions.save_submission(grown, developer, {"name": "Orbit Two"})
        review = reviewer_actions.start(developer_actions.submit(grown, developer), reviewer)
        approve(review, reviewer)
        assert ReviewCase.objects.get().is_open
        approve(review, make_reviewer())
        assert not ReviewCase.objects.get().is_open
        assert tasks.open_second_approvals() == 0

    def test_apps_of_the_service_and_of_suspended_projects_are_left_out(self, grown: Client) -> None:
        Client.objects.filter(pk=grown.pk).update(first_party=True)
        assert tasks.open_second_approvals() == 0
        Client.objects.filter(pk=grown.pk).update(first_party=False)
        Project.objects.filter(pk=grown.project_id).update(suspended_at=clock.now())
        assert tasks.open_second_approvals() == 0

    def test_the_admin_offers_it_to_another_reviewer(
        self, grown: Client, reviewer: Account, browser_of: Callable[[Account], Browser]
    ) -> None:
        tasks.open_second_approvals()
        case = ReviewCase.objects.get()
        address = f"/admin/review/reviewcase/{case.pk}/"
        assert "You gave the first approval" in browser_of(reviewer).get(f"{address}change/").content.decode()
        second = browser_of(make_reviewer())
        assert "Approve as well" in second.get(f"{address}change/").content.decode()
        said = second.post(f"{address}do/confirm/", {"text": "", "confirm": "1"}, follow=True).content.decode()
        assert "Your approval is noted as the second one." in said
        assert not ReviewCase.objects.get().is_open


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
class TestAtOnce:
    def test_two_reviewers_at_once_give_both_approvals(self, app: Client, developer: Account) -> None:
        people = [make_reviewer() for _ in range(2)]
        for _ in range(3):
            Client.objects.filter(pk=app.pk).update(verified_at=None, approved_scopes="")
            fill(app, developer)
            review = reviewer_actions.start(developer_actions.submit(app, developer), people[0])
            results = at_once(2, lambda number, review=review: approve(review, people[number]).status)  # type: ignore[misc]
            assert Counter(results) == {Status.IN_REVIEW: 1, Status.APPROVED: 1}
            assert fresh(app).is_verified

    def test_one_reviewer_twice_at_once_gives_one_approval(
        self, app: Client, developer: Account, reviewer: Account
    ) -> None:
        review = reviewer_actions.start(sent(app, developer), reviewer)

        def attempt(number: int) -> str:
            try:
                return approve(review, reviewer).status
            except (ReviewNotAllowed, IllegalReviewStep):
                return "refused"

        assert Counter(at_once(4, attempt)) == {"in_review": 1, "refused": 3}
        assert not fresh(app).is_verified

    def test_an_approval_and_a_rejection_at_once(self, app: Client, developer: Account, reviewer: Account) -> None:
        second = make_reviewer()
        review = reviewer_actions.start(sent(app, developer), reviewer)
        approve(review, reviewer)

        def act(number: int) -> str:
            try:
                if number:
                    return approve(review, second).status
                return reviewer_actions.reject(review, reviewer, revision=1, reasons=REASON).status
            except IllegalReviewStep:
                return "too late"

        assert sorted(at_once(2, act)) in (["approved", "too late"], ["rejected", "too late"])
        review.refresh_from_db()
        assert fresh(app).is_verified == (review.status == Status.APPROVED)
