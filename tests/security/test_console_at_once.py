"""Forms of the console sent several times at once, on PostgreSQL: limits hold, tokens are spent once."""

from typing import Any

import pytest
from django.test import Client as Browser

from api.models import ApiKey
from devportal.console import idempotency
from oidc.models import Client, ClientSecret, Project, ProjectMember
from oidc.projects import lifecycle, members
from tests.at_once import at_once
from tests.devportal.console.forms import at
from tests.factories import REDIRECT_URI, make_account
from tests.security.consoles import Place, make_place

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]
TIMES = 6


@pytest.fixture
def place() -> Place:
    return make_place()


def again(place: Place) -> Browser:
    """Return another browser of the same session."""
    browser = Browser()
    browser.cookies = place.browser.cookies
    browser.raise_request_exception = False
    return browser


def forms(place: Place, same: bool) -> dict[str, tuple[str, list[dict[str, Any]]]]:
    """Return the address and the forms, with one token or with one each, of all that makes something."""
    client = Client.objects.get(project=place.project)
    shared = idempotency.new_token()
    tokens = [{"once": shared if same else idempotency.new_token()} for _ in range(TIMES)]
    new_client = {"name": "Starling", "type": "web", "redirect_uris": REDIRECT_URI}
    return {
        "secret": (at("client_secret_new", place.project, client), tokens),
        "key": (at("key_new", place.project), [token | {"name": "N"} for token in tokens]),
        "client": (at("client_new", place.project), [token | new_client for token in tokens]),
        "project": ("/console/projects/new", [token | {"name": "Lunar"} for token in tokens]),
    }


def counts() -> dict[str, int]:
    return {
        "secret": ClientSecret.objects.filter(revoked_at=None).count(),
        "key": ApiKey.objects.count(),
        "client": Client.objects.count(),
        "project": Project.objects.count(),
    }


@pytest.mark.parametrize("what", ["secret", "key", "client", "project"])
def test_a_form_sent_many_times_at_once_makes_one_thing(what: str, place: Place) -> None:
    url, sent = forms(place, same=True)[what]
    before = counts()[what]
    answers = at_once(TIMES, lambda number: again(place).post(url, sent[number]).status_code)
    assert set(answers) <= {200, 302}
    assert counts()[what] == before + 1


@pytest.mark.parametrize("what", ["secret", "key", "client", "project"])
def test_limits_hold_for_concurrent_requests(what: str, place: Place, settings: Any) -> None:
    before = counts()[what]
    settings.KEYS_PER_PROJECT = settings.CLIENTS_PER_PROJECT = settings.PROJECTS_PER_PERSON = before + 1
    url, sent = forms(place, same=False)[what]
    answers = at_once(TIMES, lambda number: again(place).post(url, sent[number]).status_code)
    assert set(answers) <= {200, 302}
    assert counts()[what] == before + 1


def test_nothing_is_created_in_a_project_that_is_being_deleted(place: Place) -> None:
    made = forms(place, same=False)

    def act(number: int) -> int:
        if number == 3:
            lifecycle.delete_project(place.project, place.owner)
            return 200
        url, sent = made[("key", "client", "secret")[number % 3]]
        return again(place).post(url, sent[number]).status_code

    assert set(at_once(TIMES, act)) <= {200, 302, 404}
    assert not ApiKey.objects.filter(project=place.project, revoked_at=None).exists()


def test_keys_end_with_a_member_who_is_being_removed(place: Place) -> None:
    leaver = make_account()
    row = ProjectMember.objects.create(project=place.project, account=leaver, role=ProjectMember.Role.DEVELOPER)
    browser = Browser()
    browser.force_login(leaver)
    url, sent = forms(place, same=False)["key"]

    def act(number: int) -> int:
        if number == 2:
            members.remove_member(row, place.owner)
            return 200
        mine = again(Place(place.project, leaver, {}, browser))
        return mine.post(url, sent[number]).status_code

    assert set(at_once(TIMES, act)) <= {200, 302, 404}
    assert not ApiKey.objects.filter(owner=leaver, revoked_at=None).exists()
