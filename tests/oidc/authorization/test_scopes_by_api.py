"""What people read about the scopes of the company's own APIs: grouped by API, with its name."""

from typing import Any

import pytest

from accounts.activity.recording import sentence
from accounts.models import Account, SecurityEvent
from oidc.apis.registry import Registry, reload_registry, use_registry
from oidc.models import Api, Client, Connection
from oidc.receivers import export_connections
from tests import factories
from tests.relying_party import RelyingParty

SENSITIVE = "This access is sensitive."
ASKED = "calendar.write account.read openid email tasks.read offline_access"


@pytest.fixture(autouse=True)
def apis(app: RelyingParty) -> list[Api]:
    Client.objects.filter(pk=app.client.pk).update(approved_scopes="account.read calendar.write")
    names = {"calendar": "Orbit Calendar", "tasks": "Orbit <Tasks>"}
    return [factories.make_api(slug, name=name) for slug, name in names.items()]


def shown(page: Any) -> list[tuple[str, str]]:
    return [(access["api"], access["scope"]) for access in page.context["scope_descriptions"]]


def test_scopes_stand_below_the_name_of_their_api(app: RelyingParty) -> None:
    page = app.authorize(scope=ASKED)
    assert shown(page) == [
        ("", "openid"),
        ("", "email"),
        ("", "offline_access"),
        ("Openport account API", "account.read"),
        ("Orbit Calendar", "calendar.write"),
        ("Orbit <Tasks>", "tasks.read"),
    ]
    text = page.content.decode()
    assert text.count(SENSITIVE) == 1, "calendar.write is sensitive"
    for heading in ("Openport account API", "Orbit Calendar", "Orbit &lt;Tasks&gt;"):
        assert f'<h2 class="api-name">{heading}</h2>' in text


def test_the_page_has_no_headings_without_another_api(app: RelyingParty) -> None:
    page = app.authorize(scope="openid email account.read")
    assert shown(page) == [("", "openid"), ("", "email"), ("", "account.read")]
    assert "api-name" not in page.content.decode()
    assert page.content.decode().count('<ul class="rows">') == 1
    assert SENSITIVE not in page.content.decode()


def test_optional_scopes_are_grouped_as_well(app: RelyingParty) -> None:
    Client.objects.filter(pk=app.client.pk).update(optional_scopes="email calendar.write")
    page = app.authorize(scope="openid email calendar.write")
    optional = [(access["api"], access["scope"]) for access in page.context["optional_scope_descriptions"]]
    assert optional == [("", "email"), ("Orbit Calendar", "calendar.write")]


def test_connected_apps_group_what_the_app_can_do(app: RelyingParty) -> None:
    Client.objects.filter(pk=app.client.pk).update(optional_scopes="tasks.read")
    app.answer_consent(app.authorize(scope=ASKED))
    text = app.browser.get("/account/apps/").content.decode()
    assert "<li>Orbit &lt;Tasks&gt;: See your tasks</li>" in text, "what was not allowed"
    connection = app.client.connections.get()
    text = app.browser.get(f"/account/apps/{connection.pk}/remove").content.decode()
    assert '<h3 class="api-name">Orbit Calendar</h3>' in text


def test_connected_apps_keep_the_scopes_of_an_api_that_is_turned_off(app: RelyingParty, apis: list[Api]) -> None:
    app.answer_consent(app.authorize(scope=ASKED))
    apis[0].enabled = False
    apis[0].save()
    reload_registry()
    assert "Change your calendar" in app.browser.get("/account/apps/").content.decode()


def test_the_activity_names_the_apis(app: RelyingParty) -> None:
    for scope in ("openid calendar.write", "openid calendar.write account.read", "openid tasks.read"):
        app.answer_consent(app.authorize(scope=scope))
    assert [sentence(event) for event in SecurityEvent.objects.filter(kind__startswith="app_").order_by("pk")] == [
        "Orbit Notes was allowed to use the account and Orbit Calendar",
        "Orbit Notes was allowed to see or do more",
        "Orbit Notes was allowed to see or do more in Orbit <Tasks>",
    ]


def test_the_data_export_names_the_apis(app: RelyingParty, person: Account) -> None:
    app.answer_consent(app.authorize(scope=ASKED))
    row = next(iter(export_connections(None, account=person)["connected_apps"]))
    assert row["can"][-2:] == ["Orbit Calendar: Change your calendar", "Orbit <Tasks>: See your tasks"]
    assert row["can"][0] == "Recognize you when you come back"


def test_a_consent_keeps_scopes_that_the_process_does_not_know_yet(app: RelyingParty) -> None:
    tokens = app.tokens(scope="openid tasks.read offline_access")
    use_registry(Registry())  # loaded before the APIs were declared
    app.answer_consent(app.authorize(scope="openid email"))
    reload_registry()
    assert Connection.objects.get().scopes == "openid email offline_access tasks.read"
    assert "tasks.read" in app.refresh(tokens["refresh_token"]).json()["scope"]
