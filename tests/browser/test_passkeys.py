"""A person without a password: a passkey made at sign-up signs in later, in a browser that never saw it."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.steps import Device, allow, arrive, expect_consent_page, sign_in, sign_up_by_passkey
from tests.browser.watch import Watch
from tests.clients.app import App
from tests.clients.person import PASSWORD
from tests.services.chromium import Chromium
from tests.services.service import Service

pytestmark = pytest.mark.browser
# The email field offers passkeys too, and a virtual device would take one there at once. Here nobody chooses there.
NOBODY_CHOOSES = """
const get = navigator.credentials.get.bind(navigator.credentials);
navigator.credentials.get = (options) => options.mediation !== "conditional" ? get(options) :
  new Promise((_, reject) => options.signal?.addEventListener("abort", () => reject(options.signal.reason)));
"""


def test_sign_up_and_sign_in_with_a_passkey(live_service: Service, app: App, browser: Chromium) -> None:
    email = "pia@example.com"

    def first_visit(page: Page) -> list[dict[str, Any]]:
        watch, device = Watch(page.context), Device(page)
        page.goto(app.authorization_url())
        sign_up_by_passkey(page, live_service, email, "Pia")
        page.get_by_label("Name of your passkey").fill("Laptop")
        page.get_by_role("button", name=f"Continue to {app.name}").click()
        expect_consent_page(page, app)
        allow(page)
        assert arrive(page, app)["email"] == email
        watch.check()
        return device.passkeys()

    def later_visit(page: Page) -> None:
        watch = Watch(page.context)
        page.add_init_script(NOBODY_CHOOSES)
        page.goto(app.authorization_url())
        Device(page).take(passkeys)
        page.get_by_role("button", name="Sign in with a passkey").click()
        assert arrive(page, app)["email"] == email
        watch.check()

    passkeys = browser.visit(first_visit)
    assert len(passkeys) == 1
    browser.visit(later_visit)


def test_a_passkey_that_is_not_created_is_no_dead_end(live_service: Service, app: App, browser: Chromium) -> None:
    email = "vera.of.passkeys@example.com"

    def first_visit(page: Page) -> None:
        watch, device = Watch(page.context), Device(page)
        device.lock()
        page.goto(app.authorization_url())
        sign_up_by_passkey(page, live_service, email, "Vera")
        expect(page.get_by_text("The passkey was not created.")).to_be_visible()
        page.get_by_role("button", name="Create the passkey").click()
        page.get_by_role("link", name="Choose a password instead").click()
        page.fill("input[name=password1]", PASSWORD)
        page.get_by_role("button", name="Continue").click()
        expect_consent_page(page, app)
        allow(page)
        assert arrive(page, app)["email"] == email
        assert not device.passkeys()
        watch.check()

    def later_visit(page: Page) -> None:
        page.goto(app.authorization_url())
        sign_in(page, email)
        assert arrive(page, app)["email"] == email

    browser.visit(first_visit)
    browser.visit(later_visit)
