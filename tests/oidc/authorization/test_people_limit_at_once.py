"""Many people at once at the apps of one project, on PostgreSQL: its limit of people is exact."""

from typing import Any

import pytest

from oidc.authorization import consent
from oidc.clients.registration import delete_client
from oidc.errors import UserCapExceeded
from oidc.models import Client, Project, ProjectMember
from oidc.projects.people import people_counted
from oidc.projects.roles import Gone
from tests.at_once import at_once
from tests.factories import REDIRECT_URI, as_reviewed, make_account, make_client, make_project

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]

OUTSIDE = "https://elsewhere.test/callback"


@pytest.fixture
def project(settings: Any) -> Project:
    settings.UNVERIFIED_APP_PEOPLE = 3
    return make_project()


def test_one_free_place_is_given_once_across_all_apps_of_a_project(project: Project) -> None:
    reviewed = make_client(project, name="Reviewed", redirect_uris=f"{REDIRECT_URI} {OUTSIDE}", **as_reviewed())
    apps = [reviewed, *(make_client(project, name=f"App {n}") for n in range(4))]
    for number in range(2):
        consent.record_consent(make_account(f"early{number}@example.com"), apps[number + 1], ["openid"])
    people = [make_account(f"late{number}@example.com") for number in range(12)]

    def authorize(number: int) -> str:
        app = Client.objects.select_related("project").get(pk=apps[number % len(apps)].pk)
        try:
            consent.record_consent(people[number], app, ["openid"], redirect_uri=OUTSIDE if app.is_verified else "")
        except UserCapExceeded:
            return "full"
        return "in"

    answers = at_once(len(people), authorize)
    assert answers.count("in") == 1
    assert people_counted(project) == 3


def test_deleting_a_client_during_sign_ins_frees_no_place(project: Project) -> None:
    owner = ProjectMember.objects.get(project=project).account
    apps = [make_client(project, name=f"App {n}") for n in range(4)]
    people = [make_account(f"late{number}@example.com") for number in range(12)]

    def act(number: int) -> str:
        app = Client.objects.select_related("project").get(pk=apps[number % len(apps)].pk)
        if number >= len(people):
            delete_client(app, owner)
            return "deleted"
        try:
            consent.record_consent(people[number], app, ["openid"])
        except (UserCapExceeded, Gone):
            return "full"
        return "in"

    answers = at_once(len(people) + 2, lambda number: act((number + len(people)) % (len(people) + 2)))
    assert answers.count("in") == people_counted(project) <= 3
