"""Notices about a proof that is missing, lost or found again, and cases about it."""

from collections.abc import Callable

import pytest
from django.conf import settings
from django.test import Client as Browser

from accounts.models import Account
from core import clock
from devportal.console.models import AuditEvent
from devportal.review.cases.cases import MAX_EVENTS
from devportal.review.models import ReviewCase
from oidc.domains import claims
from oidc.models import Project, ProjectDomain, ProjectMember
from oidc.tasks import check_domains
from tests.devportal.console.notices.noticing import forget_mails
from tests.devportal.review.reviewing import mails
from tests.factories import make_account, make_client
from tests.oidc.domains.internet import DAY, HOUR, Internet, prove

TEAM = ["olga@example.com", "dan@example.com"]


@pytest.fixture(autouse=True)
def moving_clock(later: Callable[[float], None]) -> Callable[[float], None]:
    return later


def new_mails() -> dict[str, list[tuple[str, str]]]:
    """Return what was queued since the last call: subjects and bodies by address."""
    found: dict[str, list[tuple[str, str]]] = {}
    for to, subject, body in mails():
        found.setdefault(to, []).append((subject.removeprefix("[Openport] "), " ".join(body.split())))
    forget_mails()
    return found


def test_owners_and_developers_get_one_mail_for_each_change(
    internet: Internet, domain: ProjectDomain, later: Callable[[float], None]
) -> None:
    prove(domain, internet)
    assert new_mails() == {}, "who proves a domain sees it on the page"
    internet.clear()
    later(7 * DAY + HOUR)
    check_domains()
    missing = new_mails()
    assert sorted(missing) == sorted(TEAM), "no viewer"
    [(subject, body)] = missing["dan@example.com"]
    assert subject == "The proof of example.com is missing"
    assert "DNS record: There is no such TXT record." in body
    assert f"by {clock.from_now(7 * DAY):%-d %B %Y}" in body
    assert f"{settings.AUTH_URL}/console/p/{domain.project.public_id}/domains" in body
    for _ in range(6):
        later(DAY + HOUR)
        check_domains()
    assert new_mails() == {}, "told once"
    later(DAY + HOUR)
    check_domains()
    [(subject, body)] = new_mails()["olga@example.com"]
    assert subject == "example.com is no longer proven"
    assert "without logo and badge" in body
    internet.publish_record(domain)
    later(7 * DAY + HOUR)
    check_domains()
    [(subject, body)] = new_mails()["olga@example.com"]
    assert subject == "example.com is proven again"
    assert "Reviewed apps show their logo and badge" in body
    internet.clear()
    internet.publish_file(domain)
    later(7 * DAY + HOUR)
    check_domains()
    [(subject, body)] = new_mails()["olga@example.com"]
    assert subject == "example.com is proven without its subdomains"


def test_a_proof_that_returns_in_time_is_reported(
    internet: Internet, domain: ProjectDomain, later: Callable[[float], None]
) -> None:
    prove(domain, internet)
    internet.clear()
    later(7 * DAY + HOUR)
    check_domains()
    new_mails()
    internet.publish_record(domain)
    later(DAY + HOUR)
    check_domains()
    [(subject, body)] = new_mails()["dan@example.com"]
    assert subject == "example.com is proven again"
    assert "Nothing changed for people in the meantime." in body


def test_unverified_and_closed_accounts_get_no_mail(
    internet: Internet, domain: ProjectDomain, owner: Account, later: Callable[[float], None]
) -> None:
    unproven = make_account("una@example.com", verified=False)
    ProjectMember.objects.create(project=domain.project, account=unproven, role=ProjectMember.Role.OWNER)
    Account.objects.filter(pk=owner.pk).update(is_active=False)
    prove(domain, internet)
    internet.clear()
    later(7 * DAY + HOUR)
    check_domains()
    assert list(new_mails()) == ["dan@example.com"]


def lose(domain: ProjectDomain, internet: Internet, later: Callable[[float], None]) -> None:
    prove(domain, internet)
    internet.clear()
    for _ in range(2):
        later(7 * DAY + HOUR)
        check_domains()
    domain.refresh_from_db()
    assert domain.lost_at


def reviewed(project: Project, host: str = "www.example.com", name: str = "Orbit") -> None:
    uris = {"redirect_uris": f"https://{host}/callback", "post_logout_redirect_uris": ""}
    make_client(project, name=name, verified_at=clock.now(), **uris)


def test_a_loss_opens_a_case_for_each_reviewed_app_on_the_domain(
    internet: Internet, domain: ProjectDomain, later: Callable[[float], None]
) -> None:
    reviewed(domain.project)
    reviewed(domain.project, "example.com", "Lunar")
    reviewed(domain.project, "other.example", "Elsewhere")
    make_client(domain.project, name="Not reviewed")
    lose(domain, internet, later)
    cases = ReviewCase.objects.order_by("client__name")
    assert [(case.kind, case.client.name) for case in cases if case.client] == [
        ("domain_lost", "Lunar"),
        ("domain_lost", "Orbit"),
    ]
    assert all(
        case.is_open and case.project == domain.project and "example.com" in case.event_texts[0] for case in cases
    )


def test_no_case_is_opened_while_it_is_only_missing_or_no_reviewed_app_is_there(
    internet: Internet, domain: ProjectDomain, later: Callable[[float], None]
) -> None:
    reviewed(domain.project, "other.example")
    lose(domain, internet, later)
    assert not ReviewCase.objects.exists()


def test_later_changes_are_added_to_the_open_case(
    internet: Internet, domain: ProjectDomain, owner: Account, later: Callable[[float], None]
) -> None:
    reviewed(domain.project)
    lose(domain, internet, later)
    internet.publish_record(domain)
    later(7 * DAY + HOUR)
    check_domains()
    case = ReviewCase.objects.get()
    assert case.is_open
    assert case.event_texts[-1] == "example.com is proven again."
    claims.remove_domain(domain, owner)
    case.refresh_from_db()
    assert case.event_texts[-1] == "example.com was removed by the project."


def test_a_closed_case_stays_closed_and_a_new_loss_opens_another(
    internet: Internet, domain: ProjectDomain, later: Callable[[float], None]
) -> None:
    reviewed(domain.project)
    lose(domain, internet, later)
    ReviewCase.objects.update(closed_at=clock.now())
    internet.publish_record(domain)
    later(7 * DAY + HOUR)
    check_domains()
    assert ReviewCase.objects.filter(closed_at=None).count() == 0
    lose(domain, internet, later)
    assert ReviewCase.objects.filter(closed_at=None).count() == 1


def test_the_activity_page_describes_domain_changes(
    internet: Internet, domain: ProjectDomain, owner: Account, as_viewer: Browser, later: Callable[[float], None]
) -> None:
    other = claims.add_domain(domain.project, "other.example", owner)
    claims.remove_domain(other, owner)
    lose(domain, internet, later)
    address = f"/console/p/{domain.project.public_id}/team/activity?kind=domains"
    text = " ".join(as_viewer.get(address).content.decode().replace("</strong>", "").replace("<strong>", "").split())
    for words in ("added", "removed", "found the proof of", "no longer found the proof of", "stopped counting"):
        assert f"{words} the domain" in text


def test_a_case_that_was_opened_or_added_to_is_in_the_trail_and_does_not_grow_without_end(
    internet: Internet, domain: ProjectDomain, owner: Account, later: Callable[[float], None]
) -> None:
    reviewed(domain.project)
    lose(domain, internet, later)
    ReviewCase.objects.update(events=ReviewCase.objects.get().events * MAX_EVENTS)
    claims.remove_domain(domain, owner)
    case = ReviewCase.objects.get()
    assert len(case.events) == MAX_EVENTS
    assert case.event_texts[-1] == "example.com was removed by the project."
    assert AuditEvent.objects.filter(action="review_case.opened").count() == 1
