"""Cases about scopes that become sensitive, or start to need an approval, while apps have them."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import transaction
from django.test import Client as Browser

from accounts.models import Account
from devportal.review import tasks
from devportal.review.cases import cases
from devportal.review.decisions import reviewer_actions
from devportal.review.models import AppReview, ReviewCase
from devportal.review.rules import snapshots
from devportal.review.rules.workflow import IllegalReviewStep
from devportal.review.submission import developer_actions
from oidc.apis.declarations import Declaration, change_api
from oidc.apis.registry import reload_registry
from oidc.clients.lookup import lock_client
from oidc.models import Api, ApiScope, Client, Project
from oidc.projects import lifecycle
from oidc.signals import scope_needs_review
from tests.at_once import at_once
from tests.devportal.review import reviewing
from tests.devportal.review.reviewing import SCOPE, Status, decide, fill, fresh, mails, make_reviewer, sent
from tests.factories import make_account, make_api, make_client
from tests.relying_party import RelyingParty, sign_in

pytestmark = pytest.mark.django_db
READ = "calendar.read"


@pytest.fixture(autouse=True)
def api(db: None) -> None:
    make_api()


def need_review(*clients: Client, scope: str = READ, **fields: Any) -> None:
    """Let a scope need an approval, and the apps keep it, as a change of the API does."""
    ApiScope.objects.filter(name=scope).update(**fields or {"needs_approval": True})
    reload_registry()
    for client in clients:
        row = fresh(client)
        if scope not in row.approved_scopes.split():
            row.approved_scopes = f"{row.approved_scopes} {scope}".strip()
            row.kept_scopes = f"{row.kept_scopes} {scope}".strip()
        row.save(update_fields=["approved_scopes", "kept_scopes"])
    scope_needs_review.send(sender=ApiScope, scope=scope, clients=list(clients))


def open_case() -> ReviewCase | None:
    return ReviewCase.objects.filter(kind="scope_review", closed_at=None).first()


def approve(review: AppReview, who: Account) -> AppReview:
    if review.status == Status.SUBMITTED:
        review = reviewer_actions.start(review, who)
    return reviewing.approve(review, who)


def test_each_app_that_has_the_scope_gets_a_case_and_a_mail(
    app: Client, project: Project, developer: Account, reviewer: Account, as_developer: Browser, as_reviewer: Browser
) -> None:
    others = [make_client(project, name="Own", first_party=True), make_client(project, name="Comet")]
    need_review(app, *others)
    assert {case.client for case in ReviewCase.objects.all()} == {app, others[1]}
    told = [(to, subject) for to, subject, _ in mails()]
    assert (developer.email, "[Openport] A scope of Orbit now needs a review") in told
    assert len([to for to, _ in told if to == developer.email]) == 2
    assert "calendar.read (Calendar): “See your calendar”" in mails()[0][2]
    assert tasks.announce_cases() == 2
    assert mails()[-1][0] == reviewer.email
    case = ReviewCase.objects.get(client=app)
    page = as_reviewer.get(f"/admin/review/reviewcase/{case.pk}/change/").content.decode()
    assert "The app has the scope calendar.read, which now needs a review." in page
    assert "/do/close/" not in page
    text = as_developer.get(f"/console/p/{project.public_id}/clients/{app.client_id}/review").content.decode()
    assert "A scope of this app now needs a review" in text


def test_an_app_gets_its_case_also_if_its_project_is_deleted_meanwhile(
    project: Project, owner: Account, as_reviewer: Browser
) -> None:
    """Otherwise an app could keep a scope without a review by a deletion at the right time."""
    app = make_client(project, name="Orbit Notes")
    lifecycle.delete_project(project, owner)
    need_review(app)
    page = "/admin/review/reviewcase/"
    assert tasks.announce_cases() == 0
    assert "Orbit Notes" not in as_reviewer.get(page).content.decode()
    lifecycle.restore_project(project, owner)
    assert cases.unreviewed_scopes(fresh(app)) == [READ]
    assert tasks.announce_cases() == 1
    assert "Orbit Notes" in as_reviewer.get(page).content.decode()


def test_the_same_scope_is_noted_once_and_others_are_added(app: Client, developer: Account) -> None:
    need_review(app)
    need_review(app, sensitive=True)
    assert len(mails()) == len({to for to, *_ in mails()})
    need_review(app, scope="calendar.write", sensitive=True)
    case = open_case()
    assert case is not None
    assert [event["parameters"]["scope"] for event in case.events] == [READ, "calendar.write"]
    assert cases.unreviewed_scopes(fresh(app)) == [READ, "calendar.write"]


def test_only_a_decision_closes_the_case(app: Client, reviewer: Account) -> None:
    need_review(app)
    case = open_case()
    assert case is not None
    for outcome in ("in_order", "acted"):
        with pytest.raises(IllegalReviewStep, match=r"decide on calendar\.read"):
            cases.close_case(case, reviewer, outcome, "We looked at it.")
    ApiScope.objects.update(needs_approval=False)
    reload_registry()
    cases.close_case(case, reviewer, "in_order", "The operator took it back.")


def test_a_review_that_decides_on_the_scope_closes_the_case(app: Client, developer: Account, reviewer: Account) -> None:
    need_review(app)
    assert list(snapshots.working_snapshot(fresh(app))["scopes"]) == [READ], "the developers don't have to find it"
    approve(sent(app, developer, [READ]), reviewer)
    assert open_case() is None
    assert (fresh(app).approved_scopes, fresh(app).kept_scopes) == (READ, ""), "now for everyone"
    # An approved app has something to submit, although nothing of it changed.
    need_review(app, sensitive=True)
    review = sent(fresh(app), developer, [READ])
    refused = reviewer_actions.reject(reviewer_actions.start(review, reviewer), reviewer, revision=1, reasons=["other"],
                                      text="It is not used.")  # fmt: skip
    assert refused.status == Status.REJECTED
    assert open_case() is not None, "a rejection leaves the approvals as they are"
    review = reviewer_actions.start(sent(fresh(app), developer, [READ]), reviewer)
    reviewing.approve(review, reviewer, {READ: False}, despite="It was checked by hand.")
    assert (open_case(), fresh(app).approved_scopes) == (None, "")


def test_a_submission_without_the_scope_closes_the_case(app: Client, developer: Account, reviewer: Account) -> None:
    need_review(app)
    approve(sent(app, developer, [SCOPE]), reviewer)
    assert open_case() is None
    assert fresh(app).approved_scopes == SCOPE


def test_withdrawing_the_scope_closes_the_case(app: Client, reviewer: Account) -> None:
    need_review(app)
    need_review(app, scope="calendar.write", sensitive=True)
    for scope, is_open in ((READ, True), ("calendar.write", False)):
        reviewer_actions.withdraw_approval(app, reviewer, scopes=[scope], reasons=["misuse_of_data"])
        assert (open_case() is not None) is is_open
        assert scope not in fresh(app).kept_scopes
    assert ReviewCase.objects.get().outcome == "acted"


@pytest.mark.parametrize("before", [[], [SCOPE]])
def test_a_submission_from_before_takes_no_scope_away(
    app: Client, developer: Account, reviewer: Account, before: list[str]
) -> None:
    if before:
        approve(sent(app, developer, before), reviewer)
    review = sent(fresh(app), developer, [SCOPE, "calendar.write"])
    need_review(app)
    approve(review, reviewer)
    assert fresh(app).approved_scopes == f"{SCOPE} {READ} calendar.write"
    assert fresh(app).kept_scopes == READ
    assert open_case() is not None, "nobody has decided on it"


@pytest.mark.parametrize("starts_again", ["before the approval", "after it"])
def test_an_approval_of_a_scope_that_needs_none_for_a_time_stays(
    app: Client, developer: Account, reviewer: Account, starts_again: str
) -> None:
    """Nobody can request the scope meanwhile. Files can approve such scopes too."""
    Client.objects.filter(pk=app.pk).update(approved_scopes=READ)
    review = sent(fresh(app), developer)
    if starts_again == "before the approval":
        need_review(app)
    approve(review, reviewer)
    assert fresh(app).approved_scopes == f"{SCOPE} {READ}"
    if starts_again == "before the approval":
        assert open_case() is not None, "nobody has decided on it"


@pytest.mark.parametrize("status", [Status.DRAFT, Status.CHANGES_REQUESTED, Status.WITHDRAWN, Status.REJECTED])
def test_drafts_request_the_scope(app: Client, developer: Account, reviewer: Account, status: str) -> None:
    review = fill(app, developer) if status == Status.DRAFT else sent(app, developer)
    if status == Status.WITHDRAWN:
        developer_actions.withdraw(review, developer)
    elif status != Status.DRAFT:
        decide(review, reviewer, status)
    need_review(app)
    assert list(snapshots.working_snapshot(fresh(app))["scopes"]) == [SCOPE, READ]


def test_a_first_approval_takes_no_scope_away(
    app: Client, developer: Account, reviewer: Account, settings: Any
) -> None:
    settings.REVIEW_SECOND_KEY_PEOPLE = 0
    review = approve(sent(app, developer), reviewer)
    need_review(app, sensitive=True)
    approve(review, make_reviewer())
    assert fresh(app).approved_scopes == f"{SCOPE} {READ}"
    review = sent(fresh(app), developer, [SCOPE, READ])
    approve(review, reviewer)
    assert open_case() is not None, "one of two"
    approve(AppReview.objects.get(pk=review.pk), make_reviewer())
    assert open_case() is None


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_an_approval_and_a_scope_that_starts_to_need_one_at_once(
    app: Client, developer: Account, reviewer: Account
) -> None:
    for _ in range(4):
        Client.objects.filter(pk=app.pk).update(verified_at=None, approved_scopes="")
        review = reviewer_actions.start(sent(fresh(app), developer), reviewer)
        steps: list[Callable[[], Any]] = [lambda review=review: approve(review, reviewer), lambda: keep(app)]  # type: ignore[misc]
        at_once(2, lambda number, steps=steps: steps[number]())  # type: ignore[misc]
        assert fresh(app).approved_scopes == f"{SCOPE} {READ}"


def keep(client: Client) -> None:
    with transaction.atomic():
        row = lock_client(client.pk, with_project=True)
        row.approved_scopes = f"{row.approved_scopes} {READ}".strip()
        row.save(update_fields=["approved_scopes"])
        scope_needs_review.send(sender=ApiScope, scope=READ, clients=[row])


def test_apps_that_are_gone_are_skipped(app: Client) -> None:
    gone = make_client()
    pk = gone.pk
    gone.delete()
    gone.pk = pk
    scope_needs_review.send(sender=ApiScope, scope=READ, clients=[gone])
    assert not ReviewCase.objects.exists()


def test_an_app_keeps_a_scope_that_an_operator_makes_sensitive(
    app: Client, developer: Account, reviewer: Account
) -> None:
    party = RelyingParty(app, sign_in(Browser(), make_account()))
    tokens = party.tokens(scope=f"openid offline_access {READ}")
    scopes = (
        {"name": READ, "title": "Read your calendar", "sensitive": True},
        {"name": "calendar.write", "title": "Change your calendar", "sensitive": True},
    )
    api = Api.objects.get()
    columns = {"name": api.name, "identifier": api.identifier}
    change_api(api, Declaration(columns, scopes), make_account())
    reload_registry()
    assert fresh(app).approved_scopes == READ
    again = party.refresh(tokens["refresh_token"]).json()
    assert again["scope"] == READ, "nothing changes before a reviewer decides"
    assert open_case() is not None
    reviewer_actions.withdraw_approval(app, reviewer, scopes=[READ], reasons=["misuse_of_data"])
    assert open_case() is None
    refused = party.refresh(again["refresh_token"], resource=api.identifier)
    assert (refused.status_code, refused.json()["error"]) == (400, "invalid_target")
    change_api(api, Declaration(columns, ({**scopes[0], "sensitive": False, "needs_approval": True}, scopes[1])))
    assert fresh(app).approved_scopes == "", "what was withdrawn stays withdrawn"
