"""What becomes of a domain's proof in time: proven, missing, lost, found again; and what changes during a look."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from accounts.models import Account
from core import clock
from core.outbound import Code, OutboundRefused
from devportal.console.models import AuditEvent
from oidc.domains import checking, claims
from oidc.domains.proofs import Problem, check_proofs, problems_of, record_name
from oidc.domains.results import Change
from oidc.models import Project, ProjectDomain
from oidc.projects import lifecycle
from oidc.tasks import check_domain, check_domains
from tests.oidc.domains.internet import DAY, HOUR, Internet, prove, state

pytestmark = pytest.mark.django_db

Method = ProjectDomain.Method


# --- One domain ---


def test_a_record_proves_a_domain(internet: Internet, domain: ProjectDomain, told: list[Change]) -> None:
    prove(domain, internet)
    assert domain.is_proven
    assert domain.proven_at == domain.found_at == domain.checked_at
    assert domain.problems == []
    assert domain.check_at is not None
    assert 6.9 * DAY < (domain.check_at - clock.now()).total_seconds() <= 7 * DAY
    assert told == [Change.PROVEN]


def test_a_file_proves_only_its_own_host(internet: Internet, domain: ProjectDomain) -> None:
    prove(domain, internet, Method.FILE)
    assert domain.covers("example.com")
    assert not domain.covers("www.example.com")


def test_an_unproven_domain_is_not_checked_again(
    internet: Internet, domain: ProjectDomain, told: list[Change], later: Callable[[float], None]
) -> None:
    checking.check(domain.pk)
    assert state(domain) == "new"
    assert problems_of(domain) == [Problem(Method.DNS, "no_record"), Problem(Method.FILE, "no_address")]
    assert domain.checked_at is not None
    later(30 * DAY)
    asked = len(internet.asked)
    assert check_domains() == 0
    assert len(internet.asked) == asked
    assert told == []


def test_a_missing_proof_is_lost_after_the_grace_period_and_can_be_found_again(
    internet: Internet, domain: ProjectDomain, told: list[Change], later: Callable[[float], None]
) -> None:
    prove(domain, internet)
    later(6 * DAY)
    assert check_domains() == 0, "not a week yet"
    internet.clear()
    later(DAY + HOUR)
    assert check_domains() == 1
    assert state(domain) == "missing by dns"
    assert domain.is_proven, "it counts for a while"
    for _ in range(6):
        later(DAY + 60)
        assert check_domains() == 1, "a missing proof is looked for every day"
    assert state(domain) == "missing by dns"
    later(DAY)
    assert check_domains() == 1
    assert state(domain) == "lost"
    assert not ProjectDomain.objects.get().is_proven
    later(2 * DAY)
    assert check_domains() == 0, "a lost one every week"
    internet.publish_record(domain)
    later(5 * DAY + HOUR)
    assert check_domains() == 1
    assert state(domain) == "proven by dns"
    assert told == [Change.PROVEN, Change.MISSING, Change.LOST, Change.REGAINED]
    actions = [(row.action, row.target, row.actor_id) for row in AuditEvent.objects.order_by("pk")]
    what = ["domain.proven", "domain.missing", "domain.lost", "domain.proven"]
    assert actions == [(action, "example.com", None) for action in what]


def test_a_proof_that_returns_within_the_grace_period_is_not_lost(
    internet: Internet, domain: ProjectDomain, told: list[Change], later: Callable[[float], None]
) -> None:
    since = prove(domain, internet).proven_at
    internet.clear()
    later(7 * DAY + HOUR)
    check_domains()
    internet.publish_record(domain)
    later(DAY + HOUR)
    check_domains()
    assert state(domain) == "proven by dns"
    assert domain.proven_at == since
    assert told == [Change.PROVEN, Change.MISSING, Change.FOUND]


def test_the_grace_is_a_setting(
    internet: Internet, domain: ProjectDomain, later: Callable[[float], None], settings: Any
) -> None:
    settings.DOMAIN_GRACE_DAYS = 2
    prove(domain, internet)
    internet.clear()
    later(7 * DAY + HOUR)
    check_domains()
    later(DAY + HOUR)
    check_domains()
    assert state(domain) == "missing by dns"
    later(DAY + HOUR)
    check_domains()
    assert state(domain) == "lost"


def test_failing_name_servers_do_not_count_within_the_grace_period(
    internet: Internet, domain: ProjectDomain, told: list[Change], later: Callable[[float], None]
) -> None:
    prove(domain, internet)
    internet.fail(domain)
    later(7 * DAY)
    for _ in range(7):
        later(60)
        assert check_domains() == 1
        assert state(domain) == "proven by dns"
        assert [problem.code for problem in problems_of(domain)] == ["dns_failed", "dns_failed"]
        later(DAY)
    later(60)
    check_domains()
    assert state(domain) == "missing by dns", "now it is told"
    later(6 * DAY)
    check_domains()
    assert state(domain) == "missing by dns"
    later(DAY + HOUR)
    check_domains()
    assert state(domain) == "lost"
    assert told == [Change.PROVEN, Change.MISSING, Change.LOST]


def test_a_missing_proof_is_reported_once(
    internet: Internet, domain: ProjectDomain, told: list[Change], later: Callable[[float], None]
) -> None:
    prove(domain, internet)
    later(7 * DAY + HOUR)
    for step in (internet.clear, lambda: internet.fail(domain), internet.clear):
        step()
        check_domains()
        later(DAY + HOUR)
    assert told == [Change.PROVEN, Change.MISSING]


def test_a_web_server_that_is_down_does_not_matter_to_a_record(
    internet: Internet, domain: ProjectDomain, later: Callable[[float], None]
) -> None:
    """The proof was by DNS: its record is gone for certain, whatever the host does."""
    prove(domain, internet)
    internet.clear()
    internet.publish_file(domain, OutboundRefused(Code.TIMEOUT))
    later(7 * DAY + HOUR)
    check_domains()
    assert state(domain) == "missing by dns"


def test_a_server_that_is_down_is_not_a_missing_proof(
    internet: Internet, domain: ProjectDomain, later: Callable[[float], None]
) -> None:
    prove(domain, internet, Method.FILE)
    internet.publish_file(domain, OutboundRefused(Code.TIMEOUT))
    later(7 * DAY + HOUR)
    check_domains()
    assert state(domain) == "proven by file"
    internet.clear()
    later(DAY + HOUR)
    check_domains()
    assert state(domain) == "missing by file"


def test_a_dns_record_or_a_file_keeps_a_domain_proven(
    internet: Internet, domain: ProjectDomain, told: list[Change], later: Callable[[float], None]
) -> None:
    prove(domain, internet)
    internet.clear()
    internet.publish_file(domain)
    later(7 * DAY + HOUR)
    check_domains()
    assert state(domain) == "proven by file"
    internet.publish_record(domain)
    later(7 * DAY + HOUR)
    check_domains()
    assert state(domain) == "proven by dns"
    assert told == [Change.PROVEN, Change.NARROWED, Change.WIDENED]
    last = AuditEvent.objects.latest("pk")
    assert (last.action, last.before, last.after) == ("domain.proven", {"proven_by": "file"}, {"proven_by": "dns"})


def test_a_file_vouches_for_the_record_while_name_servers_fail(
    internet: Internet, domain: ProjectDomain, told: list[Change], later: Callable[[float], None]
) -> None:
    prove(domain, internet)
    internet.records[record_name(domain.name)] = OutboundRefused(Code.DNS_TIMEOUT)
    internet.publish_file(domain)
    later(7 * DAY + HOUR)
    check_domains()
    assert state(domain) == "proven by dns"
    assert told == [Change.PROVEN]


# --- What was seen of a domain that changed meanwhile ---


def test_a_domain_that_was_removed_meanwhile_stays_removed(
    internet: Internet, domain: ProjectDomain, owner: Account, told: list[Change]
) -> None:
    internet.publish_record(domain)
    internet.meanwhile = lambda asked: claims.remove_domain(domain, owner)
    checking.check(domain.pk)
    assert not ProjectDomain.objects.exists()
    assert told == [Change.REMOVED]


def test_a_result_for_an_old_value_is_ignored(internet: Internet, domain: ProjectDomain) -> None:
    internet.publish_record(domain)
    internet.meanwhile = lambda asked: ProjectDomain.objects.filter(pk=domain.pk).update(token="another")
    checking.check(domain.pk)
    assert state(domain) == "new"
    assert domain.checked_at is None


def test_a_proof_that_another_check_found_meanwhile_is_not_missing(
    internet: Internet, domain: ProjectDomain, told: list[Change]
) -> None:
    def published_and_checked(asked: str) -> None:
        internet.meanwhile = lambda asked: None
        prove(domain, internet)

    internet.meanwhile = published_and_checked
    checking.check(domain.pk)
    domain.refresh_from_db()
    assert (told, domain.missing_since, domain.problems) == ([Change.PROVEN], None, [])


def test_a_check_does_not_change_a_domain_that_an_operator_declared_meanwhile(
    internet: Internet, domain: ProjectDomain, project: Project
) -> None:
    internet.meanwhile = lambda asked: claims.declare_domain(project, domain.name)
    checking.check(domain.pk)
    assert state(domain) == "proven by operator"
    assert domain.problems == []


def test_a_result_for_a_deleted_project_is_ignored(
    internet: Internet, domain: ProjectDomain, project: Project, owner: Account
) -> None:
    internet.publish_record(domain)
    internet.meanwhile = lambda asked: lifecycle.delete_project(project, owner)
    checking.check(domain.pk)
    assert state(domain) == "new"


def test_checking_a_removed_domain_does_nothing(internet: Internet, domain: ProjectDomain) -> None:
    check_domain(domain.pk + 1, None)
    assert internet.asked == []


def test_no_lookup_runs_inside_a_transaction(
    internet: Internet, domain: ProjectDomain, later: Callable[[float], None]
) -> None:
    """Of the blocks around a look, all are the test's own."""
    depths: list[int] = []
    here = len(connection.savepoint_ids)
    internet.meanwhile = lambda asked: depths.append(len(connection.savepoint_ids))
    checking.check(domain.pk)
    assert depths == [here, here]


def test_the_audit_trail_names_who_started_a_check(internet: Internet, domain: ProjectDomain, owner: Account) -> None:
    internet.publish_record(domain)
    check_domain(domain.pk, owner.pk)
    event = AuditEvent.objects.get()
    assert (event.action, event.actor) == ("domain.proven", owner)


def test_a_lookup_uses_no_database(internet: Internet, domain: ProjectDomain, django_assert_num_queries: Any) -> None:
    """It runs in threads, whose connections nobody would close."""
    with django_assert_num_queries(0):
        check_proofs(domain)
