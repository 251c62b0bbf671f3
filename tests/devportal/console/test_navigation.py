"""The menus of the console's pages."""

from bs4 import BeautifulSoup
from django.test import Client as Browser

from oidc.models import Project
from tests.devportal.console.forms import at
from tests.factories import make_client, make_web_client


def links(browser: Browser, url: str, menu: str) -> dict[str, str]:
    """Return the links of a menu by label, with their `aria-current`."""
    soup = BeautifulSoup(browser.get(url).content, "html.parser")
    return {
        " ".join(link.get_text().split()): str(link.get("aria-current", "")) for link in soup.select(f"{menu} li a")
    }


def test_the_current_page_and_the_one_above_it_are_marked(as_owner: Browser, project: Project) -> None:
    client, _ = make_web_client(project)
    secret = at("client_secret_rotate", project, client, secret_id=client.secrets.get().pk)
    for url, menu, marked in (
        (at("keys", project), ".side-nav", {"API keys": "page"}),
        (at("key_new", project), ".side-nav", {"API keys": "true"}),
        (at("client_settings", project, client), ".tabs", {"Settings": "page"}),
        (secret, ".tabs", {"Settings": "true"}),
        (secret, ".side-nav", {"Apps": "true"}),
    ):
        assert {label: mark for label, mark in links(as_owner, url, menu).items() if mark} == marked, url


def test_a_project_and_an_app_have_these_pages(as_owner: Browser, project: Project) -> None:
    assert list(links(as_owner, at("project", project), ".side-nav")) == [
        "Overview", "Apps", "API keys", "Analytics", "Logs", "Team", "Domains", "Settings",
    ]  # fmt: skip
    assert list(links(as_owner, at("client_settings", project, make_client(project)), ".tabs")) == [
        "Quick start", "Settings", "Events", "Activity", "Playground", "Branding", "Review",
    ]  # fmt: skip


def test_views_of_one_page_share_a_menu_entry(as_owner: Browser, project: Project) -> None:
    client = make_client(project)
    for url, menu, entry, views in (
        (at("requests", project), ".side-nav", "Logs", {"Sign-ins": "", "Requests": "page", "Deliveries": ""}),
        (at("usage", project), ".side-nav", "Analytics", {"Usage": "page", "Sign-ins": "", "People": ""}),
        (at("activity", project), ".side-nav", "Team", {"Members": "", "Activity": "page"}),
        (at("client_analytics", project, client), "[aria-label^=App]", "Activity", {"Log": "", "Analytics": "page"}),
    ):
        assert links(as_owner, url, ".views") == views
        first = next(iter(views.values()))
        assert {label: mark for label, mark in links(as_owner, url, menu).items() if mark} == {entry: first or "true"}


def test_breadcrumbs_name_the_kind_and_the_current_page(as_owner: Browser, project: Project) -> None:
    client = make_client(project, name="Notes")
    trail = links(as_owner, at("client_analytics", project, client), ".trail")
    of_project = f"Project {project.name}"
    assert list(trail) == ["Projects", of_project, "App Notes", "Activity", "Analytics"]
    assert trail["Analytics"] == "page"
    assert list(links(as_owner, at("key_new", project), ".trail")) == [
        "Projects", of_project, "API keys", "Create an API key",
    ]  # fmt: skip


def test_viewers_have_the_same_tabs_as_owners(as_owner: Browser, as_viewer: Browser, project: Project) -> None:
    url = at("client_settings", project, make_client(project))
    tabs = links(as_viewer, url, ".tabs")
    assert tabs == links(as_owner, url, ".tabs")
    assert {"Settings", "Playground"} < tabs.keys()


def test_a_member_with_too_low_a_role_reads_which_one_it_takes_and_who_can_change_it(
    as_viewer: Browser, as_developer: Browser, project: Project
) -> None:
    refused = as_viewer.get(at("key_new", project))
    assert refused.status_code == 403
    page = refused.content.decode()
    assert "You are a viewer of this project. This needs the role developer or owner." in page
    assert "olga@example.com" in page
    assert "dan@example.com" not in page
    demoted = as_developer.post(at("members", project), {"email": "x@example.com", "role": "viewer"})
    assert demoted.status_code == 403
    assert "You are a developer of this project. This needs the role owner." in demoted.content.decode()


def test_programs_that_call_a_wrong_endpoint_get_json() -> None:
    browser = Browser()
    missing = browser.get("/connect/tokens", headers={"Accept": "*/*"})
    assert (missing.status_code, missing.json()["error"]) == (404, "not_found")
    page = browser.get("/connect/tokens", headers={"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"})
    assert (page.status_code, page["Content-Type"]) == (404, "text/html; charset=utf-8")
