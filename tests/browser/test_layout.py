"""The frame of the console's pages: the menu that folds on a phone, and long names."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.steps import sign_in
from tests.clients.person import PASSWORD
from tests.services.chromium import Chromium
from tests.services.service import Service

pytestmark = [pytest.mark.browser, pytest.mark.slow]

DEVELOPER = "framer@example.com"


@pytest.fixture(scope="module")
def project(live_service: Service) -> tuple[str, str]:
    """Return the URLs of a project and its client, both with a long name without spaces."""
    client = {"name": "q" * 100, "type": "web", "redirect_uris": ["https://app.example.com/callback"]}
    declared = live_service.provision(
        people=[{"email": DEVELOPER, "password": PASSWORD, "given_name": "Maker"}],
        projects=[{"name": "p" * 100, "owner": DEVELOPER, "clients": [client]}],
    )["projects"][0]
    address = f"{live_service.address}/console/p/{declared['id']}/"
    return address, f"{address}clients/{declared['clients'][0]['client_id']}/"


def test_the_project_s_menu_unfolds_without_a_script(project: tuple[str, str], browser: Chromium) -> None:
    def steps(page: Page) -> None:
        page.goto(project[1])
        sign_in(page, DEVELOPER)
        menu = page.get_by_role("navigation", name="Project", exact=True)
        keys = menu.get_by_role("link", name="API keys")
        expect(keys).to_be_hidden()
        menu.get_by_text("Project menu").click()
        keys.click()
        expect(page.get_by_role("heading", level=1)).to_have_text("API keys")

    browser.visit(steps, viewport={"width": 360, "height": 800}, java_script_enabled=False)


def test_a_long_name_without_spaces_breaks(project: tuple[str, str], browser: Chromium) -> None:
    address, settings = project

    def steps(page: Page) -> None:
        page.goto(settings)
        sign_in(page, DEVELOPER)
        for url in (settings, f"{settings}delete", address, f"{address}clients", f"{address}sign-ins"):
            page.goto(url)
            for width in (360, 900, 1280):
                page.set_viewport_size({"width": width, "height": 800})
                assert page.evaluate("document.documentElement.scrollWidth") <= width, url

    browser.visit(steps)
