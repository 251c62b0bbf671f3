"""The weekly look at many domains: in batches, the oldest first, and none stops the others."""

import threading
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import Account
from core import clock
from oidc.domains import checking, claims
from oidc.domains.proofs import record_name
from oidc.models import Project, ProjectDomain
from oidc.projects import lifecycle
from oidc.tasks import check_domains
from tests.factories import make_domain, make_project
from tests.oidc.domains.internet import HOUR, Internet, state

pytestmark = pytest.mark.django_db
Method = ProjectDomain.Method


def test_the_oldest_domains_are_checked_first_and_declared_ones_never(
    internet: Internet, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checking, "AT_ONCE", 1)
    monkeypatch.setattr(checking, "BATCH", 1)
    for number, hours in enumerate((5, 50, 20)):
        make_domain(project, f"d{number}.example", check_at=clock.from_now(-hours * HOUR))
    claims.declare_domain(project, "ours.example")
    make_domain(project, "later.example", check_at=clock.from_now(HOUR))
    assert check_domains() == 3
    records = [asked for asked in internet.asked if not asked.startswith("https")]
    assert records == [record_name(f"d{number}.example") for number in (1, 2, 0)]


def test_a_failing_domain_does_not_stop_the_others(
    internet: Internet, project: Project, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    domains = [make_domain(project, f"d{number}.example", check_at=clock.from_now(-HOUR)) for number in range(5)]
    for domain in domains:
        internet.publish_record(domain)
    internet.records[record_name("d1.example")] = ZeroDivisionError("a bug")
    real = checking.store_check

    def store(domain: ProjectDomain, *args: Any) -> Any:
        if domain.name == "d3.example":
            raise RuntimeError("another bug")
        return real(domain, *args)

    monkeypatch.setattr(checking, "store_check", store)
    assert check_domains() == 5
    assert ProjectDomain.objects.exclude(found_at=None).count() == 3
    assert not ProjectDomain.objects.filter(check_at__lte=clock.now()).exists(), "they wait for their next time"
    assert "d1.example" in caplog.text
    assert "d3.example" in caplog.text


def test_domains_of_a_deleted_project_are_left_alone_and_hold_up_nobody(
    internet: Internet, project: Project, owner: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checking, "BATCH", 2)
    for number in range(5):
        make_domain(project, f"d{number}.example", check_at=clock.from_now(-2 * HOUR))
    other = make_domain(make_project(), "other.example", check_at=clock.from_now(-HOUR))
    lifecycle.delete_project(project, owner)
    assert check_domains() == 1
    assert {name for name in internet.asked if "other" not in name} == set()
    assert state(other) == "missing by dns"
    assert check_domains() == 0
    lifecycle.restore_project(project, owner)
    assert ProjectDomain.objects.filter(project=project, proven_at__isnull=False).count() == 5
    assert check_domains() == 5, "their proofs may have gone meanwhile"


def test_a_thousand_domains_take_a_few_statements_each_and_few_looks_at_once(
    internet: Internet, project: Project
) -> None:
    moment, due = clock.now(), clock.from_now(-HOUR)
    proof = {"method": Method.DNS, "proven_at": moment, "found_at": moment, "added_at": moment, "check_at": due}
    domains = [ProjectDomain(project=project, name=f"d{number}.example", **proof) for number in range(1000)]
    for domain in ProjectDomain.objects.bulk_create(domains):
        internet.publish_record(domain)
    threads: set[str] = set()
    internet.meanwhile = lambda asked: threads.add(threading.current_thread().name)
    with CaptureQueriesContext(connection) as captured:
        assert check_domains() == 1000
    statements = [query["sql"] for query in captured if "SAVEPOINT" not in query["sql"]]
    assert len(statements) <= 3 * 1000 + 2 * (1000 // checking.BATCH + 1)
    assert 1 <= len(threads) <= checking.AT_ONCE
    assert threading.current_thread().name not in threads
    assert not ProjectDomain.objects.filter(check_at__lte=clock.now()).exists()


def test_a_run_ends_in_time_and_the_next_one_continues(
    internet: Internet, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checking, "BATCH", 2)
    monkeypatch.setattr(checking, "RUN_SECONDS", 0)
    for number in range(5):
        make_domain(project, f"d{number}.example", check_at=clock.from_now(-HOUR))
    assert check_domains() == 0
    monkeypatch.setattr(checking, "RUN_SECONDS", 200)
    assert check_domains() == 5
