"""Addresses that take a form alone: opened by GET they say so, and nobody is sent there after signing in."""

from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client as Browser
from django.urls import resolve, reverse

from accounts.models import Account
from core.http.direct_dispatch import is_direct
from oidc.models import Client
from tests.factories import make_client, make_project
from tests.relying_party import sign_in
from tests.urls import every_url

ALL = {url.example: resolve(url.example).func for url in every_url()}
POST_ONLY = sorted(path for path, view in ALL.items() if hasattr(view, "form_at"))


def test_there_are_such_addresses() -> None:
    assert len(ALL) > 100
    assert len(POST_ONLY) > 12


@pytest.mark.parametrize("path", POST_ONLY)
def test_a_form_s_address_has_a_page(path: str, signed_in: Browser) -> None:
    response = signed_in.get(path)
    assert response.status_code == 405
    assert response["Allow"] == "POST"
    page = response.content.decode()
    assert "Go to the page with the form" in page
    assert f'href="{path}"' not in page


@pytest.mark.parametrize("method", ["get", "post"])
@pytest.mark.parametrize("path", POST_ONLY)
def test_signing_in_leads_to_the_page_with_the_form(path: str, method: str, db: None) -> None:
    response = getattr(Browser(), method)(path)
    assert response.status_code == 302
    (following,) = parse_qs(urlsplit(response["Location"]).query)["next"]
    assert following not in POST_ONLY
    assert path.startswith(following.rstrip("/")) or following.startswith("/console/")


def test_every_url_answers(signed_in: Browser) -> None:
    """A method that it does not take, at every address of people and staff. test_crawl.py opens all by GET."""
    blank = []
    for path in ALL:
        response = signed_in.delete(path)
        assert response.status_code != 500, path
        if response.status_code == 405 and not response.content and not is_direct(path):
            blank.append(path)
    assert blank == []


def test_a_page_to_read_says_that_it_takes_no_form(client: Browser) -> None:
    response = client.post("/docs/search", {"q": "x"})
    page = response.content.decode()
    assert response.status_code == 405
    assert "you can’t send a form to it" in page
    assert "with the form" not in page
    assert 'href="/docs/search"' in page


def test_a_session_that_ended_beneath_an_open_form(person: Account) -> None:
    client: Client = make_client(make_project(person))
    browser = sign_in(Browser(), person)
    switch = reverse("console:client_switch", args=[client.project.public_id, client.client_id])
    browser.cookies.clear()
    away = browser.post(switch, {"enabled": "off"})
    (following,) = parse_qs(urlsplit(away["Location"]).query)["next"]
    assert following == reverse("console:client_settings", args=[client.project.public_id, client.client_id])
    assert sign_in(Browser(), person).get(following).status_code == 200
    client.refresh_from_db()
    assert client.enabled


@pytest.mark.parametrize(
    ("name", "words", "page", "of"),
    [
        ("console:invitation_renew", ["x", 1], "console:members", ["x"]),
        ("console:project_restore", ["x"], "console:home", []),
        ("console:domain_check", ["x", 1], "console:domains", ["x"]),
        ("console:client_secret_new", ["x", "y"], "console:client_settings", ["x", "y"]),
        ("account_session_end", [1], "usersessions_list", []),
    ],
)
def test_where_the_form_is(name: str, words: list[Any], page: str, of: list[Any], signed_in: Browser) -> None:
    assert f'href="{reverse(page, args=of)}"' in signed_in.get(reverse(name, args=words)).content.decode()


def test_programs_get_no_page(signed_in: Browser) -> None:
    answer = signed_in.get(reverse("console:check_name"), headers={"Accept": "application/json"})
    assert (answer.status_code, answer.content) == (405, b"")
    assert Browser().get("/connect/token").json()["error"] == "invalid_request"
