"""The console's home: projects at a glance, what needs attention, invitations, what can be restored."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client as Browser

from accounts.models import Account
from api.models import ApiKey, UsageTotal
from core import clock
from devportal.console.projects.overview import RequestCounts, project_memberships, project_overviews
from devportal.review.models import AppReview
from oidc.authorization import consent
from oidc.models import Client, ClientSecret, Project, ProjectInvitation, ProjectMember
from oidc.projects import invitations, lifecycle
from tests.devportal.console.forms import send
from tests.factories import make_account, make_client, make_key, make_project, make_web_client

DAY = 24 * 3600
Later = Callable[[float], None]
Role = ProjectMember.Role


def text_of(browser: Browser, url: str = "/console/") -> str:
    response = browser.get(url)
    assert response.status_code == 200
    return " ".join(response.content.decode().split())


def warnings_of(owner: Account) -> list[str]:
    return [warning.text for one in project_overviews(list(project_memberships(owner))) for warning in one.warnings]


def count_requests(project: Project, count: int, *, status: int = 200, hours_ago: int = 0) -> None:
    hour = clock.now().replace(minute=0, second=0, microsecond=0) - timedelta(hours=hours_ago)
    code = "" if status < 400 else "not_found"
    UsageTotal.objects.create(project=project, hour=hour, endpoint="/v1/me", status=status, code=code, count=count)


def test_the_first_project_is_made_on_the_home_page(browser_of: Any, db: None) -> None:
    browser = browser_of(make_account("new@example.com"))
    answer = send(browser, "/console/projects/new", {"name": "Tide Tables"}, form_on="/console/")
    assert answer["Location"] == f"/console/p/{Project.objects.get().public_id}/"
    assert 'action="/console/projects/new"' not in text_of(browser)


def test_a_card_shows_the_figures(as_viewer: Browser, project: Project, owner: Account) -> None:
    client, second = make_client(project), make_client(project, name="Second")
    people = [make_account() for _ in range(3)]
    for person in people:
        consent.record_consent(person, client, ["openid"])
    consent.record_consent(people[0], second, ["openid"])  # counts once
    consent.remove_consent(consent.record_consent(make_account(), second, ["openid"]))
    count_requests(project, 90)
    count_requests(project, 10, status=404, hours_ago=23)
    count_requests(project, 5000, hours_ago=24)
    text = text_of(as_viewer)
    assert "<dt>Apps</dt><dd>2</dd>" in text
    assert "<dt>People</dt><dd>3</dd>" in text
    assert "<dt>Requests, 24 h</dt><dd>100</dd>" in text
    assert re.search(
        r'<dt>Errors, 24 h</dt><dd><a href="[^"]+status=errors[^"]*" aria-label="[^"]+">10 %</a></dd>', text
    )
    assert "You: viewer" in text


def test_only_own_projects_are_listed(as_outsider: Browser, project: Project) -> None:
    text = text_of(as_outsider)
    assert "Elsewhere" in text
    assert "Orbit Notes" not in text
    assert project.public_id not in text


def test_figures_of_other_projects_are_not_shown(owner: Account, project: Project, outsider: Account) -> None:
    other = Project.objects.get(name="Elsewhere")
    count_requests(other, 7)
    consent.record_consent(make_account(), make_client(other), ["openid"])
    make_key(other, outsider)
    (mine,) = project_overviews(list(project_memberships(owner)))
    assert (mine.facts.clients, mine.facts.people, mine.requests) == (0, 0, RequestCounts())


@pytest.mark.parametrize(
    ("verified", "review", "expected"),
    [
        (0, None, "Not reviewed"),
        (0, AppReview.Status.DRAFT, "Not reviewed"),
        (0, AppReview.Status.SUBMITTED, "In review"),
        (0, AppReview.Status.IN_REVIEW, "In review"),
        (1, None, "1 of 2 reviewed"),
        (2, None, "Reviewed"),
    ],
)
def test_the_card_says_how_far_review_is(
    as_owner: Browser, project: Project, verified: int, review: str | None, expected: str
) -> None:
    moments = [clock.now() if number < verified else None for number in range(2)]
    clients = [make_client(project, name=f"C{n}", verified_at=moment) for n, moment in enumerate(moments)]
    if review:
        AppReview.objects.create(client=clients[0], number=1, status=review, created_at=clock.now())
    assert f">{expected}</span>" in text_of(as_owner)


def test_names_are_escaped(as_owner: Browser, project: Project) -> None:
    Project.objects.filter(pk=project.pk).update(name="<script>alert(1)</script> & {{ 7 }}")
    text = text_of(as_owner)
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; {{ 7 }}" in text


def test_a_project_without_problems_has_no_warnings(project: Project, owner: Account) -> None:
    make_web_client(project)
    make_client(project)
    make_key(project, owner)
    count_requests(project, 1000)
    assert warnings_of(owner) == []


def test_a_key_that_expires_soon_is_a_warning(project: Project, owner: Account, later: Later) -> None:
    end = clock.now() + timedelta(days=20, minutes=5)
    make_key(project, owner, expires_at=end)
    revoked, _ = make_key(project, owner, expires_at=end)
    ApiKey.objects.filter(pk=revoked.pk).update(revoked_at=clock.now())
    assert warnings_of(owner) == []
    later(7 * DAY)
    assert warnings_of(owner) == ["An API key expires in 1\xa0week, 6\xa0days."]
    make_key(project, owner, expires_at=end + timedelta(hours=1))
    assert warnings_of(owner) == ["2 API keys expire soon, the first in 1\xa0week, 6\xa0days."]
    later(14 * DAY)  # they have ended, and are no news
    assert warnings_of(owner) == []


def test_a_nearly_full_and_a_full_project_have_warnings(project: Project, owner: Account, settings: Any) -> None:
    settings.UNVERIFIED_APP_PEOPLE = 5
    client = make_client(project, name="Starling")
    for _ in range(3):
        consent.record_consent(make_account(), client, ["openid"])
    consent.record_consent(owner, client, ["openid"])  # owners do not count
    assert warnings_of(owner) == []
    consent.record_consent(make_account(), client, ["openid"])
    assert warnings_of(owner) == ["The project’s apps have 4 of the 5 people that they may have before review."]
    consent.remove_consent(
        consent.record_consent(make_account(), client, ["openid"])
    )  # who goes again has taken a place
    assert "The project is full" in warnings_of(owner)[0]
    Client.objects.update(verified_at=clock.now())
    assert warnings_of(owner) == []


@pytest.mark.parametrize(
    ("before", "recent", "rises"),
    [
        ((1000, 0), (100, 10), True),
        ((1000, 10), (100, 10), True),
        ((0, 0), (100, 10), True),
        ((1000, 100), (100, 10), False),  # no more than before
        ((1000, 60), (100, 10), False),  # not clearly more
        ((1000, 0), (100, 4), False),  # few
        ((1000, 0), (10, 10), False),  # too few calls to tell
        ((1000, 500), (0, 0), False),
    ],
)
def test_a_rise_of_failed_calls_is_a_warning(
    project: Project, owner: Account, before: tuple[int, int], recent: tuple[int, int], rises: bool
) -> None:
    for hours_ago, (calls, errors) in ((10, before), (0, recent)):
        count_requests(project, calls - errors, hours_ago=hours_ago)
        count_requests(project, errors, status=429, hours_ago=hours_ago)
    found = [text for text in warnings_of(owner) if "Errors are rising" in text]
    assert bool(found) == rises
    if rises:
        assert found == ["Errors are rising: 10 % of the latest requests failed."]


def test_a_web_client_without_a_secret_is_a_warning(project: Project, owner: Account) -> None:
    make_web_client(project)
    assert warnings_of(owner) == []
    ClientSecret.objects.update(revoked_at=clock.now())
    assert warnings_of(owner) == ["A web app has no secret: nobody can sign in there."]
    Client.objects.update(enabled=False)
    assert warnings_of(owner) == []


def test_requested_changes_are_a_warning(project: Project, owner: Account) -> None:
    status = AppReview.Status.CHANGES_REQUESTED
    AppReview.objects.create(client=make_client(project), number=1, status=status, created_at=clock.now())
    assert warnings_of(owner) == ["A reviewer requested changes."]


def test_a_suspended_project_is_marked(as_viewer: Browser, project: Project) -> None:
    assert "Suspended" not in text_of(as_viewer)
    Project.objects.filter(pk=project.pk).update(suspended_at=clock.now())
    assert ">Suspended</span>" in text_of(as_viewer)


def test_a_deleted_project_is_shown_to_owners_for_its_time(
    as_owner: Browser, as_developer: Browser, as_viewer: Browser, project: Project, owner: Account, later: Later
) -> None:
    lifecycle.delete_project(project, owner)
    assert f"/console/p/{project.public_id}/restore" in text_of(as_owner)
    assert "Permanently deleted" in text_of(as_owner)
    for browser in (as_developer, as_viewer):
        assert "Orbit Notes" not in text_of(browser)
    later(30 * DAY)
    assert "/restore" not in text_of(as_owner)


@pytest.fixture
def invited(outsider: Account, project: Project, owner: Account) -> ProjectInvitation:
    return invitations.invite(project, outsider.email, "developer", owner)


def test_an_invitation_shows_inviter_project_and_role(as_outsider: Browser, invited: ProjectInvitation) -> None:
    text = text_of(as_outsider)
    assert "Invitation to Orbit Notes" in text
    assert "olga@example.com has invited you to work on it as a developer" in text


def test_accepting_makes_a_member(as_outsider: Browser, invited: ProjectInvitation, project: Project) -> None:
    response = as_outsider.post(f"/console/invitations/{invited.pk}", {"decision": "accept", "role": "owner"})
    assert response["Location"] == f"/console/p/{project.public_id}/"
    assert ProjectMember.objects.get(project=project, account__email="otto@example.com").role == Role.DEVELOPER
    assert "You now work on Orbit Notes" in text_of(as_outsider, response["Location"])


def test_declining_makes_nobody_a_member(as_outsider: Browser, invited: ProjectInvitation, project: Project) -> None:
    as_outsider.post(f"/console/invitations/{invited.pk}", {"decision": "decline"})
    assert project.members.count() == 3
    text = text_of(as_outsider)
    assert "The invitation is declined" in text
    assert "You are invited" not in text


def test_an_invitation_is_answered_by_its_person_alone_and_with_a_known_answer(
    as_outsider: Browser, as_viewer: Browser, invited: ProjectInvitation, project: Project
) -> None:
    for decision in ("", "ACCEPT", "accept\x00"):
        answer = as_outsider.post(f"/console/invitations/{invited.pk}", {"decision": decision})
        assert answer.status_code in (302, 400)
    for decision in ("accept", "decline"):
        as_viewer.post(f"/console/invitations/{invited.pk}", {"decision": decision})
    assert ProjectInvitation.objects.get().is_open
    assert project.members.count() == 3
    text_of(as_outsider)
    assert as_outsider.post(f"/console/invitations/{10**30}", {"decision": "accept"}).status_code == 302
    assert "no longer open" in text_of(as_outsider)


def test_the_limit_of_owned_projects_is_shown(
    as_outsider: Browser, outsider: Account, project: Project, owner: Account, settings: Any
) -> None:
    settings.PROJECTS_PER_PERSON = 1
    row = invitations.invite(project, outsider.email, "owner", owner)
    as_outsider.post(f"/console/invitations/{row.pk}", {"decision": "accept"})
    assert "You own 1 projects" in text_of(as_outsider)


def test_fifty_projects_take_ten_statements(
    browser_of: Any, project: Project, owner: Account, django_assert_max_num_queries: Any
) -> None:
    account, person = make_account("many@example.com"), make_account()
    for number in range(50):
        mine = make_project(account, name=f"Project {number}")
        consent.record_consent(person, make_client(mine), ["openid"])
        count_requests(mine, 50 - number)
        if number % 10 == 9:
            make_key(mine, account, expires_at=clock.now() + timedelta(days=3))
            lifecycle.delete_project(make_project(account, name=f"Deleted {number}"), account)
    invitations.invite(project, account.email, "viewer", owner)
    browser = browser_of(account)
    browser.get("/console/")
    with django_assert_max_num_queries(10):
        response = browser.get("/console/")
    text = response.content.decode()
    assert text.count('class="card project-card"') + text.count("/restore") == 50
    older = browser.get("/console/" + response.context["page"].older).content.decode()
    assert older.count('class="card project-card"') + older.count("/restore") == 5
