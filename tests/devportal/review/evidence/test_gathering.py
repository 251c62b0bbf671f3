"""The data that the rules check: the right rows, and as many statements among many as among few."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import Account
from api.usage_counts import UsageCount, add_counts
from core import clock
from core.names import skeleton
from devportal.console.models import SignInEvent
from devportal.review.cases import cases
from devportal.review.cases.app_reports import report_app
from devportal.review.decisions import reviewer_actions
from devportal.review.evidence import collecting, usage
from devportal.review.evidence.gathered import Gathered, ScopeUsage
from devportal.review.evidence.gathering import gather
from devportal.review.models import AppReport, AppReview, ReviewCase, ReviewEntry
from oidc.apis.registry import reload_registry
from oidc.authorization import consent
from oidc.clients.registration import delete_client
from oidc.models import ApiScope, Client, Connection, Project, ProjectDomain, ProjectMember
from oidc.projects import invitations, members
from oidc.projects.lifecycle import delete_project, purge_project
from oidc.projects.roles import report_project_event
from tests.devportal.review.reviewing import SCOPE, Status, approved, decide, fresh, review_in, sent
from tests.factories import make_account, make_api, make_client, make_domain, make_project

pytestmark = pytest.mark.django_db
# Whatever there is: of domains, names, logos, people, history, cases, usage.
MOST_STATEMENTS = 27


def found_of(review: AppReview) -> Gathered:
    return gather(AppReview.objects.select_related("client__project").get(pk=review.pk))


def result(review: AppReview, code: str) -> str:
    [fact] = [fact for fact in collecting.collect_evidence(review).facts if fact.code == code]
    return str(fact.result)


def sign_ins(client: Client, outcome: str, count: int, error: str = "") -> None:
    SignInEvent.objects.bulk_create(
        SignInEvent(
            client=client,
            project=client.project,
            at=clock.now(),
            endpoint="token",
            outcome=outcome,
            error=error,
            request_id="r" * 20,
        )
        for _ in range(count)
    )


def test_the_same_domain_of_another_project_is_seen_if_it_is_proven_there(app: Client, developer: Account) -> None:
    review = sent(app, developer)
    make_domain(make_project(name="Lost"), lost_at=clock.now())
    make_domain(make_project(name="Claims"), proven_at=None)
    make_domain(make_project(), "example.net")
    assert found_of(review).elsewhere == []
    make_domain(make_project(name="Proves it too"))
    assert [row.project.name for row in found_of(review).elsewhere] == ["Proves it too"]
    assert result(review, "domains") == "warn"


@pytest.mark.parametrize("is_used", [False, True])
def test_many_proofs_of_one_domain_hide_no_other(app: Client, developer: Account, *, is_used: bool) -> None:
    make_domain(app.project, "a.test")
    if is_used:
        Client.objects.filter(pk=app.pk).update(redirect_uris=f"{app.redirect_uris} https://a.test/callback")
    review = sent(fresh(app), developer)
    for _ in range(25):
        make_domain(make_project(), "a.test")
    make_domain(make_project(name="Their own"))
    assert "Their own" in [row.project.name for row in found_of(review).elsewhere]
    assert result(review, "domains") == "warn"


def test_submitter_and_owners_are_collected(app: Client, developer: Account, owner: Account) -> None:
    review = sent(app, developer)
    people = [(person.email, person.part) for person in found_of(review).people]
    assert people == [(developer.email, "submitter"), (owner.email, "owner")]
    AppReview.objects.filter(pk=review.pk).update(submitted_by=None)
    assert result(review_again(review), "account_age") == "fail"


def review_again(review: AppReview) -> AppReview:
    return AppReview.objects.get(pk=review.pk)


def test_earlier_events_of_the_project_are_collected(app: Client, developer: Account, reviewer: Account) -> None:
    other = make_client(app.project, name="Orbit for phones")
    review_in(Status.REJECTED, other, developer, reviewer)
    review = review_in(Status.REJECTED, app, developer, reviewer)
    found = found_of(review).setbacks
    assert [(row.kind, row.app) for row in found] == [("rejected", "Orbit Notes"), ("rejected", "Orbit Notes")]
    assert result(review, "setbacks") == "warn"
    reviewer_actions.suspend_project(app.project, reviewer, reasons=["unsafe"])
    assert result(review_again(review), "setbacks") == "fail"


def test_deleting_a_client_does_not_remove_what_happened_to_it(
    app: Client, developer: Account, owner: Account, reviewer: Account
) -> None:
    """Otherwise an app that lost its approval could be created and submitted again without a past."""
    approved(app, developer, reviewer)
    reviewer_actions.withdraw_approval(app, reviewer, reasons=["unsafe"])
    elsewhere = make_client(make_project(owner, name="Second"), name="Nova")
    review_in(Status.REJECTED, elsewhere, owner, reviewer)
    for client in (fresh(app), fresh(elsewhere)):
        delete_client(client, owner)
    review = sent(make_client(app.project, name="Orbit again"), developer)
    found = found_of(review)
    assert [(row.kind, row.app, row.client) for row in found.setbacks] == [("approval_withdrawn", "Orbit Notes", None)]
    assert [(row.kind, row.app, row.project) for row in found.others.setbacks] == [
        ("rejected", "Orbit Notes", "Second")
    ]
    assert (result(review, "setbacks"), result(review, "other_apps")) == ("fail", "warn")


def test_other_projects_of_the_owners_are_collected(
    app: Client, developer: Account, owner: Account, reviewer: Account
) -> None:
    review = sent(app, developer)
    second = make_project(owner, name="Second")
    make_client(second, name="Nova")
    make_client(make_project(developer, name="The submitter's"), name="Comet")
    make_client(make_project(name="A stranger's"), name="Pulsar")
    ProjectMember.objects.create(project=make_project(name="Only a viewer"), account=owner, role="viewer")
    found = found_of(review).others
    assert {other.name for other in found.apps} == {"Nova", "Comet"}
    assert (list(found.suspended), list(found.setbacks)) == ([], [])
    reviewer_actions.suspend_project(second, reviewer, reasons=["unsafe"])
    found = found_of(review).others
    assert list(found.suspended) == ["Second"]
    assert [(row.kind, row.project) for row in found.setbacks] == [("suspended", "Second")]
    assert result(review, "other_apps") == "fail"


def _left(project: Project, account: Account, heir: ProjectMember) -> None:
    members.transfer_ownership(project, heir, account)
    members.leave_project(project, account)


def _stayed_as_a_developer(project: Project, account: Account, heir: ProjectMember) -> None:
    members.transfer_ownership(project, heir, account)


@pytest.mark.parametrize(
    ("hand_over", "part"), [(_left, "owner"), (_stayed_as_a_developer, "former owner"), (_left, "submitter")]
)
def test_leaving_a_project_before_it_is_suspended_hides_nothing(
    hand_over: Any, part: str, app: Client, owner: Account, developer: Account, reviewer: Account
) -> None:
    bad = developer if part == "submitter" else owner
    review = sent(app, developer)
    if part == "former owner":
        heir = ProjectMember.objects.create(project=app.project, account=make_account(), role="developer")
        hand_over(app.project, owner, heir)
    if part == "submitter":
        AppReview.objects.update(submitted_by=owner)
    second = make_project(bad, name="Second")
    make_client(second, name="Nova")
    hand_over(second, bad, ProjectMember.objects.create(project=second, account=make_account(), role="developer"))
    reviewer_actions.suspend_project(second, reviewer, reasons=["unsafe"])
    found = found_of(review_again(review))
    assert bad.email in {person.email for person in found.people}
    assert list(found.others.suspended) == ["Second"]
    assert result(review_again(review), "other_apps") == "fail"


def test_a_later_submission_by_someone_else_hides_nothing(app: Client, developer: Account, reviewer: Account) -> None:
    review, other = sent(app, developer), make_account()
    second = make_project(other, name="Second")
    rejected = AppReview.objects.create(
        client=make_client(second, name="Nova"), number=1, snapshot={}, submitted_by=other, created_at=clock.now()
    )
    rejected.revisions.create(number=1, snapshot={}, sent_at=clock.now(), sent_by=developer)
    reviewer_actions.suspend_project(second, reviewer, reasons=["unsafe"])
    assert list(found_of(review_again(review)).others.suspended) == ["Second"]


def own_many_projects(owner: Account, count: int = 120) -> None:
    rows = Project.objects.bulk_create(Project(name=f"P{number}", public_id=f"prj_{number}") for number in range(count))
    ProjectMember.objects.bulk_create(ProjectMember(project=row, account=owner, role="owner") for row in rows)


def test_many_projects_hide_no_suspended_one(app: Client, owner: Account, developer: Account) -> None:
    review = sent(app, developer)
    Project.objects.filter(pk=make_project(owner, name="Second").pk).update(suspended_at=clock.now())
    own_many_projects(owner)
    assert list(found_of(review).others.suspended) == ["Second"]


@pytest.mark.parametrize("is_deleted", [False, True])
def test_many_projects_hide_nothing_that_happened_in_one(
    is_deleted: bool, app: Client, owner: Account, developer: Account, reviewer: Account
) -> None:
    review, elsewhere = sent(app, developer), make_client(make_project(owner, name="Second"), name="Orbit Notes")
    approved(elsewhere, owner, reviewer)
    reviewer_actions.withdraw_approval(elsewhere, reviewer, reasons=["unsafe"])
    if is_deleted:
        delete_client(fresh(elsewhere), owner)
    own_many_projects(owner)
    assert [row.kind for row in found_of(review).others.setbacks] == ["approval_withdrawn"]
    assert result(review, "other_apps") == "fail"


def _invited(project: Project, owner: Account, account: Account) -> None:
    invitations.accept(invitations.invite(project, account.email, "owner", owner).pk, account)


def _promoted(project: Project, owner: Account, account: Account) -> None:
    member = ProjectMember.objects.create(project=project, account=account, role="developer")
    members.change_role(member, "owner", owner)


def _created(project: Project, owner: Account, account: Account) -> None:
    report_project_event("project.created", project, account)


@pytest.mark.parametrize("join", [_created, _invited, _promoted])
def test_a_permanently_deleted_project_is_remembered_for_every_owner(
    join: Any, app: Client, developer: Account, owner: Account, reviewer: Account, later: Any, settings: Any
) -> None:
    founder = make_account()
    former, stranger = make_project(founder, name="Former"), make_project(name="A stranger's")
    join(former, founder, owner)
    for project in (former, stranger):
        reviewer_actions.suspend_project(project, reviewer, reasons=["unsafe"])
    delete_project(former, founder)
    later(timedelta(days=settings.PROJECT_RESTORE_DAYS + 1).total_seconds())
    assert purge_project(former)
    review = sent(app, developer)
    assert [(row.kind, row.project) for row in found_of(review).others.setbacks] == [("suspended", "Former")]
    assert result(review, "other_apps") == "fail"


def test_many_owners_give_a_warning_because_some_are_not_listed(app: Client, developer: Account) -> None:
    review = sent(app, developer)
    for _ in range(20):
        ProjectMember.objects.create(project=app.project, account=make_account(), role="owner")
    last = ProjectMember.objects.create(project=app.project, account=make_account(), role="owner").account
    Account.objects.update(created_at=clock.now() - timedelta(days=400))
    assert last.email not in {person.email for person in found_of(review).people}
    assert result(review_again(review), "account_age") == "warn"


def test_owners_who_submitted_hide_no_earlier_submitter(app: Client, developer: Account) -> None:
    review, heirs = sent(app, developer), [make_account() for _ in range(20)]
    AppReview.objects.update(submitted_by=heirs[0])
    for number, account in enumerate(heirs, 2):
        held = {"role": "owner"} if number % 2 else {"role": "developer", "owner_until": clock.now()}
        ProjectMember.objects.create(project=app.project, account=account, **held)
        review.revisions.create(number=number, snapshot={}, sent_at=clock.now(), sent_by=account)
    assert developer.email in {person.email for person in found_of(review).people}


def test_reports_and_open_cases(app: Client, developer: Account) -> None:
    review = sent(app, developer)
    elsewhere = ReviewCase.objects.create(
        project=app.project, client=make_client(app.project), kind="report", opened_at=clock.now()
    )
    AppReport.objects.create(case=elsewhere, reason="other", at=clock.now())
    assert result(review, "reports") == "pass"
    case = ReviewCase.objects.create(project=app.project, client=app, kind="report", opened_at=clock.now())
    AppReport.objects.create(case=case, reason="pretends", at=clock.now())
    AppReport.objects.create(case=case, reason="other", at=clock.now() - timedelta(days=366))
    found = found_of(review)
    assert found.reports == {"pretends": 1}
    assert [row.kind for row in found.cases] == ["report"]
    assert result(review, "reports") == "warn"


def test_deleting_a_client_does_not_remove_that_people_reported_it(
    app: Client, developer: Account, reviewer: Account, later: Callable[[float], None]
) -> None:
    """Otherwise an app that was reported could be created and submitted again without a past."""
    reported, other = make_client(app.project, name="Nova"), make_client(app.project, name="Comet")
    report_app(approved(reported, developer, reviewer), make_account(), "deceives", "It asked for my password.")
    cases.open_case("domain_lost", app.project, other)
    review = sent(app, developer)
    assert result(review, "reports") == "pass"
    for client in (reported, other):
        delete_client(fresh(client), developer)
    assert len(found_of(review).reported_and_deleted) == 1
    assert result(review, "reports") == "warn"
    later(timedelta(days=366).total_seconds())
    assert result(review, "reports") == "pass"


def test_scopes_that_people_granted_and_what_is_called_with_them(
    app: Client, developer: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    review = sent(app, developer)
    for scopes in (["openid"], ["openid", SCOPE], ["openid", "email", SCOPE]):
        consent.record_consent(make_account(), app, scopes)
    taken_back = consent.record_consent(make_account(), app, ["openid", SCOPE])
    Connection.objects.filter(pk=taken_back.pk).update(scopes="", removed_at=clock.now())
    for endpoint, status, days in (("me/plan", 200, 80), ("me/plan", 403, 1), ("me/plan", 200, 91), ("me", 200, 1)):
        minute = int((clock.now() - timedelta(days=days)).timestamp()) // 60
        add_counts([UsageCount(app.project_id, "", app.client_id, endpoint, status, "", minute, 0, 7)])
    found = found_of(review).usage
    assert found.people == 4
    assert found.scopes[SCOPE] == ScopeUsage(granted=2, asked=2, refused=0, calls=7, calls_lately=0)
    monkeypatch.setattr(usage, "MAX_PEOPLE", 2)
    found = found_of(review).usage
    assert (found.people, found.people_is_more) == (2, True)


def test_scopes_of_other_apis_are_counted_for_a_month(app: Client, developer: Account) -> None:
    ApiScope.objects.create(api=make_api(), name="calendar.writer", title="Own your calendar", sensitive=True)
    reload_registry()
    review = sent(app, developer)
    for left_out, days in (("", 1), ("", 31), ("calendar.write", 1)):
        scopes = ["openid"] if left_out else ["openid", "calendar.write", "calendar.writer"]
        given = consent.record_consent(make_account(), app, scopes)
        moment = clock.now() - timedelta(days=days)
        Connection.objects.filter(pk=given.pk).update(left_out=left_out, last_authorized_at=moment)
    for name, days in (("calendar.write", 1), ("calendar.write", 31), ("calendar.writer", 1)):
        sign_ins(app, "refused", 1, "invalid_scope")
        newest = SignInEvent.objects.order_by("-pk")[:1]
        moment = clock.now() - timedelta(days=days)
        SignInEvent.objects.filter(pk__in=list(newest.values_list("pk", flat=True))).update(
            parameters={"name": name, "scopes": [name]}, at=moment
        )
    for endpoint, status, days in (("calendar", 200, 1), ("calendar", 403, 1), ("calendar", 200, 40), ("me", 200, 1)):
        minute = int((clock.now() - timedelta(days=days)).timestamp()) // 60
        add_counts([UsageCount(app.project_id, "", app.client_id, endpoint, status, "", minute, 0, 3)])
    found = found_of(review).usage
    assert found.scopes["calendar.write"] == ScopeUsage(granted=2, asked=2, refused=1, calls=6, calls_lately=3)
    assert found.scopes["calendar.writer"] == ScopeUsage(granted=2, asked=1, refused=1, calls=6, calls_lately=3)
    assert found.scopes[SCOPE] == ScopeUsage()


def test_sign_ins_and_refusals_are_counted_among_the_newest(
    app: Client, developer: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    review = sent(app, developer)
    sign_ins(make_client(), "refused", 5, "invalid_scope")
    sign_ins(app, "signed_in", 3)
    sign_ins(app, "cancelled", 2)
    sign_ins(app, "refused", 4, "invalid_grant")
    found = found_of(review).usage
    assert (found.sign_ins, found.cancelled, found.refusals) == (3, 2, {"invalid_grant": 4})
    assert not found.sign_ins_is_more
    monkeypatch.setattr(usage, "MAX_SIGN_INS", 5)
    found = found_of(review).usage
    assert (found.sign_ins, found.cancelled, found.refused, found.sign_ins_is_more) == (0, 1, 4, True)


def crowd(app: Client, owner: Account) -> None:
    """Add much of everything that is gathered."""
    now = clock.now()
    hosts = [f"h{number}.example.com" for number in range(60)]
    ProjectDomain.objects.bulk_create(
        ProjectDomain(project=project, name=host, method="dns", proven_at=now, checked_at=now, added_at=now)
        for project in (app.project, make_project(name="Twin"))
        for host in hosts
    )
    others = Project.objects.bulk_create(Project(name=f"P{number}", public_id=f"prj_{number}") for number in range(150))
    ProjectDomain.objects.bulk_create(
        ProjectDomain(project=project, name="example.com", method="dns", proven_at=now, added_at=now)
        for project in others
    )
    ProjectMember.objects.bulk_create(ProjectMember(project=each, account=owner, role="owner") for each in others)
    Client.objects.bulk_create(
        Client(
            project=project, type="spa", client_id=f"op_{project.pk}_{number}", name="Orbit Notes", redirect_uris="",
            name_reading=skeleton("Orbit Notes"), verified_at=now, logo_hash="0123456789abcdef",
        )
        for project in [app.project, *others]
        for number in range(3)
    )  # fmt: skip
    ReviewEntry.objects.bulk_create(
        ReviewEntry(project=project, at=now, side="reviewer", kind="rejected")
        for project in [*others, *[app.project] * 20]
        for _ in range(3)
    )
    case = ReviewCase.objects.create(project=app.project, client=app, kind="report", opened_at=now)
    AppReport.objects.bulk_create(AppReport(case=case, reason="other", at=now) for _ in range(700))
    ReviewCase.objects.bulk_create(
        ReviewCase(project=app.project, client=app, kind="appeal", opened_at=now, closed_at=now) for _ in range(100)
    )
    Connection.objects.bulk_create(
        Connection(client=app, scopes=SCOPE, first_authorized_at=now, last_authorized_at=now) for _ in range(300)
    )
    sign_ins(app, "refused", 1500, "invalid_grant")


def test_large_projects_take_no_more_statements(
    app: Client, developer: Account, owner: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("devportal.review.evidence.gathering.hash_asked", lambda *args: "0123456789abcdef")
    review = sent(app, developer)

    def statements() -> int:
        row = AppReview.objects.select_related("client__project").get(pk=review.pk)
        with CaptureQueriesContext(connection) as queries:
            evidence = collecting.collect_evidence(row)
        assert all(len(fact.finding.details) < 60 for fact in evidence.facts)
        return len(queries)

    few = statements()
    crowd(app, owner)
    # Names and logos that were found alike, and the past of the owners' other projects: there were none before.
    assert statements() <= few + 4 <= MOST_STATEMENTS
    found = found_of(review)
    assert (len(found.names), len(found.logos), len(found.elsewhere)) == (20, 5, 20)
    assert (len(found.others.apps), found.others.is_more, len(found.others.setbacks)) == (200, True, 50)
    assert (len(found.setbacks), len(found.cases), sum(found.reports.values())) == (50, 50, 500)
    assert found.usage.sign_ins_is_more


def test_a_decided_review_can_still_be_opened(
    app: Client, developer: Account, reviewer: Account, later: Callable[[float], None]
) -> None:
    review = decide(sent(app, developer), reviewer, Status.APPROVED)
    later(timedelta(days=100).total_seconds())
    assert result(review, "scopes") == "warn"  # approved, and never used
