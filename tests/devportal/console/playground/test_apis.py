"""The playground with the company's own APIs: their scopes, `resource` in each request, and the token's `aud`."""

import html
from typing import Any

import pytest
from bs4 import BeautifulSoup
from django.conf import settings
from django.test import Client as Browser

from accounts.models import Account
from oidc.apis.registry import reload_registry
from oidc.models import Api, Project
from tests import factories
from tests.devportal.console.playground.playing import Playground, tokens_on
from tests.relying_party import claims_of, sign_in

CALENDAR = "https://calendar.example.com"
TASKS = "https://tasks.example.com"


@pytest.fixture
def apis() -> list[Api]:
    return [factories.make_api("calendar", name="Orbit <Calendar>"), factories.make_api("tasks")]


@pytest.fixture
def spa(project: Project, developer: Account, apis: list[Api]) -> Playground:
    return Playground(factories.make_client(project), sign_in(Browser(), developer)).open()


def arrive(playground: Playground, *scopes: str, **optional: str | list[str]) -> None:
    playground.arrive(playground.sign_in(playground.begin(*scopes, **optional)))


def text(page: Any) -> str:
    return html.unescape(page.content.decode())


def test_scopes_are_grouped_by_api(spa: Playground) -> None:
    page = BeautifulSoup(spa.page().content, "html.parser")
    assert "calendar.write" not in page.get_text(), "it needs a review"
    parts = [part.get_text() for part in page.select("form p.api-name, input[name=scope] + label code")]
    assert parts == ["email", "profile", "offline_access", "Orbit <Calendar>", "calendar.read", "Tasks", "tasks.read"]


def test_an_api_that_is_turned_off_is_not_offered(spa: Playground, apis: list[Api]) -> None:
    apis[0].enabled = False
    apis[0].save()
    reload_registry()
    assert "calendar" not in text(spa.page())
    spa.begin("calendar.read", "tasks.read", resource=[CALENDAR, TASKS])
    assert spa.run["scope"] == "openid tasks.read"
    assert spa.run["resources"] == [TASKS]


def test_the_authorization_request_can_name_several_resources(spa: Playground) -> None:
    url = spa.begin("calendar.read", "tasks.read", resource=[CALENDAR, TASKS, CALENDAR, "https://nobody.example.com"])
    assert url.count("resource=") == 2
    named = [value for name, value, _ in spa.page().context["parameters"] if name == "resource"]
    assert named == [CALENDAR, TASKS]


def test_the_token_is_for_the_api_of_the_exchange(spa: Playground) -> None:
    arrive(spa, "email", "calendar.read", "tasks.read", "offline_access")
    page = spa.exchange(resource=TASKS)
    assert claims_of(tokens_on(page)["access_token"])["aud"] == TASKS
    assert page.context["result"].api.slug == "tasks"
    assert page.context["result"].calls == []
    assert "It opens neither" in text(page)
    assert "The playground calls only" in text(page)
    refreshed = spa.refresh(tokens_on(page)["refresh_token"], resource=CALENDAR)
    assert claims_of(tokens_on(refreshed)["access_token"])["aud"] == CALENDAR
    assert f"resource={CALENDAR}" in text(refreshed)
    assert "<strong>Orbit <Calendar></strong>" in text(refreshed)
    assert b"<strong>Orbit &lt;Calendar&gt;</strong>" in refreshed.content
    last = spa.refresh(tokens_on(refreshed)["refresh_token"])
    assert last.context["result"].api.is_own
    assert last.context["result"].api.identifier == settings.BASE_URL
    assert [call.status for call in last.context["result"].calls] == [200]


def test_a_resource_that_was_not_granted_is_refused_and_explained(spa: Playground) -> None:
    arrive(spa, "calendar.read")
    page = spa.exchange(resource=TASKS)
    assert page.context["result"].exchange.error == "invalid_target"
    assert page.context["exchange_help"]
    assert tokens_on(spa.exchange())["scope"] == "calendar.read", "the code still works"


def test_a_resource_without_a_scope_of_it_is_refused_and_explained(spa: Playground) -> None:
    arrive(spa, "calendar.read", resource=[TASKS])
    page = spa.page()
    assert page.context["run"].error == "invalid_target"
    assert page.context["help"]


@pytest.mark.parametrize("resource", ["https://nobody.example.com", "calendar", "x" * 5000])
def test_a_resource_that_the_page_does_not_offer_is_left_out(spa: Playground, resource: str) -> None:
    arrive(spa, "calendar.read")
    assert "resource" not in spa.exchange(resource=resource).context["result"].exchange.form
