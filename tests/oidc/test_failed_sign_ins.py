"""The pages that end a sign-in, as the app's own developers see them; and as everyone else does."""

import html
import re
from string import printable, whitespace
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlsplit

import pytest
from django.db import connection
from django.test import Client as Browser
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from accounts.models import Account
from oidc.clients.registration import delete_client
from oidc.models import Client, Project, ProjectMember
from tests.factories import PASSWORD, REDIRECT_URI, make_account
from tests.relying_party import RelyingParty

MINE = "You work on this app"
OTHER = "https://app.example.com/other?token=hidden-value"


def text_of(response: Any) -> str:
    return str(response.content.decode())


def test_another_redirect_url(app: RelyingParty, member: Account) -> None:
    sent = "https://app.example.com/callbook"
    page = text_of(app.authorize(redirect_uri=sent))
    assert MINE in page
    assert "https://app.example.com/callb<mark>ook</mark>" in page
    assert "<mark>ack</mark>" in page
    assert "add=https%3A%2F%2Fapp.example.com%2Fcallbook" in page
    assert f"/clients/{app.client.client_id}/activity?request_id=" in page
    assert f'href="{sent}"' not in page


@pytest.mark.parametrize("registered", ["http://localhost:3000/callback", "https://app.example.com/callback", ""])
def test_a_foreign_host_is_warned_of(app: RelyingParty, member: Account, registered: str) -> None:
    Client.objects.update(redirect_uris=registered)
    warning = "The host app.evil.test has nothing in common"
    assert warning in text_of(app.authorize(redirect_uri="https://app.evil.test/callback"))
    ProjectMember.objects.update(role="viewer")
    assert warning not in text_of(app.authorize(redirect_uri="https://app.evil.test/callback"))


def test_possible_secrets_are_left_out(app: RelyingParty, member: Account) -> None:
    page = text_of(app.authorize(redirect_uri=OTHER))
    assert "hidden-value" not in page
    assert "[removed]" in page
    assert "add=" not in page


@pytest.mark.parametrize("changes", [{"redirect_uri": OTHER}, {"client_id": "op_client_" + "x" * 22}])
def test_people_outside_the_project_get_only_the_documentation_link(app: RelyingParty, changes: dict[str, str]) -> None:
    ProjectMember.objects.all().delete()
    page = text_of(app.authorize(**changes))
    assert MINE not in page
    assert "/docs/errors#page-" in page
    assert "https://app.example.com/callback" not in page


def test_anonymous_requests_need_no_more_queries(app: RelyingParty) -> None:
    query = {"client_id": app.client.client_id, "redirect_uri": OTHER}
    with CaptureQueriesContext(connection) as queries:
        page = text_of(Browser().get("/connect/authorize", query))
    assert MINE not in page
    assert not [each for each in queries if "projectmember" in each["sql"] or "session" in each["sql"]]


@pytest.mark.parametrize("off", [False, True])
def test_a_signed_out_developer_signs_in_and_gets_the_comparison(app: RelyingParty, member: Account, off: bool) -> None:
    Client.objects.update(enabled=not off)
    browser = Browser()
    RelyingParty(app.client, browser).authorize()  # another request of this browser, which stays pending
    sent = REDIRECT_URI if off else "https://app.example.com/callbook"
    query = {"client_id": app.client.client_id, "redirect_uri": sent}
    page = text_of(browser.get("/connect/authorize", query))
    assert MINE not in page
    assert "<mark>" not in page
    (link,) = re.findall(r'href="(/account/login[^"]*)"', page)
    following = parse_qs(urlsplit(html.unescape(link)).query)["next"][0]
    assert urlsplit(following)[:3] == ("", "", "/connect/authorize")
    assert dict(parse_qsl(urlsplit(following).query)) == query
    response = browser.post(html.unescape(link), {"login": member.email, "password": PASSWORD})
    assert response["Location"] == following
    page = text_of(browser.get(following))
    assert MINE in page
    assert ("<mark>" in page) is not off
    assert "sign in to see" not in page
    assert (
        browser.get("/connect/resume")["Location"].startswith(f"{reverse('authorize')}?response_type=code") is not off
    )


@pytest.mark.parametrize(
    "query", ["next=https://evil.test/", "redirect_uri=//evil.test", "a=%0d%0ab", "/../../", '"><b>', "x" * 3000]
)
def test_the_way_to_sign_in_leads_back_to_the_page_only(db: None, query: str) -> None:
    page = text_of(Browser().get(f"/connect/authorize?client_id=op_client_{'x' * 22}&{query}"))
    links = [html.unescape(link) for link in re.findall(r'href="(/account/login[^"]*)"', page)]
    targets = [parse_qs(urlsplit(link).query)["next"][0] for link in links]
    assert len(targets) == (0 if len(query) == 3000 else 1)
    assert all(target.startswith("/connect/authorize?client_id=op_client_") for target in targets)
    assert all(set(target) <= set(printable) - set(whitespace) for target in targets)


def test_a_members_page_is_within_its_budget(app: RelyingParty, member: Account) -> None:
    with CaptureQueriesContext(connection) as queries:
        app.authorize(redirect_uri=OTHER)
    assert len(queries) <= 12


def test_an_id_that_differs_by_case(app: RelyingParty, member: Account) -> None:
    page = text_of(app.authorize(client_id=app.client.client_id.upper()))
    assert "only in case or in spaces" in page
    assert app.client.client_id in page


def test_an_id_of_a_deleted_client(app: RelyingParty, member: Account) -> None:
    client_id = app.client.client_id
    delete_client(app.client, member)
    assert "was deleted on" in text_of(app.authorize(client_id=client_id))


def test_other_peoples_clients_are_not_named(app: RelyingParty) -> None:
    client_id = app.client.client_id
    stranger = make_account("stranger@example.com")
    browser = Browser()
    browser.force_login(stranger)
    assert browser.get("/account/").status_code == 200
    for sent in (client_id.upper(), f"{client_id} "):
        page = text_of(browser.get("/connect/authorize", {"client_id": sent}))
        assert client_id not in page
        assert MINE not in page
    delete_client(app.client, stranger)
    assert MINE not in text_of(browser.get("/connect/authorize", {"client_id": client_id}))


def test_an_app_that_is_off(app: RelyingParty, member: Account) -> None:
    Client.objects.update(enabled=False)
    page = text_of(app.authorize())
    assert "Turn the app on" in page
    assert "#switch" in page
    Project.objects.update(suspended_at="2026-01-01T00:00Z")
    assert "The project is suspended." in text_of(app.authorize())
    Client.objects.update(enabled=True)
    assert "Turn the app on" not in text_of(app.authorize())


def test_viewers_get_no_link_to_actions_that_they_can_not_do(app: RelyingParty, member: Account) -> None:
    ProjectMember.objects.update(role="viewer")
    page = text_of(app.authorize(redirect_uri="https://app.example.com/other"))
    assert MINE in page
    assert "add=" not in page
    Client.objects.update(enabled=False)
    page = text_of(app.authorize())
    assert "The app is turned off." in page
    assert "#switch" not in page


def test_a_deleted_project_shows_no_details(app: RelyingParty, member: Account) -> None:
    client_id = app.client.client_id
    delete_client(app.client, member)
    Project.objects.update(deleted_at="2026-01-01T00:00Z")
    assert MINE not in text_of(app.authorize(client_id=client_id))
