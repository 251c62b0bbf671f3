"""Adding, checking, removing and declaring domains: who may, how many, and what the trail tells."""

from typing import Any

import pytest
from django.core.exceptions import ValidationError

from accounts.models import Account
from core import clock
from devportal.console.models import AuditEvent
from oidc.domains import claims
from oidc.models import Project, ProjectDomain, ProjectMember
from oidc.projects.roles import Gone, InsufficientRole
from oidc.tasks import check_domain
from tests.factories import make_account, make_client, make_domain, make_project
from tests.oidc.domains.internet import Internet, prove, state

pytestmark = pytest.mark.django_db
Method = ProjectDomain.Method


def trail() -> list[tuple[str, str]]:
    return list(AuditEvent.objects.order_by("pk").values_list("action", "target"))


def test_adding_a_domain_is_in_the_audit_trail(project: Project, developer: Account) -> None:
    domain = claims.add_domain(project, "https://Example.com/path", developer)
    assert (domain.name, domain.added_by, state(domain), domain.check_at) == ("example.com", developer, "new", None)
    assert len(domain.token) == 32
    other_owner = make_account()
    assert claims.add_domain(make_project(other_owner), "example.com", other_owner).token != domain.token
    assert trail() == [("domain.added", "example.com")] * 2


def test_viewers_and_strangers_change_nothing(domain: ProjectDomain, project: Project) -> None:
    viewer, stranger = make_account(), make_account()
    ProjectMember.objects.create(project=project, account=viewer, role=ProjectMember.Role.VIEWER)
    for account, refusal in ((viewer, InsufficientRole), (stranger, Gone)):
        with pytest.raises(refusal):
            claims.add_domain(project, "new.example", account)
        with pytest.raises(refusal):
            claims.request_check(domain, account)
        with pytest.raises(refusal):
            claims.remove_domain(domain, account)
    assert list(ProjectDomain.objects.values_list("name", "check_at")) == [("example.com", None)]
    assert trail() == []


def test_a_domain_is_listed_once_however_it_is_spelled(domain: ProjectDomain, project: Project, owner: Account) -> None:
    with pytest.raises(claims.AlreadyListed, match=r"example\.com"):
        claims.add_domain(project, " EXAMPLE.com. ", owner)
    with pytest.raises(ValidationError):
        claims.add_domain(project, "127.0.0.1", owner)
    assert ProjectDomain.objects.count() == 1


def test_a_check_that_is_asked_for_is_done_after_the_commit(
    internet: Internet, domain: ProjectDomain, developer: Account, django_capture_on_commit_callbacks: Any
) -> None:
    internet.publish_record(domain)
    with django_capture_on_commit_callbacks() as committed:
        assert claims.request_check(domain, developer)
    assert internet.asked == []
    domain.refresh_from_db()
    assert domain.check_at is not None
    assert domain.check_at <= clock.now(), "the periodic task makes up for a task that is lost"
    for each in committed:
        each()
    assert state(domain) == "proven by dns"
    assert AuditEvent.objects.get().actor == developer


def test_in_production_a_worker_runs_the_check(
    internet: Internet,
    domain: ProjectDomain,
    developer: Account,
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: Any,
) -> None:
    settings.CELERY_TASK_ALWAYS_EAGER = False
    queued: list[Any] = []
    monkeypatch.setattr(claims, "queue_task", lambda *task: queued.append(task))
    with django_capture_on_commit_callbacks(execute=True):
        claims.request_check(domain, developer)
    assert queued == [(check_domain, domain.pk, developer.pk)]
    assert internet.asked == []


def test_declared_domains_are_not_checked(
    internet: Internet, project: Project, owner: Account, django_capture_on_commit_callbacks: Any
) -> None:
    claims.declare_domain(project, "example.com")
    before = ProjectDomain.objects.values().get()
    claims.declare_domain(project, "example.com")
    assert ProjectDomain.objects.values().get() == before
    domain = ProjectDomain.objects.get()
    with django_capture_on_commit_callbacks(execute=True):
        assert not claims.request_check(domain, owner)
    check_domain(domain.pk)
    assert internet.asked == []
    assert (state(domain), domain.covers("www.example.com")) == ("proven by operator", True)


def test_a_removed_domain_can_not_be_checked_or_removed_again(domain: ProjectDomain, owner: Account) -> None:
    claims.remove_domain(domain, owner)
    for act in (claims.request_check, claims.remove_domain):
        with pytest.raises(Gone):
            act(domain, owner)
    assert trail() == [("domain.removed", "example.com")]


def test_adding_a_domain_again_gives_another_value(
    internet: Internet, domain: ProjectDomain, project: Project, owner: Account
) -> None:
    before = prove(domain, internet).token
    claims.remove_domain(domain, owner)
    again = claims.add_domain(project, domain.name, owner)
    assert again.token != before
    check_domain(again.pk)
    assert state(again) == "new", "what is still published proves nothing"


def test_a_lost_domain_that_is_declared_is_the_operators(project: Project) -> None:
    moment = clock.now()
    lost = make_domain(
        project,
        missing_since=moment,
        lost_at=moment,
        check_at=moment,
        problems=[{"proof": "dns", "code": "no_record", "parameters": {}}],
    )
    claims.declare_domain(project, "example.com")
    assert state(lost) == "proven by operator"
    assert (lost.problems, lost.check_at, lost.missing_since) == ([], None, None)


def test_apps_on_a_domain_are_the_reviewed_ones_with_any_address_there(project: Project) -> None:
    domain = make_domain(project)
    away = {"redirect_uris": "https://other.example/cb", "post_logout_redirect_uris": "", "verified_at": clock.now()}
    there = [
        make_client(project, name="A", **away | {"redirect_uris": "https://www.example.com/cb"}),
        make_client(project, name="B", **away | {"post_logout_redirect_uris": "https://example.com:8443/bye"}),
        make_client(project, name="C", **away | {"home_page_url": "https://example.com/"}),
        make_client(project, name="D", **away | {"privacy_policy_url": "https://docs.example.com/privacy"}),
        make_client(project, name="E", **away, approved_hosts="old.example.com"),
    ]
    make_client(project, name="F", **away | {"home_page_url": "https://notexample.com/"})
    make_client(project, name="G", **away | {"home_page_url": "https://example.com/", "verified_at": None})
    assert claims.apps_on(domain) == there
