"""The setting of what people may leave out: who may change it, to what, and the audit trail."""

from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.test import Client as Browser

from accounts.models import Account
from core import clock
from oidc.clients.registration import update_client
from oidc.models import Client, Project
from tests.devportal.console.forms import at, trail
from tests.factories import REDIRECT_URI, make_client


@pytest.fixture
def app(project: Project) -> Client:
    return make_client(project)


def save(browser: Browser, client: Client, optional: list[str], **more: Any) -> Any:
    fields = {"name": client.name, "redirect_uris": [REDIRECT_URI], "optional_scopes": optional}
    return browser.post(at("client_settings", client.project, client), fields | more)


def optional_of(client: Client) -> str:
    return str(Client.objects.get(pk=client.pk).optional_scopes)


def test_a_developer_sets_optional_scopes(as_developer: Browser, developer: Account, app: Client) -> None:
    assert save(as_developer, app, ["profile", "email"], post_logout_redirect_uris=app.post_logout_redirect_uris)
    assert optional_of(app) == "email profile"
    (event,) = trail("client.changed")
    assert (event.actor, event.before, event.after) == (
        developer,
        {"optional_scopes": []},
        {"optional_scopes": ["email", "profile"]},
    )
    page = as_developer.get(at("client_settings", app.project, app)).content.decode()
    assert page.count(" checked>") == 2
    save(as_developer, app, [])
    assert optional_of(app) == ""


@pytest.mark.parametrize("scope", ["openid", "account.read", "nonsense", "", "email\x00", "email profile"])
def test_only_available_scopes_except_openid_can_be_optional(as_developer: Browser, app: Client, scope: str) -> None:
    response = save(as_developer, app, ["email", scope])
    assert response.status_code in (200, 400)
    assert optional_of(app) == ""
    assert not trail("client.changed")


def test_approved_scopes_can_be_optional(as_developer: Browser, app: Client) -> None:
    Client.objects.filter(pk=app.pk).update(approved_scopes="account.read")
    save(as_developer, app, ["account.read"])
    assert optional_of(app) == "account.read"


def test_an_approval_that_ended_meanwhile_is_seen_under_the_lock(developer: Account, app: Client) -> None:
    Client.objects.filter(pk=app.pk).update(approved_scopes="account.read")
    app.refresh_from_db()
    Client.objects.filter(pk=app.pk).update(approved_scopes="")
    with pytest.raises(ValidationError, match=r"account\.read"):
        update_client(app, developer, [REDIRECT_URI], [], optional_scopes=["account.read"])


def test_viewers_can_read_optional_scopes_and_outsiders_can_not(
    as_viewer: Browser, as_outsider: Browser, app: Client
) -> None:
    Client.objects.filter(pk=app.pk).update(optional_scopes="profile")
    assert "<code>profile</code>" in as_viewer.get(at("client_settings", app.project, app)).content.decode()
    assert save(as_viewer, app, []).status_code == 403
    assert save(as_outsider, app, []).status_code == 404
    assert optional_of(app) == "profile"


def test_more_rows_for_addresses_keep_what_is_ticked(as_developer: Browser, app: Client) -> None:
    page = save(as_developer, app, ["email"], more="redirect_uris").content.decode()
    assert 'value="email" id="id_optional_scopes_0" checked' in page
    assert optional_of(app) == ""


def test_a_suspended_project_shows_on_its_clients(as_viewer: Browser, app: Client) -> None:
    Project.objects.filter(pk=app.project_id).update(suspended_at=clock.now())
    page = as_viewer.get(at("clients", app.project)).content.decode()
    assert '<span class="badge badge--warn">Suspended</span>' in page
    assert '<span class="badge badge--good">On</span>' not in page
