"""Passkeys, recovery codes, account recovery and the second step of the admin, as people meet them."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.steps import Device, allow, arrive, expect_consent_page, sign_in, sign_up, type_code
from tests.browser.watch import Watch
from tests.clients.app import App
from tests.clients.person import PASSWORD
from tests.services.chromium import Chromium
from tests.services.service import Service

pytestmark = pytest.mark.browser


def heading(page: Page) -> Any:
    return expect(page.get_by_role("heading", level=1))


def test_a_sign_up_by_passkey_gives_recovery_codes_that_open_the_account(
    live_service: Service, app: App, browser: Chromium
) -> None:
    email = "cody@example.com"

    def first_visit(page: Page) -> list[str]:
        watch = Watch(page.context)
        Device(page)
        page.goto(app.authorization_url())
        page.get_by_role("link", name="Create an account").click()
        page.get_by_role("link", name="Use a passkey instead of a password").click()
        page.fill("input[name=email]", email)
        page.fill("input[name=given_name]", "Cody")
        page.get_by_role("button", name="Continue").click()
        type_code(page, live_service, email)
        expect(page.locator("input[name=name]")).to_have_value("Chrome on Linux")
        page.get_by_role("button", name="Create the passkey").click()
        heading(page).to_have_text("Your recovery codes")
        codes = page.locator("#recovery_codes li").all_inner_texts()
        page.reload()
        expect(page.locator("#recovery_codes")).to_have_count(0)
        page.get_by_role("link", name=f"Continue to {app.name}").click()
        expect_consent_page(page, app)
        allow(page)
        assert arrive(page, app)["email"] == email
        watch.check()
        return codes

    def without_the_device(page: Page) -> None:
        watch = Watch(page.context)
        page.goto(f"{live_service.address}/account/password/reset/")
        page.fill("input[name=email]", email)
        page.get_by_role("button", name="Send the code").click()
        type_code(page, live_service, email)
        page.fill("input[name=password1]", PASSWORD)
        page.fill("input[name=password2]", PASSWORD)
        page.click("form:has(input[name=password1]) button[type=submit]")
        heading(page).to_have_text("Second step")
        expect(page.get_by_label("Recovery code")).to_be_visible()
        expect(page.get_by_text("authenticator app")).to_have_count(0)
        page.fill("input[name=code]", codes[0])
        page.get_by_role("button", name="Sign in with the code").click()
        page.wait_for_url(f"{live_service.address}/account/**")
        page.goto(f"{live_service.address}/account/2fa/")
        expect(page.get_by_text("9 left")).to_be_visible()
        watch.check()

    codes = browser.visit(first_visit)
    assert len(codes) == 10
    browser.visit(without_the_device)


def test_a_passkey_is_added_once_and_fills_the_sign_in_page(
    live_service: Service, app: App, browser: Chromium
) -> None:
    email = "penny@example.com"

    def first_visit(page: Page) -> list[dict[str, Any]]:
        watch, device = Watch(page.context), Device(page)
        page.goto(app.authorization_url())
        sign_up(page, email)
        type_code(page, live_service, email)
        expect_consent_page(page, app)
        page.goto(f"{live_service.address}/account/2fa/webauthn/add/")
        sign_in(page, email)
        expect(page.get_by_label("Passkey", exact=True)).to_be_checked()
        expect(page.get_by_label("Name")).to_have_value("Chrome on Linux")
        page.get_by_role("button", name="Add it").click()
        heading(page).to_have_text("Recovery codes")
        expect(page.locator("#recovery_codes li")).to_have_count(10)
        page.goto(f"{live_service.address}/account/2fa/webauthn/")
        expect(page.locator("td").first).to_have_text("Chrome on Linux Passkey")

        page.goto(f"{live_service.address}/account/2fa/webauthn/add/")
        page.get_by_role("button", name="Add it").click()
        expect(page.get_by_text("registered with your account already")).to_be_visible()
        expect(page.locator("[data-passkey-failed]")).to_be_hidden()
        watch.check()
        return device.passkeys()

    def autofill(page: Page) -> None:
        watch = Watch(page.context)
        Device(page).take(passkeys)
        page.goto(app.authorization_url())  # the virtual device chooses its one passkey without being asked
        expect_consent_page(page, app)
        watch.check()

    passkeys = browser.visit(first_visit)
    assert len(passkeys) == 1
    browser.visit(autofill)
