"""The link to the console in the header: for people with a project, and for those who came as developers."""

import pytest
from django.test import Client as Browser

from accounts.models import Account
from tests.factories import make_project
from tests.relying_party import sign_in

pytestmark = pytest.mark.django_db
LINK = ">Console</a>"


def has_link(browser: Browser) -> bool:
    return LINK in browser.get("/account/").content.decode()


def test_people_without_a_project_have_no_link(signed_in: Browser) -> None:
    assert not has_link(signed_in)


def test_members_of_a_project_have_it(client: Browser, person: Account) -> None:
    make_project(person)
    assert has_link(sign_in(client, person))


def test_people_who_open_the_console_have_it_from_then_on(signed_in: Browser) -> None:
    assert LINK in signed_in.get("/console/").content.decode()
    assert has_link(signed_in)


def test_strangers_at_the_console_are_not_developers(client: Browser) -> None:
    client.get("/console/")
    assert "developer" not in client.session
