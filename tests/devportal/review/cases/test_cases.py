"""Cases: opening, working on them, closing, and the re-review on a schedule (docs/review.md#cases)."""

import re
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.test import Client as Browser
from django.test.utils import CaptureQueriesContext

from accounts.models import Account
from accounts.plans.members import add_member, get_or_create_family
from core import clock
from core.messages import placeholders
from devportal.console import activity
from devportal.console.models import AuditEvent
from devportal.review.cases import cases
from devportal.review.decisions import appeals, reviewer_actions
from devportal.review.models import AppReport, InternalNote, ReviewCase, ReviewEntry
from devportal.review.rules.workflow import IllegalReviewStep, IncompleteSubmission, ReviewNotAllowed
from devportal.review.submission import developer_actions
from devportal.review.tasks import open_re_reviews
from oidc.clients.lookup import lock_client
from oidc.models import Client, FormerMember, Project, ProjectMember
from tests.at_once import at_once
from tests.devportal.review.reviewing import Status, approved, decide, fill, fresh, mails, make_operator, make_reviewer
from tests.factories import make_account, make_client, make_project
from tests.messages import created

CASES = "/admin/review/reviewcase/"
YEAR = 365 * 24 * 3600


def page(case: ReviewCase) -> str:
    return f"{CASES}{case.pk}/change/"


def press(browser: Browser, case: ReviewCase, action: str, **form: Any) -> str:
    return browser.post(f"{CASES}{case.pk}/do/{action}/", form, follow=True).content.decode()


@pytest.fixture
def case(app: Client) -> ReviewCase:
    return cases.open_case("domain_lost", app.project, app, text="example.com is not proven any more.")


@pytest.mark.django_db
class TestOpening:
    def test_new_events_are_added_to_an_open_case(self, case: ReviewCase, app: Client, project: Project) -> None:
        again = cases.open_case("domain_lost", project, app, text="example.net neither.")
        assert again == case
        assert again.text == "example.com is not proven any more.\n\nexample.net neither."
        assert cases.open_case("domain_lost", project, app).text == again.text
        others = [cases.open_case("report", project, app), cases.open_case("domain_lost", project)]
        assert len({case.pk, *(other.pk for other in others)}) == 3

    def test_an_event_that_happens_again_and_again_hides_no_other(self, app: Client) -> None:
        """Developers can remove a domain and prove it again as often as they like."""
        event = ReviewCase.Event
        for number in range(cases.MAX_EVENTS + 10):
            code = event.DOMAIN_PROVEN if number % 2 else event.DOMAIN_REMOVED
            cases.open_case("domain_lost", app.project, app, noted=cases.Noted(code, {"domain": "orbit.test"}))
        cases.open_case("domain_lost", app.project, app, noted=cases.Noted(event.DOMAIN_REMOVED, {"domain": "a.test"}))
        assert ReviewCase.objects.get().event_texts == [
            "orbit.test was removed by the project.",
            "orbit.test is proven again.",
            "a.test was removed by the project.",
        ]

    def test_a_full_case_keeps_the_newest_events_and_texts(self, app: Client) -> None:
        event = ReviewCase.Event
        for number in range(cases.MAX_EVENTS + 10):
            noted = cases.Noted(event.DOMAIN_REMOVED, {"domain": f"a{number}.test"})
            cases.open_case("domain_lost", app.project, app, noted=noted)
        lost = cases.Noted(event.DOMAIN_LOST, {"domain": "orbit.test"})
        case = cases.open_case("domain_lost", app.project, app, text="x" * 4000, noted=lost)
        assert case.event_texts[0] == "Earlier events are left out here. The audit trail has all of them."
        assert case.event_texts[-1] == "orbit.test is no longer proven: its proof was missing for too long."
        assert len(case.events) == cases.MAX_EVENTS
        assert [each["code"] for each in case.events].count("earlier_left_out") == 1
        for text in ("y" * 4000, *["z" * 4000] * 3, "The last word."):
            case = cases.open_case("domain_lost", app.project, app, text=text)
        assert case.text.endswith("The last word.")

    def test_a_full_case_leaves_out_no_scope(self, app: Client) -> None:
        names = [f"calendar.x{number}" for number in range(cases.MAX_EVENTS + 10)]
        for name in names:
            noted = cases.Noted(ReviewCase.Event.SCOPE_NEEDS_REVIEW, {"scope": name})
            case = cases.open_case("scope_review", app.project, app, noted=noted)
        assert cases._scopes_of(case) == names

    def test_the_page_shows_what_the_service_noted(self, app: Client, as_reviewer: Browser) -> None:
        noted = cases.Noted(ReviewCase.Event.TYPE_CHANGED, {"before": "web", "after": "native"})
        case = cases.open_case("changed", app.project, app, noted=noted)
        cases.open_case("changed", app.project, noted=cases.Noted(ReviewCase.Event.OWNER_ADDED))
        shown = as_reviewer.get(page(case)).content.decode()
        assert "was changed from “Web app (runs on a server)” to “Desktop or mobile app (installed)”." in shown
        assert "has a new owner" not in shown, "that is a case of the whole project"

    def test_each_event_gets_the_parameters_of_its_text(self) -> None:
        found = [(event, names) for event, names, _ in created(ReviewCase.Event, "devportal/review")]
        found += [(event, {"domain"}) for event in cases._EVENTS.values()]
        for event, names in found:
            assert names - {"noted"} == placeholders(event.label), event
        assert {event for event, _ in found} == set(ReviewCase.Event)

    def test_the_size_of_a_case_is_limited(self, app: Client) -> None:
        for _ in range(8):
            case = cases.open_case("report", app.project, app, text="x" * 4000)
        assert len(case.text) == cases.MAX_CASE_TEXT
        with pytest.raises(IncompleteSubmission, match="4000"):
            cases.open_case("report", app.project, app, text="x" * 4001)

    def test_developers_do_not_see_cases(
        self, case: ReviewCase, reviewer: Account, app: Client, as_developer: Browser
    ) -> None:
        cases.add_note(case, reviewer, "Odd.")
        assert AuditEvent.objects.filter(action__startswith="review_case.").count() == 2
        assert not activity.events_of(app.project).filter(action__startswith="review_case.").exists()
        assert (
            "review_case" not in as_developer.get(f"/console/p/{app.project.public_id}/team/activity").content.decode()
        )


@pytest.mark.django_db
class TestWorking:
    STEPS: dict[str, Callable[[ReviewCase, Account], Any]] = {
        "assign": lambda case, actor: cases.assign_case(case, actor, actor),
        "note": lambda case, actor: cases.add_note(case, actor, "Looked."),
        "ask": lambda case, actor: cases.ask_developers(case, actor, "Is it yours?"),
        "close": lambda case, actor: cases.close_case(case, actor, "acted", "Done."),
    }
    WHO: dict[str, Callable[[Project, Account], Account]] = {
        "developer": lambda project, developer: developer,
        "stranger": lambda project, developer: make_account(),
        "operator": lambda project, developer: make_operator(),
        "deactivated reviewer": lambda project, developer: make_reviewer(is_active=False),
        "reviewer who is a viewer": lambda project, developer: _viewer(project),
    }

    @pytest.mark.parametrize("who", WHO)
    def test_only_reviewers_work_on_cases(
        self, who: str, case: ReviewCase, project: Project, developer: Account, reviewer: Account
    ) -> None:
        actor = self.WHO[who](project, developer)
        before = list(ReviewCase.objects.values()), InternalNote.objects.count(), AuditEvent.objects.count(), mails()
        for step in self.STEPS.values():
            with pytest.raises(ReviewNotAllowed):
                step(case, actor)
        with pytest.raises(ReviewNotAllowed, match="can't work on this"):
            cases.assign_case(case, reviewer, actor)
        assert before == (
            list(ReviewCase.objects.values()), InternalNote.objects.count(), AuditEvent.objects.count(), mails()
        )  # fmt: skip

    def test_a_reviewer_takes_it_and_closes_it(self, case: ReviewCase, reviewer: Account, developer: Account) -> None:
        for step in self.STEPS.values():
            step(case, reviewer)
        case.refresh_from_db()
        assert (case.assignee, case.closed_by, case.outcome, case.outcome_text) == (
            reviewer, reviewer, "acted", "Done."
        )  # fmt: skip
        assert [body for to, _, body in mails() if to == developer.email and "Is it yours?" in body]
        for name, step in self.STEPS.items():
            if name == "note":
                continue  # what is found afterwards belongs to it too
            with pytest.raises(IllegalReviewStep, match="already closed"):
                step(case, reviewer)

    def test_it_says_how_it_ended(self, case: ReviewCase, reviewer: Account) -> None:
        for outcome, text in (("", "x"), ("nothing", "x"), ("acted", "  ")):
            with pytest.raises(IncompleteSubmission):
                cases.close_case(case, reviewer, outcome, text)
        for text in ("", "x" * 4001):
            with pytest.raises(IncompleteSubmission):
                cases.add_note(case, reviewer, text)


def _viewer(project: Project) -> Account:
    return ProjectMember.objects.create(project=project, account=make_reviewer(), role="viewer").account


def _left(project: Project) -> Account:
    account = make_reviewer()
    long_ago = clock.now() - timedelta(days=3000)
    FormerMember.objects.create(project=project, account=account, joined_at=long_ago, left_at=long_ago)
    return account


def _relative(developer: Account) -> Account:
    account = make_reviewer()
    add_member(get_or_create_family(developer), account)
    return account


@pytest.mark.django_db
class TestReReview:
    @pytest.fixture
    def old(self, app: Client, developer: Account, reviewer: Account, later: Callable[[float], None]) -> Client:
        approved(app, developer, reviewer)
        later(YEAR + 60)
        return fresh(app)

    def test_a_re_review_is_due_after_a_year(
        self, old: Client, reviewer: Account, developer: Account, later: Callable[[float], None]
    ) -> None:
        before = len(mails())
        assert open_re_reviews() == 1
        assert open_re_reviews() == 0, "one at a time"
        case = ReviewCase.objects.get()
        assert (case.kind, case.client) == ("re_review", old)
        due = [body for to, _, body in mails()[before:] if to == developer.email]
        assert len(due) == 1
        assert "support email address" in " ".join(due[0].split())
        was = old.last_reviewed_at
        cases.close_case(case, reviewer, "in_order", for_developers="All well.")
        now = fresh(old)
        assert was is not None
        assert now.last_reviewed_at is not None
        assert now.last_reviewed_at > was
        assert now.verified_at == old.verified_at
        assert ReviewEntry.objects.filter(kind="renewed", client=old, author=reviewer).count() == 1
        assert [body for to, _, body in mails() if to == developer.email and "All well." in body]
        assert open_re_reviews() == 0
        later(YEAR + 60)
        assert open_re_reviews() == 1

    def test_an_app_that_fails_does_not_stop_the_others(self, old: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        other = make_client(old.project, name="Comet", verified_at=old.verified_at, last_reviewed_at=old.verified_at)

        def lock(pk: int, **options: Any) -> Client:
            if pk == old.pk:
                raise OperationalError("canceling statement due to lock timeout")
            return lock_client(pk, **options)

        monkeypatch.setattr("devportal.review.cases.cases.lock_client", lock)
        assert open_re_reviews() == 1
        assert ReviewCase.objects.get().client == other

    def test_other_actions_do_not_postpone_a_re_review(self, old: Client, reviewer: Account) -> None:
        open_re_reviews()
        cases.close_case(ReviewCase.objects.get(), reviewer, "acted", "Asked them to send it again.")
        assert fresh(old).last_reviewed_at == old.last_reviewed_at
        assert not ReviewEntry.objects.filter(kind="renewed").exists()

    def test_an_approval_closes_a_re_review(self, old: Client, developer: Account, reviewer: Account) -> None:
        open_re_reviews()
        fill(old, developer, name="Orbit Two")
        decide(developer_actions.submit(old, developer), reviewer, Status.APPROVED)
        case = ReviewCase.objects.get()
        assert (case.outcome, case.closed_by, case.event_texts) == ("in_order", reviewer, ["Review 2 was approved."])
        assert open_re_reviews() == 0

    def test_withdrawing_the_approval_closes_a_re_review(self, old: Client, reviewer: Account) -> None:
        open_re_reviews()
        reviewer_actions.withdraw_approval(old, reviewer, reasons=["harmful"])
        assert ReviewCase.objects.get().outcome == "acted"
        assert open_re_reviews() == 0

    LEFT_OUT: dict[str, Callable[[Client], Any]] = {
        "suspended": lambda app: Project.objects.filter(pk=app.project_id).update(suspended_at=clock.now()),
        "deleted": lambda app: Project.objects.filter(pk=app.project_id).update(deleted_at=clock.now()),
        "unverified": lambda app: Client.objects.filter(pk=app.pk).update(verified_at=None),
        "looked at lately": lambda app: Client.objects.filter(pk=app.pk).update(last_reviewed_at=clock.now()),
        "the service's own": lambda app: Client.objects.filter(pk=app.pk).update(first_party=True),
    }

    @pytest.mark.parametrize("which", LEFT_OUT)
    def test_apps_without_re_review(self, which: str, old: Client) -> None:
        self.LEFT_OUT[which](old)
        assert open_re_reviews() == 0
        assert not ReviewCase.objects.exists()

    def test_re_reviews_can_be_turned_off(self, old: Client, settings: Any) -> None:
        settings.RE_REVIEW_DAYS = 0
        assert open_re_reviews() == 0

    def test_one_run_opens_a_limited_number_of_cases(self, old: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("devportal.review.cases.cases.MOST_A_RUN", 2)
        past = clock.now() - timedelta(days=400)
        for _ in range(2):
            make_client(old.project, verified_at=past, last_reviewed_at=past)
        assert [open_re_reviews() for _ in range(3)] == [2, 1, 0]
        oldest = ReviewCase.objects.order_by("pk")[0].client
        assert oldest is not None
        assert oldest.last_reviewed_at == past, "the oldest approvals come first"


@pytest.mark.django_db
class TestPages:
    def test_open_cases_are_listed_by_age_and_paged(
        self, case: ReviewCase, as_reviewer: Browser, app: Client, reviewer: Account, later: Callable[[float], None],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:  # fmt: skip
        from devportal.review.admin.case_admin import ReviewCaseAdmin

        monkeypatch.setattr(ReviewCaseAdmin, "list_per_page", 2)
        for number in range(4):
            later(60)
            cases.open_case("report", app.project, make_client(app.project, name=f"Lantern {number}"))
        cases.close_case(ReviewCase.objects.latest("pk"), reviewer, "in_order")
        seen, address = [], CASES
        for _ in range(2):
            text = as_reviewer.get(address).content.decode()
            names = [name for name in ("Orbit", *(f"Lantern {n}" for n in range(4))) if f">{name}</a>" in text]
            seen.append(names)
            following = re.findall(r'rel="next" href="([^"]+)"', text)
            address = CASES + following[0].replace("&amp;", "&") if following else ""
        assert seen == [["Orbit", "Lantern 0"], ["Lantern 1", "Lantern 2"]]
        assert address == ""
        assert "Lantern 3" in as_reviewer.get(f"{CASES}?which=closed").content.decode()
        assert "Lantern" not in as_reviewer.get(f"{CASES}?which=mine").content.decode()
        assert "Orbit" in as_reviewer.get(f"{CASES}?q={app.client_id}").content.decode()
        assert as_reviewer.get(f"{CASES}?after=1.999999").status_code == 200

    def test_lists_and_pages_take_a_fixed_number_of_statements(
        self, case: ReviewCase, as_reviewer: Browser, app: Client, reviewer: Account
    ) -> None:
        def statements(address: str) -> int:
            with CaptureQueriesContext(connection) as taken:
                assert as_reviewer.get(address).status_code == 200
            return len(taken)

        as_reviewer.get(CASES)  # the first page of a session knows least
        few = statements(CASES), statements(page(case))
        for number in range(6):
            project = make_project(name=f"Elsewhere {number}")
            cases.open_case("report", project, make_client(project))
            AppReport.objects.create(
                case=case, reporter=make_account(), reason="deceives", text="Money!", at=clock.now()
            )
            cases.add_note(case, reviewer, "Looked.")
        assert (statements(CASES), statements(page(case))) == few
        text = as_reviewer.get(page(case)).content.decode()
        assert text.count("Money!") == 6
        assert text.count("Looked.") == 6

    def test_reports_are_bounded(self, case: ReviewCase, as_reviewer: Browser, reviewer: Account) -> None:
        AppReport.objects.bulk_create(
            AppReport(case=case, reporter=reviewer, reason="other", text="Odd thing", at=clock.now()) for _ in range(60)
        )
        text = as_reviewer.get(page(case)).content.decode()
        assert text.count("Odd thing") == 50
        assert "There are more reports" in text

    def test_developers_push_no_step_of_a_reviewer_off_the_page(
        self, case: ReviewCase, as_reviewer: Browser, reviewer: Account, developer: Account, app: Client
    ) -> None:
        cases.ask_developers(case, reviewer, "Whose domain is it?")
        known: dict[str, Any] = {"project": app.project, "client": app, "author": developer, "at": clock.now()}
        ReviewEntry.objects.bulk_create(
            ReviewEntry(**known, side="developer", kind="comment", text=f"Ours, we said {n} times.") for n in range(30)
        )
        text = as_reviewer.get(page(case)).content.decode()
        assert "Whose domain is it?" in text
        assert "we said 29 times" in text
        assert "we said 2 times" not in text

    def test_a_reviewer_works_on_it_in_the_admin(
        self, case: ReviewCase, as_reviewer: Browser, reviewer: Account, app: Client
    ) -> None:
        assert "The case is yours." in press(as_reviewer, case, "take")
        assert "The note is added." in press(as_reviewer, case, "note", note="Looked <b>twice</b>.")
        assert "Looked &lt;b&gt;twice&lt;/b&gt;." in as_reviewer.get(page(case)).content.decode()
        assert "Write down what you found and did." in press(as_reviewer, case, "close", outcome="acted", text="")
        assert "The case is closed." in press(as_reviewer, case, "close", outcome="acted", text="Proven again.")
        text = as_reviewer.get(page(case)).content.decode()
        assert "Proven again." in text
        assert f"{CASES}{case.pk}/do/close/" not in text

    def test_an_approval_is_withdrawn_from_the_case_of_its_re_review(
        self, as_reviewer: Browser, app: Client, developer: Account, reviewer: Account, later: Callable[[float], None]
    ) -> None:
        approved(app, developer, reviewer)
        later(YEAR + 60)
        open_re_reviews()
        case = ReviewCase.objects.get()
        # A year later nobody is signed in any more.
        as_reviewer.force_login(reviewer)
        text = as_reviewer.get(page(case)).content.decode()
        for action in ("renew", "withdraw-approval", "suspend", "ask", "close"):
            assert f"{CASES}{case.pk}/do/{action}/" in text
        assert "Last review" in text
        form = {"what": "the whole approval", "reasons": "harmful", "text": "", "confirm": "1"}
        assert "withdrawn with immediate effect" in press(as_reviewer, case, "withdraw-approval", **form)
        assert not fresh(app).is_verified
        case.refresh_from_db()
        assert case.outcome == "acted"

    def test_developers_read_of_a_closed_re_review_only_what_is_for_them(
        self, as_reviewer: Browser, app: Client, developer: Account, reviewer: Account, later: Callable[[float], None]
    ) -> None:
        approved(app, developer, reviewer)
        for action, is_told in (("close", False), ("renew", True)):
            later(YEAR + 60)
            open_re_reviews()
            as_reviewer.force_login(reviewer)
            case = ReviewCase.objects.latest("pk")
            form = as_reviewer.get(f"{CASES}{case.pk}/do/{action}/").content.decode()
            assert ("Only reviewers can read what you write." in form) != is_told
            said = press(as_reviewer, case, action, outcome="in_order", text="Their new owner is odd.")
            assert ("stays valid" in said) == is_told
            assert "Their new owner is odd." in as_reviewer.get(page(case)).content.decode()
            entry = ReviewEntry.objects.filter(kind="renewed").latest("pk")
            assert (entry.text != "") == is_told
            assert any("is odd" in body for to, _, body in mails() if to == developer.email) == is_told

    @pytest.mark.parametrize("news", ["report", "other report", "event"])
    def test_a_case_is_not_closed_with_something_that_the_reviewer_has_not_seen(
        self, app: Client, developer: Account, reviewer: Account, as_reviewer: Browser, news: str
    ) -> None:
        case = cases.open_case("report", app.project, app)
        AppReport.objects.create(case=case, reporter=developer, reason="other", text="Odd.", at=clock.now())
        form = re.search(rf'href="({CASES}{case.pk}/do/close/[^"]*)"', as_reviewer.get(page(case)).content.decode())
        assert form
        if news == "event":
            cases.open_case("report", app.project, app, noted=cases.Noted(ReviewCase.Event.OWNER_ADDED))
        else:
            by = developer if news == "other report" else make_account()
            AppReport.objects.update_or_create(
                case=case, reporter=by, defaults={"reason": "deceives", "at": clock.now()}
            )
        filled = {"outcome": "in_order", "text": "Nothing wrong."}
        for _ in range(2):
            hidden = dict(re.findall(r'name="(seen)" value="([^"]*)"', as_reviewer.get(form[1]).content.decode()))
            said = as_reviewer.post(form[1], filled | hidden, follow=True).content.decode()
            assert "Something was added to this case after you opened it" in said
            assert "Nothing wrong." in said
            with pytest.raises(IllegalReviewStep, match="Something was added"):
                cases.close_case(case, reviewer, "in_order", **hidden)
        shown_again = dict(re.findall(r'name="(seen)" value="([^"]*)"', said))
        assert "The case is closed." in as_reviewer.post(form[1], filled | shown_again, follow=True).content.decode()

    def test_a_suspension_is_lifted_from_its_appeal_but_not_a_newer_one(
        self, app: Client, developer: Account, reviewer: Account, browser_of: Any, later: Callable[[float], None]
    ) -> None:
        reviewer_actions.suspend_project(app.project, reviewer, reasons=["harmful"])
        case = appeals.appeal_suspension(app.project, developer, "It was not us.")
        text = browser_of(reviewer).get(page(case)).content.decode()
        assert "another reviewer answers it" in text
        assert f"{CASES}{case.pk}/do/" not in text, "no step for who decided before"
        as_reviewer = browser_of(make_reviewer())
        assert "It was not us." in as_reviewer.get(page(case)).content.decode()
        lifted = as_reviewer.get(f"{CASES}{case.pk}/do/lift/").context["form"]["suspended_at"].value()
        later(60)
        reviewer_actions.lift_suspension(app.project, reviewer)
        reviewer_actions.suspend_project(app.project, reviewer, reasons=["unsafe"])
        said = as_reviewer.post(f"{CASES}{case.pk}/do/lift/", {"text": "", "confirm": "1", "suspended_at": lifted})
        assert "The project was suspended again after you opened this page." in said.content.decode()
        with pytest.raises(IllegalReviewStep, match="suspended again"):  # between the check of the form and the step
            reviewer_actions.lift_suspension(app.project, make_reviewer(), suspended_at=lifted)
        assert Project.objects.get(pk=app.project_id).is_suspended
        shown = said.context["form"]["suspended_at"].value()
        assert "is lifted" in press(as_reviewer, case, "lift", text="", confirm="1", suspended_at=shown)
        assert not Project.objects.get(pk=app.project_id).is_suspended
        assert "The case is closed." in press(as_reviewer, case, "close", outcome="acted", text="Lifted.")

    def test_the_reviewer_whose_decision_is_appealed_against_neither_reads_nor_writes_notes(
        self, app: Client, developer: Account, reviewer: Account, as_reviewer: Browser
    ) -> None:
        reviewer_actions.suspend_project(app.project, reviewer, reasons=["harmful"])
        case = appeals.appeal_suspension(app.project, developer, "It was not us.")
        cases.add_note(case, make_reviewer(), "Rita was wrong here.")
        assert "Rita was wrong here." not in as_reviewer.get(page(case)).content.decode()
        with pytest.raises(ReviewNotAllowed, match="another reviewer answers"):
            cases.add_note(case, reviewer, "I was right.")

    def test_a_reviewer_with_a_conflict_reads_the_reason_but_no_reports_and_no_notes(
        self, app: Client, developer: Account, reviewer: Account, browser_of: Callable[[Account], Browser]
    ) -> None:
        case = cases.open_case("report", app.project, app)
        neighbour = make_account("neighbour@example.com")
        AppReport.objects.create(case=case, reporter=neighbour, reason="deceives", text="Money!", at=clock.now())
        cases.add_note(case, reviewer, "Looks like fraud.")
        inside = ("neighbour@example.com", "Money!", "Looks like fraud.", "Their whole doing.")
        mine = browser_of(_relative(developer))
        assert "(not yours to decide)" in mine.get(CASES).content.decode()
        for _ in range(2):
            text = mine.get(page(case)).content.decode()
            assert not [words for words in inside if words in text]
            assert "You share a family with someone who takes part in this project" in text
            if case.is_open:
                assert "You share a family" in press(mine, case, "take")
                case = cases.close_case(case, reviewer, "acted", "Their whole doing.")
        assert "Their whole doing." in browser_of(make_reviewer()).get(page(case)).content.decode()

    @pytest.mark.parametrize("has_left", [False, True])
    def test_a_reviewer_does_not_learn_that_their_own_app_was_reported(
        self, has_left: bool, app: Client, owner: Account, browser_of: Callable[[Account], Browser]
    ) -> None:
        report, other = (cases.open_case(kind, app.project, app) for kind in ("report", "domain_lost"))
        mine = browser_of(_left(app.project) if has_left else _viewer(app.project))
        for address in (CASES, f"{CASES}?client__id__exact={app.pk}", f"{CASES}?q={app.client_id}", page(other)):
            text = mine.get(address).content.decode()
            assert "Domain lost" in text, address
            assert "Reported by people" not in text, address
        assert mine.get(page(report)).status_code == 404
        assert "Reported by people" in browser_of(make_reviewer()).get(page(other)).content.decode()


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
class TestAtOnce:
    def test_concurrent_events_open_one_case(self, app: Client) -> None:
        found = at_once(8, lambda number: cases.open_case("report", app.project, app, text=f"Report {number}.").pk)
        assert len(set(found)) == 1
        text = ReviewCase.objects.get().text
        assert all(f"Report {number}." in text for number in range(8))

    def test_opening_and_closing_at_once_loses_nothing(self, app: Client, reviewer: Account) -> None:
        for number in range(4):
            case = cases.open_case("report", app.project, app, text="First.")

            def act(who: int, case: ReviewCase = case, number: int = number) -> str:
                if who:
                    cases.open_case("report", app.project, app, text=f"Second {number}.")
                    return "said"
                cases.close_case(case, reviewer, "in_order")
                return "closed"

            assert Counter(at_once(2, act)) == {"said": 1, "closed": 1}
            assert ReviewCase.objects.filter(text__contains=f"Second {number}.").count() == 1

    def test_concurrent_runs_open_each_case_once(self, app: Client, developer: Account) -> None:
        past = clock.now() - timedelta(days=400)
        for _ in range(5):
            make_client(app.project, verified_at=past, last_reviewed_at=past)
        assert sum(at_once(3, lambda number: open_re_reviews())) == 5
        assert ReviewCase.objects.count() == 5
        assert len([to for to, _, _ in mails() if to == developer.email]) == 5
