"""The console's page of domains: added, looked for, and removed; each page is looked at."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.camera import Camera
from tests.browser.steps import sign_in
from tests.browser.watch import Watch
from tests.clients.person import PASSWORD
from tests.services.chromium import Chromium
from tests.services.service import Service

pytestmark = [pytest.mark.browser, pytest.mark.node, pytest.mark.slow]

DEVELOPER = "keeper@example.com"
LONG = f"{'a-part-of-a-very-long-name.' * 7}invalid"


@pytest.fixture(scope="module")
def domains(live_service: Service) -> str:
    """Return the address of the domains of a project that has one, by the operator's word."""
    declared = live_service.provision(
        people=[{"email": DEVELOPER, "password": PASSWORD, "given_name": "Kim"}],
        projects=[{"name": "Lighthouse", "owner": DEVELOPER, "domains": ["lighthouse.example"]}],
    )
    return f"{live_service.address}/console/p/{declared['projects'][0]['id']}/domains"


def test_a_domain_is_added_checked_and_removed(domains: str, browser: Chromium, axe: str) -> None:
    def steps(page: Page) -> None:
        camera = Camera(page, Watch(page.context), axe)
        page.goto(domains)
        sign_in(page, DEVELOPER)
        expect(page.get_by_role("heading", level=2, name="lighthouse.example")).to_be_visible()
        page.get_by_role("textbox", name="Domain").fill("https://192.0.2.1/")
        page.get_by_role("button", name="Add domain").click()
        expect(page.get_by_text("An IP address can't be proven. Enter a domain.")).to_be_visible()
        camera.take("domains-refused")
        page.get_by_role("textbox", name="Domain").fill(f"https://{LONG.upper()}/path")
        page.get_by_role("button", name="Add domain").click()
        expect(page.get_by_role("status")).to_contain_text(f"{LONG} is added.")
        page.get_by_role("button", name="Copy the name of the record").click()
        page.get_by_role("button", name=re.compile("Check now")).click()
        expect(page.get_by_role("status")).to_contain_text(f"No proof of {LONG} was found.")
        camera.take("domains")
        page.get_by_role("link", name=f"Remove {LONG}").click()
        camera.take("domain-remove")
        page.get_by_role("button", name="Remove the domain").click()
        expect(page.get_by_role("status")).to_contain_text(f"{LONG} is removed.")

    browser.visit(steps, permissions=["clipboard-read", "clipboard-write"])
