"""The jump box in a real browser: by keyboard with its script, and as a page without."""

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.steps import sign_in
from tests.browser.watch import Watch
from tests.clients.person import PASSWORD
from tests.services.chromium import Chromium
from tests.services.service import Service

pytestmark = [pytest.mark.browser, pytest.mark.slow]

JULES = "jules.jumps@example.com"


HOPPER = {"name": "Hopper", "type": "spa", "redirect_uris": ["https://hopper.example.com/callback"]}


def choose_before_the_answer(page: Page) -> None:
    """Type a letter that changes no result, and choose the second one before the answer to it is there."""

    def late(route: Route) -> None:
        page.keyboard.press("ArrowDown")
        route.continue_()

    page.route("**/console/jump?*", late)
    page.keyboard.type("s")
    settled(page)
    expect(page.get_by_role("option").nth(1)).to_have_attribute("aria-selected", "true")
    page.unroute("**/console/jump?*")


def settled(page: Page) -> None:
    """Wait for the answer to the last letter."""
    expect(page.locator("#jump-results")).to_have_attribute("aria-busy", "false")


@pytest.mark.parametrize("scripts", [True, False])
def test_a_developer_jumps_to_a_log(live_service: Service, browser: Chromium, scripts: bool) -> None:
    name = f"Leaps {scripts}"
    declared = live_service.provision(
        people=[{"email": JULES, "password": PASSWORD, "given_name": "Jules"}],
        projects=[{"name": name, "owner": JULES, "clients": [HOPPER]}],
    )
    project = declared["projects"][0]
    log = f"/console/p/{project['id']}/logs"

    def with_script(page: Page) -> None:
        expect(page.get_by_text("Ctrl K")).to_be_visible()  # which its script writes
        page.keyboard.press("Control+k")
        field = page.get_by_role("combobox")
        expect(field).to_be_focused()
        expect(page.get_by_role("option", name=name).first).to_be_visible()
        page.keyboard.type(f"{name} sign-in log")
        settled(page)
        first = page.get_by_role("option").first
        expect(first).to_contain_text(f"{name}: Sign-in log")
        expect(field).to_have_attribute("aria-activedescendant", first.get_attribute("id") or "none")
        expect(field).to_have_attribute("aria-expanded", "true")
        page.keyboard.press("ArrowDown")
        expect(first).to_have_attribute("aria-selected", "false")
        page.keyboard.press("ArrowUp")
        expect(first).to_have_attribute("aria-selected", "true")
        choose_before_the_answer(page)
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)
        page.keyboard.press("/")
        expect(field).to_be_focused()
        expect(page.get_by_role("option").first).to_contain_text(f"{name}: Sign-in log")
        page.keyboard.press("Enter")

    def without(page: Page) -> None:
        page.get_by_role("link", name="Jump to").click()
        page.locator("#jump-to").fill(f"{name} sign-in log")
        page.get_by_role("button", name="Jump", exact=True).click()
        page.get_by_role("link", name=f"{name}: Sign-in log").click()

    def steps(page: Page) -> None:
        watch = Watch(page.context)
        page.goto(f"{live_service.address}/console/")
        sign_in(page, JULES)
        page.wait_for_url(f"{live_service.address}/console/")  # `next` ends the sign-in page's address alike
        (with_script if scripts else without)(page)
        page.wait_for_url(f"{live_service.address}{log}")
        watch.check()

    browser.visit(steps, java_script_enabled=scripts)
