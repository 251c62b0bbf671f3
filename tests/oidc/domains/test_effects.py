"""The hosts at which apps count as reviewed follow every change of a domain's proof."""

from collections.abc import Callable
from typing import Any

import pytest

from accounts.models import Account
from core import clock
from oidc.clients import reviewed_hosts
from oidc.domains import claims, results
from oidc.models import Client, Project, ProjectDomain
from oidc.tasks import check_domains
from tests.factories import make_account, make_client, make_domain, make_project
from tests.oidc.domains.internet import DAY, HOUR, Internet, prove, state

pytestmark = pytest.mark.django_db
Method = ProjectDomain.Method


def at(host: str) -> str:
    return f"https://{host}/callback"


def verified(project: Project, *hosts: str, approved: str = "") -> Client:
    """Return an app whose approval covers these hosts and example.com."""
    uris = " ".join(map(at, hosts))
    snapshot = {"approved_hosts": approved, "approved_domains": "example.com"}
    app = make_client(project, verified_at=clock.now(), redirect_uris=uris, **snapshot)
    results.refresh_reviewed_hosts(project)
    app.refresh_from_db()
    return app


def counts(app: Client) -> set[str]:
    fresh = Client.objects.select_related("project").get(pk=app.pk)
    return {uri for uri in fresh.redirect_uris.split() if reviewed_hosts.counts_as_reviewed(fresh, uri)}


def test_apps_count_as_reviewed_as_long_as_the_proof_counts(
    internet: Internet, domain: ProjectDomain, project: Project, later: Callable[[float], None]
) -> None:
    app = verified(project, "www.example.com", "other.example", approved="other.example")
    assert counts(app) == {at("other.example")}
    prove(domain, internet)
    both = {at("www.example.com"), at("other.example")}
    assert counts(app) == both
    internet.clear()
    later(7 * DAY + HOUR)
    check_domains()
    assert counts(app) == both, "missing still counts"
    later(7 * DAY + HOUR)
    check_domains()
    assert counts(app) == {at("other.example")}
    internet.publish_record(domain)
    later(7 * DAY + HOUR)
    check_domains()
    assert counts(app) == both


def test_a_file_instead_of_the_record_leaves_the_subdomains(
    internet: Internet, domain: ProjectDomain, project: Project, later: Callable[[float], None]
) -> None:
    prove(domain, internet)
    app = verified(project, "www.example.com", "example.com", approved="www.example.com example.com")
    internet.clear()
    internet.publish_file(domain)
    later(7 * DAY + HOUR)
    check_domains()
    assert counts(app) == {at("example.com")}
    internet.publish_record(domain)
    later(7 * DAY + HOUR)
    check_domains()
    assert counts(app) == {at("www.example.com"), at("example.com")}


def test_removing_a_lost_domain_does_not_restore_what_its_approval_covered(
    internet: Internet, domain: ProjectDomain, project: Project, owner: Account, later: Callable[[float], None]
) -> None:
    prove(domain, internet)
    app = verified(project, "www.example.com", approved="www.example.com")
    internet.clear()
    for _ in range(2):
        later(7 * DAY + HOUR)
        check_domains()
    assert state(domain) == "lost"
    assert counts(app) == set()
    claims.remove_domain(domain, owner)
    assert counts(app) == set(), "not even by removing what is lost"
    again = claims.add_domain(project, domain.name, owner)
    assert counts(app) == set()
    prove(again, internet)
    assert counts(app) == {at("www.example.com")}


def test_removing_a_domain_keeps_hosts_that_other_domains_prove(
    internet: Internet, domain: ProjectDomain, project: Project, owner: Account
) -> None:
    prove(domain, internet)
    make_domain(project, "www.example.com", method=Method.FILE)
    hosts = ("www.example.com", "shop.example.com", "legacy.example")
    app = verified(project, *hosts, approved=" ".join(hosts))
    claims.remove_domain(domain, owner)
    assert counts(app) == {at("www.example.com"), at("legacy.example")}


def test_removing_a_domain_that_was_never_proven_takes_nothing(
    domain: ProjectDomain, project: Project, owner: Account
) -> None:
    app = verified(project, "www.example.com", approved="www.example.com")
    claims.remove_domain(domain, owner)
    assert counts(app) == {at("www.example.com")}


def test_only_the_projects_own_verified_apps_are_touched(internet: Internet, domain: ProjectDomain) -> None:
    mine = make_client(domain.project, redirect_uris=at("example.com"))
    theirs = verified(make_project(make_account()), "example.com")
    prove(domain, internet)
    assert counts(mine) == counts(theirs) == set()


@pytest.mark.parametrize("number", [1, 30])
def test_hosts_are_computed_in_three_statements_however_many_apps(
    project: Project, number: int, django_assert_num_queries: Any
) -> None:
    for _ in range(number):
        snapshot = {"approved_hosts": "", "approved_domains": "example.com"}
        make_client(project, verified_at=clock.now(), redirect_uris=at("www.example.com"), **snapshot)
    make_domain(project)
    with django_assert_num_queries(3):
        results.refresh_reviewed_hosts(project)
    assert set(Client.objects.values_list("reviewed_hosts", flat=True)) == {"www.example.com"}
