"""A client's quick start: who sees it, and what it says of this client."""

import html
import re

import pytest
from django.test import Client as Browser
from django.urls import reverse

from devportal.console.quick_start import SUGGESTED_REDIRECT_URI
from devportal.docs.guides.registry import guides_for
from oidc.clients.secrets import create_secret
from oidc.models import Client, Project
from tests.factories import make_client, make_web_client

LOOPBACK = "http://localhost:4711/cb"


def path_of(client: Client, language: str = "") -> str:
    path = reverse("console:quick_start", args=[client.project.public_id, client.client_id])
    return f"{path}?language={language}" if language else path


def text(browser: Browser, client: Client, language: str = "") -> str:
    page = browser.get(path_of(client, language))
    assert page.status_code == 200
    return html.unescape(page.content.decode())


@pytest.fixture
def web(project: Project) -> tuple[Client, str]:
    return make_web_client(project, redirect_uris=f"https://app.example.com/cb {LOOPBACK}")


def test_it_begins_with_the_guides_for_the_type_of_the_client(project: Project, as_owner: Browser) -> None:
    for app_type, named, left_out in (
        ("web", "flask", "react"),
        ("spa", "react", "flask"),
        ("native", "terminal", "go"),
    ):
        client = make_client(project, type=app_type, redirect_uris=LOOPBACK)
        page = text(as_owner, client)
        links = re.findall(r'href="/docs/guides/([a-z-]+)\?client=([^"]+)"', page)
        assert links == [(guide.name, client.client_id) for guide in guides_for(app_type)]
        names = [name for name, _ in links]
        assert named in names
        assert left_out not in names
        assert page.index("/docs/guides/") < page.index("A small program") < page.index('class="steps"')


@pytest.mark.parametrize("language", ["curl", "python", "javascript"])
def test_the_code_has_the_clients_values_but_not_its_secret(
    web: tuple[Client, str], as_owner: Browser, language: str
) -> None:
    client, secret = web
    page = text(as_owner, client, language)
    assert client.client_id in page
    assert LOOPBACK in page
    assert "CLIENT_SECRET" in page
    assert f'<a href="?language={language}" aria-current="page">' in page
    assert secret not in page


@pytest.mark.parametrize("language", ["cobol", "%ff"])
def test_an_unknown_language_shows_the_default_one(web: tuple[Client, str], as_owner: Browser, language: str) -> None:
    answer = as_owner.get(path_of(web[0], language))
    assert answer.status_code in (200, 400)
    if answer.status_code == 200:
        assert "sign_in.py" in answer.content.decode()


def test_without_a_loopback_address_it_says_which_to_add(
    project: Project, as_owner: Browser, as_viewer: Browser
) -> None:
    client = make_client(project, redirect_uris="https://app.example.com/cb")
    page, seen_by_viewer = text(as_owner, client), text(as_viewer, client)
    for said in (page, seen_by_viewer):
        assert "on your own machine" in said
        assert SUGGESTED_REDIRECT_URI in said
    assert "on your own machine" not in text(as_owner, make_client(project, redirect_uris=LOOPBACK))
    assert re.search(r'\?add=http%3A%2F%2Flocalhost[^"]*">Add it under Settings', page)
    assert "Add it under Settings" not in seen_by_viewer


def test_what_a_client_lacks_is_said(project: Project, as_owner: Browser) -> None:
    hints = ("has no secret", "This app is off", "Required sign-in")
    lacking = make_client(project, type="web", redirect_uris=LOOPBACK, enabled=False, least_acr="phr")
    page = text(as_owner, lacking)
    assert [hint for hint in hints if hint in page] == [*hints]
    create_secret(lacking)
    assert "has no secret" not in text(as_owner, lacking)
    page = text(as_owner, make_client(project, redirect_uris=LOOPBACK))
    assert [hint for hint in hints if hint in page] == []


def test_a_hostile_name_or_address_stays_text(project: Project, as_owner: Browser) -> None:
    uri = "http://localhost:3000/'\"<script>alert(1)</script>"
    client = make_client(project, name='<script>alert("x")</script>', redirect_uris=uri, type="native")
    for language in ("curl", "python", "javascript"):
        page = as_owner.get(path_of(client, language)).content.decode()
        assert "<script>alert" not in page
        assert page.count("<script") == page.count("</script>") == page.count("<script src=")


def test_only_members_see_the_quick_start(
    web: tuple[Client, str],
    as_owner: Browser,
    as_developer: Browser,
    as_viewer: Browser,
    as_outsider: Browser,
    client: Browser,
) -> None:
    path = path_of(web[0])
    assert [browser.get(path).status_code for browser in (as_owner, as_developer, as_viewer)] == [200, 200, 200]
    assert as_outsider.get(path).status_code == 404
    assert client.get(path).status_code == 302
    assert as_owner.post(path).status_code == 405
