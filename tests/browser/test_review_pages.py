"""Branding and Review in a browser: typed, previewed while it is typed, sent, withdrawn; with and without scripts."""

import re
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Browser, Page, expect

from tests.browser.camera import Camera
from tests.browser.steps import sign_in
from tests.browser.watch import Watch
from tests.clients.person import PASSWORD
from tests.services.chromium import Chromium
from tests.services.service import Service

pytestmark = [pytest.mark.browser, pytest.mark.node, pytest.mark.slow]

DEVELOPER, VIEWER = "rosalind@example.com", "victor@example.com"
WHY = "The overview shows which plan you have and what it includes."
ADDRESSES = {
    "home_page_url": "https://helix.example/",
    "privacy_policy_url": "https://helix.example/privacy",
    "support_address": "help@helix.example",
}


@pytest.fixture(scope="module")
def address(live_service: Service) -> str:
    """The page of an app that nobody has reviewed, with a name as long as it may be."""
    declared = live_service.provision(
        people=[
            {"email": email, "password": PASSWORD, "given_name": "Rosalind", "family_name": "Franklin"}
            for email in (DEVELOPER, VIEWER)
        ],
        projects=[
            {
                "name": "Helix",
                "owner": DEVELOPER,
                "domains": ["helix.example"],
                "members": [{"email": VIEWER, "role": "viewer"}],
                "clients": [{"name": "Helix", "type": "spa", "redirect_uris": ["https://app.helix.example/callback"]}],
            }
        ],
    )
    (project,) = declared["projects"]
    return f"{live_service.address}/console/p/{project['id']}/clients/{project['clients'][0]['client_id']}/review"


def arrive(page: Page, address: str, email: str) -> None:
    page.goto(address)
    sign_in(page, email)
    expect(page.get_by_role("heading", level=1)).to_have_text("Review")


def to_page(page: Page, name: str) -> None:
    page.get_by_role("link", name=name, exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(name)


def write_branding(page: Page, name: str, logo: Path) -> None:
    page.fill("input[name=name]", name)
    for field, value in ADDRESSES.items():
        page.fill(f"input[name={field}]", value)
    page.set_input_files("input[name=logo]", logo)


def write(page: Page) -> None:
    page.check("input[name=ask_account_read]")
    page.fill("input[name=demo_url]", "https://video.example.net/helix")
    page.fill("textarea[name=why_account_read]", WHY)
    page.fill("textarea[name=place_account_read]", "The page called Plan, behind the gear.")


def test_screens_of_a_review_for_its_developer(address: str, browser: Chromium, axe: str, tmp_path: Path) -> None:
    logo = tmp_path / "logo.png"
    Image.new("RGB", (200, 200), "teal").save(logo)

    def steps(browser: Browser) -> None:
        with browser.new_context() as first, browser.new_context() as second:
            page, other = first.new_page(), second.new_page()
            camera, others = Camera(page, Watch(first), axe), Camera(other, Watch(second), axe)
            arrive(page, address, DEVELOPER)
            camera.take("review-new")
            preview = page.locator("#preview")

            to_page(page, "Branding")

            # What is typed is shown at once, and not saved.
            page.fill("input[name=name]", "W" * 100)
            expect(preview).to_contain_text(f"{'W' * 100} asks for access")
            camera.take("review-long-name")
            page.reload()
            expect(page.locator("input[name=name]")).to_have_value("Helix")

            page.fill("input[name=home_page_url]", "http://helix.example/")
            page.fill("input[name=support_address]", "help")
            page.get_by_role("button", name="Save", exact=True).click()
            expect(page.locator(".field__errors").get_by_text("Use https")).to_be_visible()
            camera.take("review-mistakes")

            # What is missing for sending is named on top, where the focus goes, and each line leads to its field.
            page.reload()
            to_page(page, "Review")
            page.check("input[name=ask_account_read]")
            page.get_by_role("button", name="Save and send").click()
            expect(page.get_by_role("alert")).to_be_focused()
            camera.take("review-refused")
            page.get_by_role("alert").get_by_role("link", name="What account.read is needed for").press("Enter")
            expect(page.locator("textarea[name=why_account_read]")).to_be_focused()
            missing = page.locator("#checklist").get_by_role("listitem").filter(has_text="A justification")
            expect(missing).to_be_visible()
            write(page)
            expect(missing).to_be_hidden()
            page.get_by_role("button", name="Save", exact=True).click()

            page.get_by_role("link", name="A support email address").click()
            expect(page.locator("input[name=support_address]")).to_be_focused()
            write_branding(page, "Helix & Sons", logo)
            page.get_by_role("button", name="Save", exact=True).click()
            expect(page.get_by_role("status")).to_contain_text("Saved")
            expect(preview.locator("img")).to_have_count(1)
            camera.take("review-draft")

            to_page(page, "Review")
            page.fill("textarea[name=note]", "Sign in, then press Plan.")
            page.get_by_role("button", name="Save and send").click()
            expect(page.get_by_role("status")).to_contain_text("Submitted for review")
            page.fill("textarea[name=text]", "And the plan is on the second page.")
            page.get_by_role("button", name="Send message").click()
            expect(page.get_by_role("listitem").filter(has_text="second page")).to_be_visible()
            camera.take("review-sent")

            arrive(other, address, VIEWER)
            expect(other.get_by_role("main").get_by_role("button")).to_have_count(0)
            others.take("review-for-a-viewer")

            page.get_by_role("button", name="Withdraw").click()
            expect(page.get_by_role("status")).to_contain_text("Withdrawn")
            expect(page.locator("textarea[name=why_account_read]")).to_have_value(WHY)
            camera.take("review-withdrawn")

    browser.use(steps)


def test_pages_work_without_scripts_and_mouse(address: str, browser: Chromium, tmp_path: Path) -> None:
    logo = tmp_path / "logo.png"
    Image.new("RGB", (200, 200), "teal").save(logo)

    def steps(page: Page) -> None:
        arrive(page, address, DEVELOPER)
        to_page(page, "Branding")
        write_branding(page, "Helix by hand", logo)
        page.get_by_role("button", name="Preview").press("Enter")
        expect(page.locator("#preview")).to_contain_text("Helix by hand asks for access")
        # The Enter key in a field saves.
        page.locator("input[name=name]").press("Enter")
        expect(page.get_by_role("status")).to_contain_text("Saved")
        to_page(page, "Review")
        write(page)
        page.get_by_role("button", name="Save and send").press("Enter")
        expect(page.get_by_role("status")).to_contain_text(re.compile("Submitted for review"))
        page.get_by_role("button", name="Withdraw").press("Enter")
        expect(page.get_by_role("status")).to_contain_text("Withdrawn")

    browser.visit(steps, java_script_enabled=False)
