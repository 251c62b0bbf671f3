"""Every page for people, wide and narrow, light and dark (tests/browser/camera.py)."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from playwright.sync_api import Page, expect

from tests.browser.camera import Camera
from tests.browser.steps import Device, allow, expect_consent_page, sign_in, sign_up, type_code, type_new_email
from tests.browser.watch import Watch
from tests.clients.app import App, listening
from tests.clients.person import PASSWORD
from tests.services.chromium import Chromium
from tests.services.service import Service, running
from tests.totp import totp

pytestmark = [pytest.mark.browser, pytest.mark.node, pytest.mark.slow]

OWNER, ADA, ONE_TOO_MANY, FORGETFUL, KEYLESS = (
    f"{name}@example.com" for name in ("screens", "ada.lovelace", "second-person", "olga", "keyless")
)


@dataclass
class Apps:
    service: Service
    unverified: App
    verified: App
    off: App

    def at(self, path: str) -> str:
        return f"{self.service.address}{path}"


@pytest.fixture(scope="module")
def apps(live_service: Service) -> Iterator[Apps]:
    with (
        listening(live_service, "Starling") as unverified,
        listening(live_service, "Paperboat") as verified,
        listening(live_service, "Quiet Moon") as off,
    ):
        clients = [
            unverified.declaration(),
            verified.declaration(verified=True),
            off.declaration(enabled=False),
        ]
        people = [
            {"email": email, "password": PASSWORD, "given_name": "Ada", "family_name": "Lovelace"}
            for email in (OWNER, ADA, ONE_TOO_MANY, FORGETFUL, KEYLESS)
        ]
        projects = [{"name": "Screens", "owner": OWNER, "clients": clients}]
        declared = live_service.provision(people=people, projects=projects)
        for app in (unverified, verified, off):
            app.take_credentials(declared)
        yield Apps(live_service, unverified, verified, off)


def test_screens_before_sign_in(apps: Apps, browser: Chromium, axe: str) -> None:
    def steps(page: Page) -> None:
        camera = Camera(page, Watch(page.context), axe)
        camera.visit(apps.at("/"), "home")
        camera.visit(apps.at("/account/login/"), "sign-in")
        camera.visit(apps.unverified.authorization_url(), "sign-in-for-an-app")
        sign_in(page, ADA, "not the password")
        expect(page.locator("form .alert--error")).to_be_visible()
        camera.take("sign-in-refused")
        camera.visit(apps.at("/account/signup/"), "sign-up")
        type_new_email(page, "newcomer@example.com")
        camera.take("sign-up-details")
        page.goto(apps.verified.authorization_url())
        sign_up(page, "newcomer@example.com")
        expect(page.locator("input[name=code]")).to_be_visible()
        camera.take("sign-up-code")
        camera.visit(apps.at("/account/password/reset/"), "reset")
        page.fill("input[name=email]", FORGETFUL)
        page.get_by_role("button", name="Send the code").click()
        expect(page.locator("input[name=code]")).to_be_visible()
        camera.take("reset-code")
        type_code(page, apps.service, FORGETFUL)
        expect(page.locator("input[name=password1]")).to_be_visible()
        camera.take("reset-new-password")
        camera.visit(apps.at("/account/address/take-back"), "take-an-address-back")
        camera.visit(apps.at("/account/address/taken-back"), "address-taken-back")

    browser.visit(steps)


def test_screens_of_a_sign_in(apps: Apps, browser: Chromium, axe: str) -> None:
    def steps(page: Page) -> None:
        camera = Camera(page, Watch(page.context), axe)
        page.goto(apps.unverified.authorization_url())
        sign_in(page, ADA)
        expect_consent_page(page, apps.unverified)
        camera.take("consent-unverified")
        allow(page)
        page.wait_for_url(f"{apps.unverified.redirect_uri}?*")
        page.goto(apps.verified.authorization_url())
        expect_consent_page(page, apps.verified)
        camera.take("consent-verified")
        camera.visit(apps.at("/account/"), "account-with-an-app-waiting")
        page.get_by_role("link", name="Continue to Paperboat").click()
        allow(page)
        page.wait_for_url(f"{apps.verified.redirect_uri}?*")
        camera.visit(apps.verified.authorization_url(prompt="login"), "confirm-it-is-you")
        camera.visit(apps.at("/account/apps/"), "connected-apps")
        page.get_by_role("link", name="Remove Paperboat").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Remove Paperboat?")
        camera.take("remove-an-app")
        camera.visit(apps.at("/connect/logout"), "sign-out-confirm")
        page.click("button[name=decision][value=sign-out]")
        page.wait_for_url(apps.at("/connect/signed-out"))
        camera.take("signed-out")

    browser.visit(steps)


def test_screens_of_errors(apps: Apps, browser: Chromium, axe: str) -> None:
    def fill_the_app(page: Page) -> None:
        page.goto(apps.unverified.authorization_url())
        sign_in(page, ADA)
        page.wait_for_selector("button[value=allow], :text('Back at the app')")
        if page.query_selector("button[value=allow]"):
            allow(page)
        page.wait_for_url(f"{apps.unverified.redirect_uri}?*")

    def steps(page: Page) -> None:
        watch = Watch(page.context)
        watch.expect("/connect/authorize", 400)
        watch.expect("/connect/authorize", 403)
        watch.expect("/no/such/page", 404)
        camera = Camera(page, watch, axe)
        camera.visit(apps.off.authorization_url(), "unavailable")
        camera.visit(apps.unverified.authorization_url(redirect_uri="https://example.com/"), "error")
        camera.visit(apps.at("/no/such/page"), "not-found")
        page.goto(apps.unverified.authorization_url())
        sign_in(page, ONE_TOO_MANY)
        expect(page.get_by_role("heading", level=1)).to_contain_text("take more people")
        camera.take("app-full")
        page.click("button[name=decision][value=cancel]")
        page.wait_for_url(f"{apps.unverified.redirect_uri}?error=access_denied*")

    browser.visit(fill_the_app)
    browser.visit(steps)


def test_screens_of_an_account(apps: Apps, browser: Chromium, axe: str) -> None:
    def sign_in_again(page: Page) -> None:
        """Make a second session of the same browser, because two parts of a page must not have one name."""
        assert page.context.browser is not None
        with page.context.browser.new_context() as other:
            second = other.new_page()
            second.goto(apps.at("/account/login/"))
            sign_in(second, OWNER)
            second.wait_for_url(apps.at("/account/"))

    def steps(page: Page) -> None:
        camera = Camera(page, Watch(page.context), axe)
        page.goto(apps.at("/account/login/"))
        sign_in(page, OWNER)
        page.wait_for_url(apps.at("/account/"))
        camera.take("account-home")
        camera.visit(apps.at("/account/profile"), "profile")
        camera.visit(apps.at("/account/apps/"), "connected-apps-none")
        camera.visit(apps.at("/account/plan"), "plan")
        camera.visit(apps.at("/account/email/"), "email")
        camera.visit(apps.at("/account/password/change/"), "password")
        sign_in_again(page)
        camera.visit(apps.at("/account/sessions/"), "sessions")
        camera.visit(apps.at("/account/logout/"), "sign-out")
        camera.visit(apps.at("/account/2fa/"), "two-step")
        page.goto(apps.at("/account/2fa/webauthn/add/"))
        expect(page.locator("input[name=name]")).to_be_visible()
        camera.take("add-a-passkey")
        camera.visit(apps.at("/account/2fa/totp/activate/"), "authenticator-app")
        secret = page.inner_text("#authenticator_secret").strip()
        page.fill("input[name=code]", totp(secret))
        page.get_by_role("button", name="Turn it on").click()
        expect(page.locator("#authenticator_secret")).to_have_count(0)
        camera.take("authenticator-app-on")
        camera.visit(apps.at("/account/2fa/recovery-codes/"), "recovery-codes")
        camera.visit(apps.at("/account/2fa/recovery-codes/generate/"), "recovery-codes-replace")
        camera.visit(apps.at("/account/2fa/totp/deactivate/"), "authenticator-app-off")
        page.context.clear_cookies()
        page.goto(apps.verified.authorization_url())
        sign_in(page, OWNER)
        expect(page.get_by_role("heading", level=1)).to_have_text("Two-step verification")
        camera.take("second-step")
        camera.visit(apps.at("/account/recovery/start/"), "recovery-at-sign-in")
        page.get_by_role("button", name="Send me the code").click()
        expect(page.locator("input[name=code]")).to_be_visible()
        camera.take("recovery-at-sign-in-code")

    browser.visit(steps)


def test_screens_of_two_step_verification(apps: Apps, browser: Chromium, axe: str) -> None:
    operator = {"email": "screens-operator@example.com", "password": PASSWORD, "roles": ["operator"]}
    apps.service.provision(people=[operator])

    def sign_up_by_passkey(page: Page) -> None:
        camera = Camera(page, Watch(page.context), axe)
        device = Device(page)
        device.lock()
        page.goto(apps.verified.authorization_url())
        page.get_by_role("link", name="Create an account").click()
        type_new_email(page, "pat@example.com")
        page.fill("input[name=given_name]", "Pat")
        page.get_by_role("button", name="Continue with a passkey").click()
        type_code(page, apps.service, "pat@example.com")
        expect(page.locator("[data-passkey-failed]")).to_be_visible()
        camera.take("create-your-passkey")
        page.get_by_role("link", name="Choose a password instead").click()
        expect(page.locator("input[name=password1]")).to_be_visible()
        camera.take("sign-up-password")
        device.unlock()
        page.get_by_role("link", name="Create a passkey").click()
        expect(page.locator("#recovery_codes")).to_be_visible()
        camera.take("first-recovery-codes")
        page.context.clear_cookies()
        page.goto(apps.at("/account/password/reset/"))
        page.fill("input[name=email]", "pat@example.com")
        page.get_by_role("button", name="Send the code").click()
        type_code(page, apps.service, "pat@example.com")
        page.fill("input[name=password1]", PASSWORD)
        page.fill("input[name=password2]", PASSWORD)
        page.click("form:has(input[name=password1]) button[type=submit]")
        expect(page.get_by_role("heading", level=1)).to_have_text("Two-step verification")
        camera.take("second-step-by-passkey")

    def keys_and_recovery(page: Page) -> None:
        camera = Camera(page, Watch(page.context), axe)
        Device(page)
        page.goto(apps.at("/account/2fa/webauthn/add/"))
        sign_in(page, KEYLESS)
        page.get_by_role("button", name="Add it").click()
        expect(page.locator("#recovery_codes")).to_be_visible()
        page.goto(apps.at("/account/2fa/webauthn/add/"))
        page.get_by_role("button", name="Add it").click()
        expect(page.locator("[data-passkey-known]")).to_be_visible()
        camera.take("add-a-passkey-known")
        camera.visit(apps.at("/account/2fa/webauthn/"), "passkeys")
        browser_of_operator = page.context.browser
        assert browser_of_operator is not None
        start_recovery(browser_of_operator.new_page())
        camera.visit(apps.at("/account/2fa/"), "two-step-in-recovery")
        camera.visit(apps.at("/account/"), "profile-in-recovery")
        camera.visit(apps.at("/account/recovery/"), "recovery")
        page.get_by_role("button", name="Stop it").click()
        camera.visit(apps.at("/account/recovery/"), "recovery-none")

    def start_recovery(page: Page) -> None:
        camera = Camera(page, Watch(page.context), axe)
        page.goto(apps.at("/admin/accounts/account/"))
        sign_in(page, operator["email"])  # type: ignore[arg-type]
        page.goto(apps.at(f"/admin/accounts/account/?q={KEYLESS}"))
        page.get_by_role("link", name=KEYLESS).first.click()
        page.get_by_role("link", name="Start recovery").first.click()
        page.wait_for_selector("textarea[name=checked]")
        camera.take("admin-remove-factors")
        page.fill("textarea[name=reason]", "Lost the phone")
        page.fill("textarea[name=checked]", "Called the number on file")
        page.locator("form:has(textarea) button[type=submit]").first.click()
        page.wait_for_load_state("networkidle")
        page.close()

    browser.visit(sign_up_by_passkey)
    browser.visit(keys_and_recovery)


def test_screens_of_two_step_setup_for_staff(browser: Chromium, axe: str) -> None:
    def steps(page: Page) -> None:
        camera = Camera(page, Watch(page.context), axe)
        page.goto(f"{service.address}/admin/")
        sign_in(page, "robin@example.com")
        camera.take("staff-enrol")

    with running(ADMIN_SECOND_FACTOR="true") as service:
        person = {"email": "robin@example.com", "password": PASSWORD, "roles": ["reviewer"]}
        service.provision(people=[person])
        browser.visit(steps)
