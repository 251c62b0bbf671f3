"""An app from its first person to its suspension: its developer, a reviewer, and people, each in their browser."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urljoin

import pytest
from PIL import Image
from playwright.sync_api import Browser, Page, expect

from tests.browser.reviewer import Reviewer
from tests.browser.steps import ALLOW, sign_in
from tests.clients.app import App, listening
from tests.clients.person import PASSWORD
from tests.services.chromium import Chromium
from tests.services.service import Service

pytestmark = [pytest.mark.browser, pytest.mark.node, pytest.mark.slow]

DEVELOPER, REVIEWER, FIRST, SECOND = (
    f"{name}@example.com" for name in ("maker.of.tern", "reviewer.of.tern", "first.of.tern", "second.of.tern")
)
WITH_PLAN = "openid email offline_access account.read"


@pytest.fixture(scope="module")
def tern(live_service: Service) -> Iterator[App]:
    """An app that nobody has reviewed; it takes one person until then."""
    with listening(live_service, "Tern") as app:
        people = [
            {"email": email, "password": PASSWORD, "roles": ["reviewer"] if email == REVIEWER else []}
            for email in (DEVELOPER, REVIEWER, FIRST, SECOND)
        ]
        tern = {"name": "Tern", "owner": DEVELOPER, "domains": ["tern.example"], "clients": [app.declaration()]}
        projects = [tern]
        app.take_credentials(live_service.provision(people=people, projects=projects))
        yield app


def arrive_at_review(page: Page, app: App) -> None:
    page.goto(f"{app.service.address}/console/")
    sign_in(page, DEVELOPER)
    page.locator("main").get_by_role("link", name="Tern", exact=True).click()
    page.get_by_role("link", name="Apps", exact=True).first.click()
    page.locator("main").get_by_role("link", name="Tern", exact=True).click()
    page.get_by_role("link", name="Branding", exact=True).click()


def refused_scope(page: Page, app: App) -> None:
    page.goto(app.authorization_url(scope=WITH_PLAN))
    expect(page.get_by_role("heading", name="Back at the app")).to_be_visible()
    assert app.answer()["error"] == "invalid_scope"


def test_an_app_is_submitted_and_reviewed(tern: App, browser: Chromium, tmp_path: Path) -> None:
    logo = tmp_path / "logo.png"
    Image.new("RGB", (200, 200), "navy").save(logo)

    def steps(browser: Browser) -> None:
        with (
            browser.new_context() as makers,
            browser.new_context() as reviewers,
            browser.new_context() as firsts,
            browser.new_context() as seconds,
        ):
            maker, first, second = (context.new_page() for context in (makers, firsts, seconds))

            # Nobody has looked at it: the label, the cap, no approved scope.
            first.goto(tern.authorization_url())
            sign_in(first, FIRST)
            expect(first.get_by_text("has not reviewed this app")).to_be_visible()
            expect(first.locator(".tile img")).to_have_count(0)
            first.click(ALLOW)
            first.wait_for_url(f"{tern.redirect_uri}**")  # the next page would abort this navigation
            assert "code" in tern.answer()
            refused_scope(first, tern)
            second.goto(tern.authorization_url())
            sign_in(second, SECOND)
            expect(second.get_by_role("heading", level=1)).to_contain_text("take more people yet")

            # The developer sends it.
            arrive_at_review(maker, tern)
            for field, value in {
                "home_page_url": "https://tern.example/",
                "privacy_policy_url": "https://tern.example/privacy",
                "support_address": "help@tern.example",
            }.items():
                maker.fill(f"[name={field}]", value)
            maker.set_input_files("[name=logo]", logo)
            maker.get_by_role("button", name="Save", exact=True).click()
            maker.get_by_role("link", name="Review", exact=True).click()
            maker.check("[name=ask_account_read]")
            for field, value in {
                "why_account_read": "We use it to show things on the page.",
                "place_account_read": "The page called Plan.",
                "demo_url": "https://video.example.net/tern",
            }.items():
                maker.fill(f"[name={field}]", value)
            maker.get_by_role("button", name="Save and send").click()
            expect(maker.get_by_role("status")).to_contain_text("Submitted for review")
            review = maker.url

            # A reviewer asks for changes; the developer reads the notice, and what the reviewer wrote.
            as_reviewer = Reviewer(reviewers.new_page(), tern.service, REVIEWER, "Tern")
            as_reviewer.open_from_the_queue()
            expect(as_reviewer.page.get_by_text("We use it to show things").first).to_be_visible()
            as_reviewer.start()
            mail = as_reviewer.take_step("Request changes", ("A justification is too vague",), "Which things?")
            assert "Which things?" in mail
            maker.goto(urljoin(review, "/console/notices"))
            expect(maker.get_by_role("main")).to_contain_text("Changes are needed before Tern")
            maker.goto(review)
            expect(maker.get_by_role("region", name="Status", exact=True)).to_contain_text("Which things?")

            # The developer says more, and a reviewer approves.
            maker.fill("[name=why_account_read]", "The page called Plan shows which plan you have.")
            maker.fill("[name=answer_justification_vague]", "It names the page now.")
            maker.fill("[name=answer_note]", "The name of the plan.")
            maker.get_by_role("button", name="Save and send for review again").click()
            expect(maker.get_by_role("status")).to_contain_text("Submitted for review")
            as_reviewer.open_from_the_queue()
            as_reviewer.start()
            as_reviewer.take_step("Approve")
            maker.goto(review)
            expect(maker.get_by_text("This app is reviewed")).to_be_visible()
            expect(maker.get_by_text("Which things?")).to_have_count(1)

            # Anyone may come now, sees the logo, and the app reads the plan.
            second.goto(tern.authorization_url(scope=WITH_PLAN))
            expect(second.get_by_text("Reviewed by")).to_be_visible()
            assert second.locator(".tile img").evaluate("image => image.naturalWidth") > 0
            second.click(ALLOW)
            tokens = tern.exchange(tern.answer()["code"]).json()
            plan = tern.call("/v1/me/plan", tokens["access_token"])
            assert (plan.status_code, plan.json()["plan_id"]) == (200, "free")

            # Suspended: no page, no token, no call.
            as_reviewer.take_step("Suspend the project", ("Harmful",))
            first.goto(tern.authorization_url(prompt="none"))
            expect(first.get_by_role("heading", level=1)).to_contain_text("is unavailable")
            assert tern.refresh(tokens["refresh_token"]).json()["error"] == "invalid_grant"
            assert tern.call("/v1/me", tokens["access_token"]).json()["error"]["code"] == "project_suspended"
            maker.goto(review)
            expect(maker.get_by_text("This project is suspended.")).to_be_visible()
            expect(maker.get_by_text("The app harms people or their devices.")).to_be_visible()

    browser.use(steps)
