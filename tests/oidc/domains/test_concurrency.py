"""Domains that are looked at, removed and declared by many at once, on PostgreSQL with separate connections."""

from typing import Any

import pytest

from accounts.models import Account
from core import clock
from devportal.console.models import AuditEvent
from devportal.review.decisions import reviewer_actions
from devportal.review.models import ReviewCase
from oidc.clients.registration import update_client
from oidc.domains import checking, claims
from oidc.domains.proofs import Code, ProofCheck, ProofResult
from oidc.models import Client, Project, ProjectDomain
from oidc.projects import lifecycle
from tests.at_once import together
from tests.devportal.review.reviewing import SCOPE, make_reviewer, sent, ticks
from tests.factories import make_account, make_client, make_domain
from tests.oidc.domains.internet import Internet

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]
often = pytest.mark.parametrize("attempt", range(3))
FOUND = ProofCheck(ProofResult(True))
NOTHING = ProofCheck(ProofResult(False, Code.NO_RECORD), ProofResult(False, Code.NO_FILE, {"status": 404}))


@pytest.fixture
def owner(transactional_db: None) -> Account:
    return make_account("olga@example.com")


@pytest.fixture
def app(project: Project) -> Client:
    uri = "https://www.example.com/callback"
    return make_client(project, redirect_uris=uri, verified_at=clock.now(), approved_hosts="")


def hosts(app: Client) -> str:
    return Client.objects.get(pk=app.pk).reviewed_hosts


@often
def test_a_domain_removed_during_its_check_is_gone(
    domain: ProjectDomain, owner: Account, app: Client, attempt: int
) -> None:
    ended = together(
        lambda: checking.store_check(domain, FOUND),
        lambda: claims.remove_domain(domain, owner),
    )
    assert ended == ["done", "done"]
    assert not ProjectDomain.objects.exists()
    assert hosts(app) == ""


@often
def test_a_domain_removed_during_the_weekly_check_is_gone(
    internet: Internet, project: Project, owner: Account, app: Client, attempt: int
) -> None:
    domain = make_domain(project, check_at=clock.now())
    ended = together(checking.check_due, lambda: claims.remove_domain(domain, owner))
    assert ended == ["done", "done"]
    assert not ProjectDomain.objects.exists()
    assert hosts(app) == ""


@often
def test_a_value_that_is_replaced_meanwhile_is_not_proven_by_the_old_one(
    domain: ProjectDomain, project: Project, owner: Account, app: Client, attempt: int
) -> None:
    def replace() -> None:
        claims.remove_domain(domain, owner)
        claims.add_domain(project, domain.name, owner)

    assert together(lambda: checking.store_check(domain, FOUND), replace) == ["done", "done"]
    again = ProjectDomain.objects.get()
    assert (again.proven_at, hosts(app)) == (None, "")


@often
def test_two_concurrent_runs_report_a_loss_once(
    internet: Internet, project: Project, owner: Account, app: Client, attempt: int
) -> None:
    long_ago = clock.from_now(-30 * 24 * 3600)
    make_domain(project, check_at=clock.now(), missing_since=long_ago, found_at=long_ago)
    assert together(checking.check_due, checking.check_due) == ["done", "done"]
    assert ProjectDomain.objects.get().lost_at is not None
    assert AuditEvent.objects.filter(action="domain.lost").count() == 1
    assert ReviewCase.objects.count() == 1


@often
def test_a_loss_and_a_new_redirect_url_do_not_miss_each_other(
    project: Project, owner: Account, app: Client, attempt: int
) -> None:
    domain = make_domain(project, missing_since=clock.from_now(-30 * 24 * 3600))
    uris = ["https://new.example.com/callback"]
    ended = together(
        lambda: checking.store_check(domain, NOTHING),
        lambda: update_client(app, owner, redirect_uris=uris, post_logout_redirect_uris=[]),
    )
    assert ended == ["done", "done"]
    assert hosts(app) == ""


@often
def test_a_loss_and_an_approval_do_not_miss_each_other(project: Project, owner: Account, attempt: int) -> None:
    """The first approval: the app is no reviewed one yet when the loss begins to look for those."""
    domain = make_domain(project, missing_since=clock.from_now(-30 * 24 * 3600))
    app, reviewer = make_client(project), make_reviewer()
    review = reviewer_actions.start(sent(app, owner), reviewer)

    def approve() -> Any:
        ticked = ticks(review)
        return reviewer_actions.approve(
            review, reviewer, revision=review.revision, scopes={SCOPE: True}, checked=ticked
        )

    ended = together(lambda: checking.store_check(domain, NOTHING), approve)
    assert ended[0] == "done"
    assert hosts(app) == ""


@often
def test_a_project_that_is_deleted_meanwhile_keeps_its_domains_as_they_were(
    domain: ProjectDomain, project: Project, owner: Account, attempt: int
) -> None:
    ended = together(
        lambda: checking.store_check(domain, NOTHING),
        lambda: lifecycle.delete_project(project, owner),
    )
    assert ended == ["done", "done"]
    assert ProjectDomain.objects.get().proven_at is None


@often
def test_concurrent_requests_do_not_exceed_the_limit_of_domains(
    project: Project, owner: Account, settings: Any, attempt: int
) -> None:
    settings.DOMAINS_PER_PROJECT = 2
    ended = together(*(lambda name=name: claims.add_domain(project, f"{name}.example", owner) for name in "abcd"))
    assert sorted(ended) == ["QuotaExceeded", "QuotaExceeded", "done", "done"]


@often
def test_concurrent_additions_add_a_domain_once(project: Project, owner: Account, attempt: int) -> None:
    ended = together(*[lambda: claims.add_domain(project, "example.com", owner)] * 4)
    assert sorted(ended) == ["AlreadyListed"] * 3 + ["done"]
