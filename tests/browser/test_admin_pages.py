"""The admin in a browser: every kind of page, looked at wide and narrow, light and dark; and a review."""

from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from playwright.sync_api import Browser, Page, expect

from tests.browser.camera import Camera
from tests.browser.steps import sign_in
from tests.browser.test_review_pages import to_page, write, write_branding
from tests.browser.watch import Watch
from tests.clients.person import PASSWORD
from tests.services.chromium import Chromium
from tests.services.service import Service

pytestmark = [pytest.mark.browser, pytest.mark.node, pytest.mark.slow]

OPERATOR, REVIEWER, DEVELOPER, PERSON = (
    f"{name}@example.com" for name in ("opal.operator", "rena.reviewer", "dev.of.kestrel", "perry.person")
)
NAME = "Kestrel"


@pytest.fixture(scope="module")
def declared(live_service: Service) -> dict[str, str]:
    """An operator, a reviewer, a person with a plan, and a developer's app; the addresses of its pages."""
    people: list[dict[str, Any]] = [
        {"email": OPERATOR, "password": PASSWORD, "roles": ["operator"], "given_name": "Opal"},
        {"email": REVIEWER, "password": PASSWORD, "roles": ["reviewer"], "given_name": "Rena"},
        {"email": DEVELOPER, "password": PASSWORD, "given_name": "Dev"},
        {"email": PERSON, "password": PASSWORD, "subscription": {"plan": "kestrel-plus", "state": "Active"}},
    ]
    plan = {"id": "kestrel-plus", "display_name": "Plus", "entitlements": {"range": {"status": "granted"}}}
    client = {"name": NAME, "type": "web", "redirect_uris": ["https://kestrel.example/callback"]}
    domains = ["helix.example", "kestrel.example"]
    project = {"name": NAME, "owner": DEVELOPER, "domains": domains, "clients": [client]}
    (made,) = live_service.provision(plans=[plan], people=people, projects=[project])["projects"]
    address = live_service.address
    return {
        "review": f"{address}/console/p/{made['id']}/clients/{made['clients'][0]['client_id']}/review",
        "admin": f"{address}/admin/",
    }


def follow(page: Page, name: str) -> None:
    """Open the first row of the list that the sidebar calls so."""
    page.locator("#nav-sidebar").get_by_role("link", name=name, exact=True).click()
    page.wait_for_load_state("networkidle")


def test_screens_of_operators(declared: dict[str, str], browser: Chromium, axe: str) -> None:
    def steps(page: Page) -> None:
        camera = Camera(page, Watch(page.context), axe)
        page.goto(declared["admin"])
        sign_in(page, OPERATOR)
        expect(page.get_by_role("heading", level=1)).to_have_text("Admin")
        camera.take("admin-home")
        expect(page.get_by_role("link", name="Review queue")).to_have_count(0)
        for name in (
            "People", "Families", "Organizations", "Subscriptions", "Plans", "Projects", "Apps", "API keys",
            "Signing keys", "Audit trail", "Emails",
        ):  # fmt: skip
            follow(page, name)
            camera.take(f"admin-{name.lower().replace(' ', '-')}")
        page.get_by_role("link", name="Preview all emails").click()
        camera.take("admin-mails")
        page.locator('a[href$="/email_confirmation_signup/2/"]').click()
        for scheme in ("light", "dark"):
            frame = page.frame_locator(f'iframe[title$="{scheme}"]')
            expect(frame.get_by_text("Photo Album")).to_be_visible()
        camera.take("admin-a-mail")
        follow(page, "Subscriptions")
        page.get_by_role("link", name=PERSON).click()
        camera.take("admin-a-subscription")
        follow(page, "Plans")
        page.get_by_role("link", name="kestrel-plus").click()
        camera.take("admin-a-plan")
        follow(page, "Apps")
        page.get_by_role("link", name=NAME).click()
        camera.take("admin-a-client")
        follow(page, "APIs")
        camera.take("admin-apis")
        follow(page, "People")
        page.get_by_role("link", name=PERSON).click()
        camera.take("admin-a-person")
        page.get_by_role("link", name="Deactivate").click()
        camera.take("admin-deactivate")
        page.get_by_role("button", name="Deactivate").click()
        expect(page.get_by_text("This field is required")).to_be_visible()
        page.fill("textarea[name=reason]", "Asked us to")
        page.get_by_role("button", name="Deactivate").click()
        expect(page.get_by_text("can no longer sign in")).to_be_visible()
        page.get_by_role("link", name="History").click()
        expect(page.get_by_text("account.deactivated")).to_be_visible()
        # What the theme opens by a click, the keyboard opens too.
        page.set_viewport_size({"width": 360, "height": 800})
        menu = page.get_by_role("button", name="Menu")
        expect(page.locator("#nav-sidebar")).to_be_hidden()
        menu.focus()
        page.keyboard.press("Enter")
        expect(page.locator("#nav-sidebar")).to_be_visible()
        page.get_by_role("button", name="Close").press("Enter")
        expect(page.locator("#nav-sidebar")).to_be_hidden()

    browser.visit(steps)


def test_a_review_in_the_admin(declared: dict[str, str], browser: Chromium, axe: str, tmp_path: Path) -> None:
    logo = tmp_path / "logo.png"
    Image.new("RGB", (200, 200), "teal").save(logo)

    def steps(chromium: Browser) -> None:
        with chromium.new_context() as developers, chromium.new_context() as reviewers:
            page, as_reviewer = developers.new_page(), reviewers.new_page()
            camera = Camera(as_reviewer, Watch(reviewers), axe)
            page.goto(declared["review"])
            sign_in(page, DEVELOPER)
            to_page(page, "Branding")
            write_branding(page, NAME, logo)
            page.get_by_role("button", name="Save", exact=True).click()
            to_page(page, "Review")
            write(page)
            page.get_by_role("button", name="Save and send").click()
            expect(page.get_by_role("status")).to_contain_text("Submitted for review")

            as_reviewer.goto(declared["admin"])
            sign_in(as_reviewer, REVIEWER)
            links = as_reviewer.locator("#nav-sidebar-apps").get_by_role("link")
            expect(links).to_contain_text(["Review queue", "Cases", "Canned replies"])
            links.first.click()
            camera.take("reviewer-queue")
            as_reviewer.get_by_role("link", name=NAME).click()
            expect(as_reviewer.get_by_role("img", name="The submitted logo").first).to_be_visible()
            camera.take("reviewer-review")
            as_reviewer.get_by_role("link", name="See the consent page").click()
            expect(as_reviewer.get_by_role("heading", level=1)).to_be_visible()
            as_reviewer.go_back()
            as_reviewer.locator(".review-decide").get_by_role("button", name="Start the review").click()
            as_reviewer.locator("summary").filter(has_text="Request changes").click()
            form = as_reviewer.locator("form[aria-labelledby=decide-request-changes]")
            expect(form).to_be_visible()
            camera.take("reviewer-request-changes")
            form.get_by_label("The logo is not recognizable").check()
            form.locator("textarea[name=text]").fill("It is one colour.")
            form.get_by_role("button", name="Preview the email").click()
            expect(as_reviewer.locator(".mail")).to_contain_text("It is one colour.")
            camera.take("reviewer-mail")
            as_reviewer.get_by_role("button", name="Request changes").click()
            expect(as_reviewer.get_by_text("The developers were notified of what to change")).to_be_visible()
            page.reload()
            expect(page.get_by_text("It is one colour.").first).to_be_visible()

    browser.use(steps)
