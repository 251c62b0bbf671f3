"""The menus of the console's pages."""

from bs4 import BeautifulSoup
from django.test import Client as Browser

from devportal.console import urls
from devportal.console.navigation import CLIENT_PAGES, PROJECT_PAGES
from oidc.models import Project
from tests.devportal.console.forms import at
from tests.factories import make_client, make_web_client


def links(browser: Browser, url: str, menu: str) -> dict[str, str]:
    """Return the links of a menu by label, with their `aria-current`."""
    soup = BeautifulSoup(browser.get(url).content, "html.parser")
    return {link.get_text(strip=True): str(link.get("aria-current", "")) for link in soup.select(f"{menu} li a")}


def test_every_url_name_of_the_pages_exists() -> None:
    of_clients = {pattern.name for pattern in urls.client_pages}
    of_projects = {getattr(pattern, "name", None) for pattern in urls.project_pages}
    for pages, known in ((PROJECT_PAGES, of_projects), (CLIENT_PAGES, of_clients)):
        assert {name for page in pages for name in (page.url_name, *page.below.split())} <= known


def test_the_current_page_and_the_one_above_it_are_marked(as_owner: Browser, project: Project) -> None:
    client, _ = make_web_client(project)
    secret = at("client_secret_rotate", project, client, secret_id=client.secrets.get().pk)
    for url, menu, marked in (
        (at("keys", project), ".side-nav", {"API keys": "page"}),
        (at("key_new", project), ".side-nav", {"API keys": "true"}),
        (at("client_secrets", project, client), ".tabs", {"Secrets": "page"}),
        (secret, ".tabs", {"Secrets": "true"}),
        (secret, ".side-nav", {"Clients": "true"}),
    ):
        assert {label: mark for label, mark in links(as_owner, url, menu).items() if mark} == marked, url


def test_menus_list_what_the_role_may_open(as_owner: Browser, as_viewer: Browser, project: Project) -> None:
    client = make_client(project)
    url = at("client_settings", project, client)
    assert "Playground" in links(as_owner, url, ".tabs")
    assert "Playground" not in links(as_viewer, url, ".tabs")
    assert "Secrets" in links(as_viewer, url, ".tabs")
