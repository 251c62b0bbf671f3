"""Whose ids a guide shows: of a client of the reader's own projects, or placeholders."""

import pytest
from django.test import Client as Browser

from accounts.models import Account
from core import clock
from devportal.docs.examples import CLIENT_ID
from devportal.docs.guides.registry import RECEIVE, Guide, groups, guides_for
from devportal.docs.pages import PAGES
from oidc.models import Client, Project
from tests.factories import make_client, make_web_client

pytestmark = pytest.mark.django_db
FLASK = PAGES["guide_flask"].address


def page(browser: Browser, query: str = "") -> str:
    return browser.get(FLASK + query).content.decode()


@pytest.fixture
def web(project: Project) -> Client:
    client, _ = make_web_client(project, name="Garden")
    return client


def test_the_only_client_of_the_type_is_picked(as_viewer: Browser, web: Client) -> None:
    make_client(web.project, name="In the browser")
    shown = page(as_viewer)
    assert f'<option value="{web.client_id}" selected>' in shown
    assert f"&quot;{web.client_id}&quot;" in shown
    assert "In the browser" not in shown
    assert CLIENT_ID in page(as_viewer, "?client=")


def test_with_several_clients_none_is_selected_by_default(as_viewer: Browser, web: Client) -> None:
    other, _ = make_web_client(web.project, name="Office")
    shown = page(as_viewer)
    assert " selected>" not in shown
    assert CLIENT_ID in shown
    shown = page(as_viewer, f"?client={other.client_id}")
    assert f"&quot;{other.client_id}&quot;" in shown
    assert CLIENT_ID not in shown


def test_an_unregistered_url_has_a_link_to_add_it(as_viewer: Browser, web: Client) -> None:
    assert "It is not registered yet: add it" in page(as_viewer)
    assert "?add=http%3A%2F%2Flocalhost%3A3000%2Fcallback" in page(as_viewer)
    assert "?add_sign_out=http%3A%2F%2Flocalhost%3A3000%2F" in page(as_viewer)


def test_clients_of_others_are_neither_listed_nor_selected(as_outsider: Browser, web: Client) -> None:
    for query in ("", f"?client={web.client_id}"):
        shown = page(as_outsider, query)
        assert web.client_id not in shown
        assert "Garden" not in shown
    shown = page(Browser(), f"?client={web.client_id}")
    assert shown.count(web.client_id) == 1  # in the way to sign in and come back here
    assert f"next={FLASK}%3Fclient%3D{web.client_id}" in shown
    assert "Garden" not in shown


def test_clients_of_deleted_projects_are_not_listed(as_owner: Browser, owner: Account, web: Client) -> None:
    Project.objects.update(deleted_at=clock.now())
    assert web.client_id not in page(as_owner, f"?client={web.client_id}")


@pytest.mark.parametrize("guide", groups()[RECEIVE], ids=lambda guide: guide.name)
def test_a_guide_to_receive_events_continues_the_app_of_another(guide: Guide, as_viewer: Browser, web: Client) -> None:
    assert guide.continued is not None
    assert guide.redirect_uri == guide.continued.redirect_uri
    shown = as_viewer.get(PAGES[f"guide_{guide.name}"].address).content.decode()
    assert f'href="/docs/guides/{guide.continues}?client={web.client_id}"' in shown
    assert f"&quot;{web.client_id}&quot;" in shown
    assert guide not in guides_for(guide.app_type)
