"""How many people an app has, of how many it may have, and the trend: numbers, nobody's name or id."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client as Browser

from accounts.models import Account, PairwiseSubject
from core import clock
from devportal.console.analytics.store import SignInCount, add_counts
from devportal.console.people import limit_usage, trend_chart
from oidc.authorization import consent
from oidc.clients.registration import delete_client
from oidc.errors import UserCapExceeded
from oidc.models import Client, Connection, Project
from oidc.sign_in_log.steps import Step
from tests.factories import make_account, make_client, make_project

Later = Callable[[float], None]


def text_of(browser: Browser, project: Project, query: str = "") -> str:
    response = browser.get(f"/console/p/{project.public_id}/analytics/people{query}")
    assert response.status_code == 200
    content = response.content.decode().split("<main")[1].split("</main")[0]
    return " ".join(re.sub(r"<[^>]+>", " ", content).split())


def join(client: Client, count: int) -> list[Account]:
    people = [make_account() for _ in range(count)]
    for person in people:
        consent.record_consent(person, client, ["openid"])
    return people


def test_the_page_says_how_many_people_of_how_many_the_project_has(
    as_viewer: Browser, project: Project, owner: Account
) -> None:
    client = make_client(project, name="Starling")
    people = join(client, 3)
    consent.record_consent(owner, client, ["openid"])  # uses it, and is not counted against the limit
    consent.remove_consent(Connection.objects.get(account=people[0]))
    text = text_of(as_viewer, project)
    assert "3 of 100 people" in text
    assert "Starling 3 3 Until review" in text
    assert "Full" not in text


def test_a_person_counts_once_over_all_clients_of_a_project(as_viewer: Browser, project: Project) -> None:
    apps = [make_client(project, name=name) for name in ("Starling", "Wren")]
    (person,) = join(apps[0], 1)
    consent.record_consent(person, apps[1], ["openid"])
    join(apps[1], 1)
    assert "2 of 100 people" in text_of(as_viewer, project)


def test_people_of_a_deleted_client_are_still_shown(as_viewer: Browser, project: Project, owner: Account) -> None:
    client = make_client(project)
    join(client, 2)
    delete_client(client, owner)
    assert "2 of 100 people" in text_of(as_viewer, project)


def test_a_verified_app_has_no_limit(as_viewer: Browser, project: Project, settings: Any) -> None:
    client = make_client(project, name="Starling", verified_at=clock.now())
    settings.UNVERIFIED_APP_PEOPLE = 2
    join(client, 3)
    text = text_of(as_viewer, project)
    assert "Starling 3 3 No limit" in text
    assert "Limit before review" not in text


def test_a_full_project_explains_how_to_lift_the_limit(as_viewer: Browser, project: Project, settings: Any) -> None:
    settings.UNVERIFIED_APP_PEOPLE = 5
    client = make_client(project)
    join(client, 4)
    assert "Nearly full" in text_of(as_viewer, project)
    join(client, 1)
    text = text_of(as_viewer, project)
    assert "5 of 5 people Full" in text
    assert "To lift the limit, submit" in text


def test_the_page_counts_as_the_limit_does(project: Project, owner: Account, settings: Any) -> None:
    """Whatever is shown as full is full for the next person, and nothing else is."""
    settings.UNVERIFIED_APP_PEOPLE = 3
    client = make_client(project)
    consent.record_consent(owner, client, ["openid"])
    people = join(client, 2)
    consent.remove_consent(Connection.objects.get(account=people[0]))
    people[1].delete()
    for is_full in (False, True):
        shown = limit_usage(project)
        assert shown is not None
        assert shown.is_full == is_full
        assert shown.people == (3 if is_full else 2)
        newcomer = make_account()
        if is_full:
            with pytest.raises(UserCapExceeded):
                consent.record_consent(newcomer, client, ["openid"])
        else:
            consent.record_consent(newcomer, client, ["openid"])


def test_another_projects_people_are_not_counted(as_viewer: Browser, project: Project) -> None:
    client = make_client(project, name="Starling")
    other = make_client(make_project(name="Elsewhere"), name="Paperboat")
    join(other, 2)
    text = text_of(as_viewer, project)
    assert "0 of 100 people" in text
    assert "Starling 0 0 Until review" in text
    assert "Paperboat" not in text
    assert trend_chart([client.pk]).is_empty


def test_the_trend_counts_new_people_by_day(as_viewer: Browser, project: Project, later: Later) -> None:
    clients = [make_client(project), make_client(project, name="Starling")]
    keys = [client.pk for client in clients]
    midnight = clock.now().replace(hour=0, minute=0, second=0, microsecond=0)
    for client, ago, step, times in (
        (clients[0], 0, Step.NEW_PERSON, 1), (clients[0], 1, Step.NEW_PERSON, 2), (clients[1], 1, Step.NEW_PERSON, 3),
        (clients[1], 1, Step.RETURNING, 7), (clients[1], 30, Step.NEW_PERSON, 9),
    ):  # fmt: skip
        add_counts([SignInCount(client.pk, midnight - timedelta(days=ago), step, "", times)])
    bars = trend_chart(keys)
    assert len(bars.starts) == 30
    assert list(bars.bands[0].values[-3:]) == [0, 5, 1]
    assert "Show as a table" in text_of(as_viewer, project)
    later(29 * 24 * 3600)
    assert sum(trend_chart(keys).bands[0].values) == 1


def test_many_clients_are_paged(as_viewer: Browser, project: Project) -> None:
    for number in range(60):
        make_client(project, name=f"C{number}.")
    older = as_viewer.get(f"/console/p/{project.public_id}/analytics/people").context["page"].older
    first, second = (re.findall(r"C\d+\.", text_of(as_viewer, project, query)) for query in ("", older))
    assert len(set(first)) == 50
    assert len({*first, *second}) == 60


def test_people_are_not_named(as_owner: Browser, project: Project) -> None:
    people = join(make_client(project), 2)
    content = as_owner.get(f"/console/p/{project.public_id}/analytics/people").content.decode()
    for person in people:
        assert person.email not in content
        assert PairwiseSubject.objects.get(account=person).sub not in content
