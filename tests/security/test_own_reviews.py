"""Nobody reviews an app that they have, or had, a part in (docs/review.md#conflicts-of-interest)."""

from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings
from django.test import Client as Browser

from accounts.models import Account
from devportal.review.cases import cases
from devportal.review.decisions import reviewer_actions
from devportal.review.rules import workflow
from devportal.review.rules.conflicts import conflict_of
from devportal.review.rules.workflow import ReviewNotAllowed
from devportal.review.submission import developer_actions
from oidc.models import Client, Project, ProjectMember
from oidc.projects import lifecycle, members
from tests.devportal.review.reviewing import SCOPE, make_reviewer, sent, ticks
from tests.factories import make_account, make_client, make_domain

pytestmark = pytest.mark.django_db
Role = ProjectMember.Role
DAY = 24 * 3600.0
Later = Callable[[float], None]


@pytest.fixture
def browser_of() -> Callable[[Account], Browser]:
    def sign_in(account: Account) -> Browser:
        browser = Browser()
        browser.force_login(account)
        return browser

    return sign_in


def join(project: Project, account: Account, role: str = Role.VIEWER) -> ProjectMember:
    return ProjectMember.objects.create(project=project, account=account, role=role)


@pytest.fixture
def owner() -> Account:
    """The accomplice who owns the project when the app is sent."""
    return make_account()


@pytest.fixture
def project(owner: Account) -> Project:
    return lifecycle.create_project(owner, "Orbit")


@pytest.fixture
def app(project: Project) -> Client:
    make_domain(project)
    return make_client(project, name="Orbit Notes", redirect_uris="https://example.com/callback")


def assert_refused_everything(account: Account, app: Client, owner: Account) -> None:
    """Assert that no step on the app or its project is open to this reviewer."""
    review = sent(app, owner)
    case = cases.open_case("report", app.project, app)
    steps: list[Callable[[], Any]] = [
        lambda: reviewer_actions.start(review, account),
        lambda: reviewer_actions.assign(review, make_reviewer(), account),
        lambda: reviewer_actions.suspend_project(app.project, account, reasons=["harmful"]),
        lambda: reviewer_actions.withdraw_approval(app, account, reasons=["harmful"]),
        lambda: cases.assign_case(case, account, account),
        lambda: cases.close_case(case, account, "in_order"),
        lambda: cases.add_note(case, account, "Fine."),
    ]
    for step in steps:
        with pytest.raises(ReviewNotAllowed):
            step()
    review = reviewer_actions.start(review, make_reviewer())
    with pytest.raises(ReviewNotAllowed):
        reviewer_actions.approve(review, account, revision=1, scopes={SCOPE: True}, checked=ticks(review))


# --- People who were once members ---


def test_a_founder_who_transferred_the_project_and_left_before_the_first_draft_approves_nothing(
    later: Later, browser_of: Callable[[Account], Browser]
) -> None:
    founder, accomplice = make_reviewer(), make_account()
    project = lifecycle.create_project(founder, "Orbit")
    app = make_client(project, name="Orbit Notes", redirect_uris="https://example.com/callback")
    make_domain(project)
    members.transfer_ownership(project, join(project, accomplice), founder)
    members.leave_project(project, founder)
    later(3 * 365 * DAY)
    review = sent(app, accomplice)
    page = browser_of(founder).post(f"/admin/review/appreview/{review.pk}/do/start/", {"confirm": "1"}, follow=True)
    assert "You were a member of this project" in page.content.decode()
    review.refresh_from_db()
    assert review.status == "submitted"
    developer_actions.withdraw(review, accomplice)
    assert_refused_everything(founder, app, accomplice)


@pytest.mark.parametrize(("role", "years"), [*((role, 0) for role in Role.values), (Role.VIEWER, 10)])
def test_a_former_member_of_any_role_decides_on_nothing(
    role: str, years: int, app: Client, owner: Account, later: Later
) -> None:
    account = make_reviewer()
    join(app.project, account, role)
    members.leave_project(app.project, account)
    later(years * 365 * DAY + 60)
    assert_refused_everything(account, app, owner)


# --- People who share a project with an owner ---


def both_in(one: Account, other: Account) -> Project:
    """Return another project of which both are members."""
    shared = lifecycle.create_project(make_account(), "Elsewhere")
    for account in (one, other):
        join(shared, account)
    return shared


def _now(me: Account, owner: Account, later: Later) -> None:
    both_in(me, owner)


def _i_left(me: Account, owner: Account, later: Later) -> None:
    members.leave_project(both_in(me, owner), me)


def _they_left(me: Account, owner: Account, later: Later) -> None:
    members.leave_project(both_in(me, owner), owner)


def _both_left(me: Account, owner: Account, later: Later) -> None:
    shared = both_in(me, owner)
    members.leave_project(shared, me)
    later(60)
    members.leave_project(shared, owner)


def _deleted(me: Account, owner: Account, later: Later) -> None:
    shared = both_in(me, owner)
    lifecycle.delete_project(shared, shared.members.get(role=Role.OWNER).account)


def _deleted_for_good(me: Account, owner: Account, later: Later) -> None:
    shared = both_in(me, owner)
    members.leave_project(shared, me)
    lifecycle.delete_project(shared, shared.members.get(role=Role.OWNER).account)
    later((settings.PROJECT_RESTORE_DAYS + 1) * DAY)
    assert lifecycle.purge_project(shared)
    assert not Project.objects.filter(pk=shared.pk).exists()


SHARED = {run.__name__: run for run in (_now, _i_left, _they_left, _both_left, _deleted, _deleted_for_good)}


@pytest.mark.parametrize("how", SHARED)
def test_people_who_share_a_project_with_an_owner_or_did_lately_decide_on_nothing(
    how: str, app: Client, owner: Account, later: Later
) -> None:
    account = make_reviewer()
    SHARED[how](account, owner, later)
    assert conflict_of(account, app.project) == "project"
    assert_refused_everything(account, app, owner)


def test_a_project_that_was_shared_more_than_a_year_ago_is_no_conflict(
    app: Client, owner: Account, later: Later
) -> None:
    for how in (_i_left, _they_left, _both_left, _deleted_for_good):
        account = make_reviewer()
        how(account, owner, later)
        later(366 * DAY)
        assert conflict_of(account, app.project) == "", how.__name__


def test_people_who_were_in_a_project_one_after_the_other_never_shared_it(
    app: Client, owner: Account, later: Later
) -> None:
    me, elsewhere = make_reviewer(), lifecycle.create_project(make_account(), "Elsewhere")
    join(elsewhere, me)
    members.leave_project(elsewhere, me)
    later(60)
    join(elsewhere, owner)
    assert conflict_of(me, app.project) == ""
    members.leave_project(elsewhere, owner)
    assert conflict_of(me, app.project) == ""


def test_sharing_a_project_with_a_viewer_is_no_conflict(app: Client, owner: Account) -> None:
    me, viewer = make_reviewer(), make_account()
    join(app.project, viewer)
    both_in(me, viewer)
    assert conflict_of(me, app.project) == ""


@pytest.mark.parametrize("leaves", [True, False])
def test_an_owner_who_hands_the_project_over_still_counts_for_a_year(
    leaves: bool, app: Client, owner: Account, later: Later
) -> None:
    me, dummy = make_reviewer(), make_account()
    both_in(me, owner)
    members.transfer_ownership(app.project, join(app.project, dummy), owner)
    if leaves:
        members.leave_project(app.project, owner)
    assert conflict_of(me, app.project) == "project"
    later(366 * DAY)
    assert conflict_of(me, app.project) == ""


# --- Rights are read again under the lock ---


def _role_gone(account: Account) -> None:
    account.groups.clear()


def _deactivated(account: Account) -> None:
    Account.objects.filter(pk=account.pk).update(is_active=False)


@pytest.mark.parametrize("lose", [_role_gone, _deactivated])
def test_a_reviewer_whose_rights_ended_after_the_page_was_opened_decides_on_nothing(
    lose: Callable[[Account], None], app: Client, owner: Account
) -> None:
    stale = make_reviewer()
    assert workflow.may_review(stale), "their roles are known to the request"
    lose(Account.objects.get(pk=stale.pk))
    assert_refused_everything(stale, app, owner)
