"""A new person turns on two-step verification while an app waits, and needs it from then on."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.steps import allow, arrive, expect_consent_page, sign_in, sign_up, type_code
from tests.browser.watch import Watch
from tests.clients.app import App
from tests.services.chromium import Chromium
from tests.services.service import Service
from tests.totp import totp

pytestmark = pytest.mark.browser


def test_sign_up_while_setting_up_an_authenticator_app(live_service: Service, app: App, browser: Chromium) -> None:
    email = "mary@example.com"

    def first_visit(page: Page) -> str:
        watch = Watch(page.context)
        page.goto(app.authorization_url())
        sign_up(page, email)
        type_code(page, live_service, email)
        expect_consent_page(page, app)

        page.goto(f"{live_service.address}/account/2fa/")
        page.get_by_role("link", name="Set up").click()
        secret = page.inner_text("#authenticator_secret").strip()
        page.fill("input[name=code]", totp(secret))
        page.get_by_role("button", name="Turn it on").click()
        page.get_by_role("link", name=f"Continue to {app.name}").click()
        expect_consent_page(page, app)
        allow(page)
        assert arrive(page, app)["email"] == email
        watch.check()
        return secret

    def later_visit(page: Page) -> None:
        watch = Watch(page.context)
        page.goto(app.authorization_url())
        sign_in(page, email)
        expect(page.get_by_role("heading", level=1)).to_have_text("Two-step verification")
        # The code typed at set-up is used up; the next one is accepted a little early.
        page.fill("input[name=code]", totp(secret, steps_ahead=1))
        page.get_by_role("button", name="Sign in").click()
        arrive(page, app)
        watch.check()

    secret = browser.visit(first_visit)
    browser.visit(later_visit)


def test_a_wrong_code_does_not_sign_in(live_service: Service, app: App, browser: Chromium) -> None:
    email = "wrong-code@example.com"

    def steps(page: Page) -> None:
        page.goto(app.authorization_url())
        sign_up(page, email)
        expect(page.locator("input[name=code]")).to_be_visible()
        page.fill("input[name=code]", "BAD-BAD")
        page.get_by_role("button", name="Confirm").click()
        expect(page.locator(".field__errors")).to_be_visible()
        assert app.answers.empty()
        type_code(page, live_service, email)
        expect_consent_page(page, app)

    browser.visit(steps)
