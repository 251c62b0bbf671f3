"""Making a project, its overview, and its settings: name, handing over, leaving, deleting, restoring."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db.models import signals
from django.test import Client as Browser

from accounts.models import Account
from api.models import UsageTotal
from core import clock
from devportal.console import idempotency
from devportal.console.analytics.store import SignInCount, add_counts
from devportal.console.models import AuditEvent
from devportal.review.models import AppReview
from oidc.authorization import consent
from oidc.models import Client, Project, ProjectMember
from oidc.projects import lifecycle
from tests.factories import make_account, make_client

Role = ProjectMember.Role
Later = Callable[[float], None]
DAY = 24 * 3600

# Every one of them is refused with a sentence beside the field, and stored nowhere.
HOSTILE_NAMES = ["", "x" * 101, "0penp0rt Notes", "a\nb"]


def text_of(response: Any) -> str:
    assert response.status_code == 200
    return " ".join(response.content.decode().split())


def make(browser: Browser, name: str, **more: str) -> Any:
    return browser.post("/console/projects/new", {"name": name, "once": idempotency.new_token()} | more)


def test_creating_a_project_leads_to_its_overview(as_outsider: Browser, outsider: Account) -> None:
    response = make(as_outsider, "  Lunar Notes ")
    project = Project.objects.get(name="Lunar Notes")
    assert response["Location"] == f"/console/p/{project.public_id}/"
    assert ProjectMember.objects.get(project=project, account=outsider).role == Role.OWNER
    assert "Lunar Notes is created" in text_of(as_outsider.get(response["Location"]))


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_a_hostile_name_is_refused_beside_the_field(as_outsider: Browser, name: str) -> None:
    before = Project.objects.count()
    response = make(as_outsider, name)
    assert 'class="addresses__error"' in text_of(response)
    assert Project.objects.count() == before


def test_the_limit_of_owned_projects_is_shown(as_outsider: Browser, settings: Any) -> None:
    settings.PROJECTS_PER_PERSON = 1
    assert "You own 1 projects" in text_of(make(as_outsider, "Lunar Notes"))


def overview_of(browser: Browser, project: Project) -> str:
    return text_of(browser.get(f"/console/p/{project.public_id}/"))


def test_the_checklist_ticks_itself_until_its_steps_are_done(as_owner: Browser, project: Project) -> None:
    def done() -> int:
        return overview_of(as_owner, project).count("checklist__step--done")

    assert done() == 0
    client = make_client(project)
    assert done() == 1
    consent.record_consent(make_account(), client, ["openid"])
    assert done() == 2
    UsageTotal.objects.create(project=project, hour=clock.now(), endpoint="/v1/me", status=200, count=1)
    assert done() == 3
    Client.objects.update(verified_at=clock.now())
    assert "checklist" not in overview_of(as_owner, project)


def test_the_checklist_ends_with_the_first_days_once_someone_has_signed_in(
    as_owner: Browser, project: Project, later: Later
) -> None:
    client = make_client(project)
    later(15 * DAY)
    assert "checklist" in overview_of(as_owner, project)
    consent.record_consent(make_account(), client, ["openid"])
    assert "checklist" not in overview_of(as_owner, project)


@pytest.fixture
def still(monkeypatch: pytest.MonkeyPatch) -> datetime:
    """Stop the service's clock, so that no hour and no day ends during the test. Returns its time."""
    moment = clock.now()
    monkeypatch.setattr(clock, "now", lambda: moment)
    return moment


def test_the_overview_compares_two_weeks_with_the_two_before(
    as_owner: Browser, project: Project, still: datetime
) -> None:
    client = make_client(project, name="Starling")
    consent.record_consent(make_account(), client, ["openid"])
    today = still.replace(hour=0, minute=0, second=0, microsecond=0)
    counted = {"exchanged": ((0, 7), (13, 30), (14, 99), (15, 20), (28, 5000)), "refused": ((1, 3),)}
    add_counts(
        SignInCount(client.pk, today - timedelta(days=ago), step, "", count)
        for step, rows in counted.items()
        for ago, count in rows
    )
    for ago, status, count in ((0, 200, 50), (2, 200, 90), (2, 404, 10), (16, 200, 200)):
        hour = today - timedelta(days=ago)
        UsageTotal.objects.create(project=project, hour=hour, endpoint="/v1/me", status=status, count=count)
    response = as_owner.get(f"/console/p/{project.public_id}/")
    sign_ins, requests = response.context["trends"]
    # Today has not ended, so the change leaves it out, and the day two weeks before it too.
    assert (sign_ins.value, sign_ins.change, sign_ins.errors) == (37, "+50 %", 3)
    assert (requests.value, requests.change, requests.errors) == (150, "-50 %", 10)
    assert [len(trend.chart.starts) for trend in (sign_ins, requests)] == [14, 14]
    text = text_of(response)
    assert "step=any_refusal" in sign_ins.errors_url
    assert "of 100 until review" in text
    assert "Submit Starling for review" in text


def test_the_overview_compares_requests_only_with_counts_that_are_kept(
    as_owner: Browser, project: Project, settings: Any
) -> None:
    for ago, count in ((2, 100), (16, 50)):
        hour = clock.now() - timedelta(days=ago)
        UsageTotal.objects.create(project=project, hour=hour, endpoint="/v1/me", status=200, count=count)
    for days, change in ((28, "+100 %"), (27, "")):
        settings.USAGE_DAYS = days
        _, requests = as_owner.get(f"/console/p/{project.public_id}/").context["trends"]
        assert (requests.value, requests.change) == (100, change)


def test_the_overview_does_not_load_all_apps(as_viewer: Browser, project: Project) -> None:
    clients = [make_client(project) for _ in range(12)]
    consent.record_consent(make_account(), clients[0], ["openid"])
    loaded: list[Client] = []

    def note(sender: Any, instance: Client, **rest: Any) -> None:
        loaded.append(instance)

    signals.post_init.connect(note, sender=Client)
    try:
        response = as_viewer.get(f"/console/p/{project.public_id}/")
    finally:
        signals.post_init.disconnect(note, sender=Client)
    assert [row.client for row in response.context["apps"]] == clients[:1:-1]
    assert len(loaded) == 11, "the ten newest apps, and the one to submit for review"


def test_the_overview_offers_the_oldest_app_that_needs_a_review(
    as_owner: Browser, as_viewer: Browser, project: Project
) -> None:
    off, reviewed, submitted, first, _ = (make_client(project, name=name) for name in ("A", "B", "C", "D", "E"))
    Client.objects.filter(pk=off.pk).update(enabled=False)
    Client.objects.filter(pk=reviewed.pk).update(verified_at=clock.now())
    AppReview.objects.create(
        client=submitted, number=1, created_at=clock.now(), snapshot={}, status=AppReview.Status.SUBMITTED
    )
    consent.record_consent(make_account(), first, ["openid"])
    assert "Submit D for review" in text_of(as_owner.get(f"/console/p/{project.public_id}/"))
    assert "Submit D for review" not in text_of(as_viewer.get(f"/console/p/{project.public_id}/"))


def test_the_overview_lists_the_apps_with_their_day(as_viewer: Browser, project: Project, still: datetime) -> None:
    client, other = make_client(project, name="Starling"), make_client(project, name="Wren")
    hour = still.replace(minute=0, second=0, microsecond=0)
    add_counts(
        [
            SignInCount(client.pk, hour, "exchanged", "", 4),
            SignInCount(client.pk, hour - timedelta(hours=23), "turned_away", "invalid_request", 2),
            SignInCount(client.pk, hour - timedelta(hours=24), "exchanged", "", 100),
        ]
    )
    rows = as_viewer.get(f"/console/p/{project.public_id}/").context["apps"]
    assert [(row.client, row.signed_in, row.refused, bool(row.refused_url)) for row in rows] == [
        (other, 0, 0, False),
        (client, 4, 2, True),
    ]


def test_viewers_get_no_links_to_forbidden_actions(as_viewer: Browser, project: Project) -> None:
    text = overview_of(as_viewer, project)
    assert "clients/new" not in text
    assert "You: viewer" in text


def settings_of(project: Project) -> str:
    return f"/console/p/{project.public_id}/settings"


def test_owners_can_rename(as_owner: Browser, project: Project, owner: Account) -> None:
    assert as_owner.post(settings_of(project), {"name": "Lunar Notes"}).status_code == 302
    assert Project.objects.get(pk=project.pk).name == "Lunar Notes"
    event = AuditEvent.objects.get(action="project.renamed")
    assert (event.actor, event.before, event.after) == (owner, {"name": "Orbit Notes"}, {"name": "Lunar Notes"})
    assert "The name is saved" in text_of(as_owner.get(settings_of(project)))


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_a_hostile_name_renames_nothing(as_owner: Browser, project: Project, name: str) -> None:
    response = as_owner.post(settings_of(project), {"name": name})
    assert response.status_code in (200, 400)
    assert Project.objects.get(pk=project.pk).name == "Orbit Notes"


def test_a_name_that_is_older_than_a_rule_can_be_saved_again(as_owner: Browser, project: Project) -> None:
    Project.objects.filter(pk=project.pk).update(name="Support")
    assert 'data-saved-name="Support"' in text_of(as_owner.get(settings_of(project)))
    assert as_owner.post(settings_of(project), {"name": "Support"}).status_code == 302
    assert "looks as if it came from Openport" in text_of(as_owner.post(settings_of(project), {"name": "Help"}))
    assert Project.objects.get(pk=project.pk).name == "Support"


def role_in(project: Project, account: Account) -> str:
    return ProjectMember.objects.get(project=project, account=account).role


def test_an_owner_transfers_the_project_and_stays_as_a_developer(
    as_owner: Browser, project: Project, owner: Account, viewer: Account
) -> None:
    url = f"/console/p/{project.public_id}/transfer"
    to = ProjectMember.objects.get(project=project, account=viewer)
    assert "vera@example.com" in text_of(as_owner.get(url))
    assert as_owner.post(url, {"to": to.pk}).status_code == 302
    assert (role_in(project, owner), role_in(project, viewer)) == (Role.DEVELOPER, Role.OWNER)
    assert as_owner.get(url).status_code == 403


def test_a_project_is_handed_over_to_members_only(
    as_owner: Browser, project: Project, owner: Account, outsider: Account
) -> None:
    stranger = ProjectMember.objects.get(account=outsider)
    own = ProjectMember.objects.get(project=project, account=owner)
    for to in ("", "x", 2**70, stranger.pk, own.pk):
        text = text_of(as_owner.post(f"/console/p/{project.public_id}/transfer", {"to": to}))
        assert "Choose" in text, to
        assert role_in(project, owner) == Role.OWNER
    assert ProjectMember.objects.get(account=outsider).project != project


def test_a_developer_leaves(as_developer: Browser, project: Project, developer: Account) -> None:
    url = f"/console/p/{project.public_id}/leave"
    assert "Your API keys in it are revoked" in text_of(as_developer.get(url))
    assert as_developer.post(url)["Location"] == "/console/"
    assert not ProjectMember.objects.filter(project=project, account=developer).exists()
    assert "You have left Orbit Notes" in text_of(as_developer.get("/console/"))
    assert as_developer.get(url).status_code == 404


def test_the_only_owner_sees_what_to_do_first(as_owner: Browser, project: Project, owner: Account) -> None:
    url = f"/console/p/{project.public_id}/leave"
    assert "You are its only owner" in text_of(as_owner.get(url))
    response = as_owner.post(url, follow=True)
    assert "A project needs an owner" in text_of(response)
    assert role_in(project, owner) == Role.OWNER


@pytest.mark.parametrize("typed", ["", "orbit notes", "Orbit Notes!"])
def test_without_the_name_nothing_is_deleted(as_owner: Browser, project: Project, typed: str) -> None:
    response = as_owner.post(f"/console/p/{project.public_id}/delete", {"typed": typed})
    assert response.status_code in (200, 400)
    assert not Project.objects.get(pk=project.pk).is_deleted


def test_a_deleted_project_has_no_page_but_home_and_comes_back(
    as_owner: Browser, as_viewer: Browser, project: Project
) -> None:
    url = f"/console/p/{project.public_id}/"
    client = make_client(project)
    response = as_owner.post(url + "delete", {"typed": "Orbit Notes"})
    assert response["Location"] == "/console/"
    assert "Orbit Notes is deleted" in text_of(as_owner.get("/console/"))
    below = ("settings", "team", "team/activity", "analytics/people", "delete", "transfer", "leave", "clients", "keys")
    for page in ("", *below, f"clients/{client.client_id}/"):
        assert as_owner.get(url + page).status_code == 404, page
    assert as_viewer.post(url + "restore").status_code == 404
    assert as_owner.post(url + "restore")["Location"] == url
    assert "Orbit Notes is restored" in text_of(as_owner.get(url))
    assert as_viewer.get(url).status_code == 200


def test_only_an_owner_restores_a_deleted_project_and_only_in_time(
    as_owner: Browser, as_outsider: Browser, project: Project, owner: Account, later: Later
) -> None:
    url = f"/console/p/{project.public_id}/restore"
    assert as_owner.post(url).status_code == 302, "it exists"
    assert not AuditEvent.objects.filter(action="project.restored").exists()
    lifecycle.delete_project(project, owner)
    assert as_outsider.post(url).status_code == 404
    later(31 * DAY)
    assert as_owner.post(url)["Location"] == "/console/"
    assert Project.objects.get(pk=project.pk).is_deleted


def test_the_pages_of_a_suspended_project_show_a_note(as_viewer: Browser, project: Project) -> None:
    Project.objects.filter(pk=project.pk).update(suspended_at=clock.now())
    assert "This project is suspended" in text_of(as_viewer.get(f"/console/p/{project.public_id}/"))
