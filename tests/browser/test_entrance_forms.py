"""The forms of the sign-in pages in a browser: Back after an error, the password shown, the email address carried."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import KEYBOARD
from tests.browser.steps import sign_in
from tests.browser.watch import Watch
from tests.clients.app import App
from tests.clients.person import PASSWORD
from tests.services.chromium import Chromium
from tests.services.service import Service

pytestmark = pytest.mark.browser

EMAIL, WRONG = "forms@example.com", "not the password"


def test_back_after_a_wrong_password_shows_the_form(live_service: Service, browser: Chromium) -> None:
    def steps(page: Page) -> None:
        watch = Watch(page.context)
        page.goto(f"{live_service.address}/account/login/")
        sign_in(page, EMAIL, WRONG)
        expect(page.locator("form .alert--error")).to_be_visible()
        expect(page).to_have_title("Error: Sign in · Openport")
        expect(page.locator("input[name=password]")).to_be_focused()
        page.get_by_role("link", name="Forgot your password?").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Reset your password")
        page.go_back()
        expect(page.get_by_role("heading", level=1)).to_have_text("Sign in")
        page.reload()  # a page of a POST would ask whether to send the form again
        expect(page.locator("input[name=login]")).to_be_visible()
        watch.check()

    browser.visit(steps)


def test_a_password_can_be_shown_and_is_sent_as_one(live_service: Service, browser: Chromium) -> None:
    def steps(page: Page) -> None:
        watch = Watch(page.context)
        page.goto(f"{live_service.address}/account/login/")
        field = page.locator("input[name=password]")
        page.get_by_role("button", name="Show password").click()
        expect(field).to_have_attribute("type", "text")
        page.get_by_role("button", name="Hide password").click()
        expect(field).to_have_attribute("type", "password")
        page.get_by_role("button", name="Show password").click()
        page.evaluate("document.querySelector('[name=password]').form.addEventListener('submit', e => "
                      "{ e.preventDefault(); document.title = e.target.elements.password.type })")  # fmt: skip
        sign_in(page, EMAIL, WRONG)
        expect(page).to_have_title("password")
        watch.check()

    browser.visit(steps)


def test_the_typed_email_address_travels_outside_of_urls(live_service: Service, browser: Chromium) -> None:
    def steps(page: Page) -> None:
        watch = Watch(page.context)
        for link, field in (("Forgot your password?", "email"), ("Create an account", "email")):
            page.goto(f"{live_service.address}/account/login/")
            page.fill("input[name=login]", EMAIL)
            page.get_by_role("link", name=link).click()
            expect(page.locator(f"input[name={field}]")).to_have_value(EMAIL)
            assert EMAIL not in page.url
        page.goto(f"{live_service.address}/account/password/reset/")
        expect(page.locator("input[name=email]")).to_have_value("")
        watch.check()

    browser.visit(steps)


def test_a_cookie_that_no_server_can_read_is_deleted_by_a_button(
    live_service: Service, app: App, browser: Chromium
) -> None:
    """Another site of the parent domain may have set it, with a byte beyond ASCII."""

    def steps(page: Page) -> None:
        page.goto(f"{live_service.address}/account/login/")
        page.evaluate("document.cookie = 'greeting=ø; Path=/; Max-Age=1000'")
        sign_in(page, KEYBOARD, PASSWORD)
        expect(page.get_by_role("heading", level=1)).to_have_text("A cookie can’t be read")
        expect(page.get_by_text("It comes from another site on localhost")).to_be_visible()
        page.get_by_role("button", name="Delete all cookies and continue").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Sign in")
        assert "greeting" not in {cookie["name"] for cookie in page.context.cookies()}
        sign_in(page, KEYBOARD, PASSWORD)
        page.wait_for_url(lambda url: "/login/" not in url)

    browser.visit(steps)
