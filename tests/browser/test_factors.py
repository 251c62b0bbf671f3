"""Passkeys, recovery codes, account recovery and the admin's two-step verification, in a browser."""

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.steps import (
    Device,
    allow,
    arrive,
    expect_consent_page,
    reset_password,
    sign_in,
    sign_up,
    sign_up_by_passkey,
    type_code,
)
from tests.browser.watch import Watch
from tests.clients.app import App
from tests.clients.person import PASSWORD
from tests.services.chromium import Chromium
from tests.services.service import Service, running
from tests.totp import totp

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
        sign_up_by_passkey(page, live_service, email, "Cody")
        heading(page).to_have_text("Your recovery codes")
        expect(page.get_by_label("Name of your passkey")).to_have_value("Chrome on Linux")
        codes = page.locator("#recovery_codes li").all_inner_texts()
        page.reload()
        expect(page.locator("#recovery_codes")).to_have_count(0)
        page.get_by_role("button", name=f"Continue to {app.name}").click()
        expect_consent_page(page, app)
        allow(page)
        assert arrive(page, app)["email"] == email
        watch.check()
        return codes

    def without_the_device(page: Page) -> None:
        watch = Watch(page.context)
        page.goto(f"{live_service.address}/account/password/reset/")
        reset_password(page, live_service, email)
        heading(page).to_have_text("Two-step verification")
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


def test_a_passkey_is_added_once_and_fills_the_sign_in_page(live_service: Service, app: App, browser: Chromium) -> None:
    email = "penny@example.com"

    def first_visit(page: Page) -> list[dict[str, Any]]:
        watch, device = Watch(page.context), Device(page)
        page.goto(app.authorization_url())
        sign_up(page, email)
        type_code(page, live_service, email)
        expect_consent_page(page, app)
        page.goto(f"{live_service.address}/account/2fa/webauthn/add/")
        expect(page.get_by_label("Passkey", exact=True)).to_be_checked()
        expect(page.get_by_label("Name")).to_have_value("Chrome on Linux")
        page.get_by_role("button", name="Add it").click()
        heading(page).to_have_text("Recovery codes")
        expect(page.locator("#recovery_codes li")).to_have_count(10)
        page.goto(f"{live_service.address}/account/2fa/webauthn/")
        expect(page.locator("td").first).to_have_text("Chrome on Linux Passkey")

        page.goto(f"{live_service.address}/account/2fa/webauthn/add/")
        page.get_by_role("button", name="Add it").click()
        expect(page.get_by_text("already registered with your account")).to_be_visible()
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


def set_up_app(page: Page, service: Service, email: str) -> str:
    """Sign in, set up an authenticator app, and return its secret."""
    page.goto(f"{service.address}/account/2fa/totp/activate/")
    sign_in(page, email)
    secret = page.inner_text("#authenticator_secret").strip()
    page.fill("input[name=code]", totp(secret))
    page.get_by_role("button", name="Turn it on").click()
    heading(page).to_have_text("Recovery codes")
    return secret


def start_recovery(page: Page, service: Service, email: str) -> None:
    """Ask for the mailed code, and start the recovery with it."""
    page.get_by_role("button", name="Send me the code").click()
    expect(page.locator("input[name=code]")).to_be_visible()
    page.fill("input[name=code]", service.code_mailed_to(email))
    page.get_by_role("button", name="Start the recovery").click()
    heading(page).to_have_text("Your account is being recovered")


def test_a_recovery_that_an_operator_starts_is_stopped_from_the_mail_and_from_the_account(
    live_service: Service, browser: Chromium
) -> None:
    person, operator = "rita@example.com", "orla@example.com"
    people: list[dict[str, Any]] = [
        {"email": person, "password": PASSWORD, "given_name": "Rita"},
        {"email": operator, "password": PASSWORD, "given_name": "Orla", "roles": ["operator"]},
    ]
    live_service.provision(people=people)

    def protect(page: Page) -> Any:
        set_up_app(page, live_service, person)
        return page.context.storage_state()

    def start(page: Page) -> None:
        watch = Watch(page.context)
        page.goto(f"{live_service.address}/admin/accounts/account/?q={person}")
        if page.locator("input[name=login]").count():
            sign_in(page, operator)
        page.goto(f"{live_service.address}/admin/accounts/account/?q={person}")
        page.get_by_role("link", name=person).first.click()
        page.get_by_role("link", name="Start recovery").first.click()
        expect(page.get_by_text("In 72 hours")).to_be_visible()
        page.fill("textarea[name=reason]", "Lost the phone")
        page.fill("textarea[name=checked]", "Called the number on file")
        page.locator("form:has(textarea) button[type=submit], form:has(textarea) input[type=submit]").first.click()
        expect(page.get_by_text("The person was notified")).to_be_visible()
        watch.check()

    def stop_from_the_mail(page: Page) -> None:
        watch = Watch(page.context)
        mail = next(text for text in reversed(live_service.mails(person)) if "/account/recovery/" in text)
        found = re.search(r"(http\S+/account/recovery/\S+)", mail)
        assert found, mail
        page.goto(found[1])
        heading(page).to_have_text("Stop the removal?")
        page.get_by_role("button", name="Stop it").click()
        heading(page).to_have_text("Stopped")
        page.goto(found[1])
        heading(page).to_have_text("Nothing to stop")
        watch.check()

    def stop_from_the_account(page: Page) -> None:
        watch = Watch(page.context)
        page.context.add_cookies(signed_in["cookies"])
        page.goto(f"{live_service.address}/account/2fa/")
        page.get_by_role("button", name="Stop it").click()
        expect(page.get_by_text("Nothing was removed from your account.")).to_be_visible()
        expect(page.get_by_role("button", name="Stop it")).to_have_count(0)
        watch.check()

    signed_in = browser.visit(protect)
    for stop in (stop_from_the_mail, stop_from_the_account):
        browser.visit(start)
        browser.visit(stop)
    assert sum("stopped" in text for text in live_service.mails(person)) == 2


def test_someone_who_lost_the_app_starts_the_recovery_at_sign_in(live_service: Service, browser: Chromium) -> None:
    email = "lola@example.com"
    live_service.provision(people=[{"email": email, "password": PASSWORD, "given_name": "Lola"}])

    def protect(page: Page) -> None:
        set_up_app(page, live_service, email)

    def start(page: Page) -> None:
        watch = Watch(page.context)
        page.goto(f"{live_service.address}/account/login/")
        sign_in(page, email)
        page.get_by_text("I have lost all of these").click()
        page.get_by_role("link", name="I need another way in").click()
        start_recovery(page, live_service, email)
        assert any("/account/recovery/?code=" in text for text in live_service.mails(email))
        watch.check()

    browser.visit(protect)
    browser.visit(start)


def test_staff_set_up_a_factor_and_reach_the_requested_page(browser: Chromium) -> None:
    reviewer = "robin.of.factors@example.com"

    def steps(page: Page) -> None:
        watch = Watch(page.context)
        Device(page)
        page.goto(f"{service.address}/admin/review/appreview/")
        sign_in(page, reviewer)
        heading(page).to_have_text("Set up two-step verification")
        page.get_by_role("link", name="Add a passkey").click()
        page.get_by_role("button", name="Add it").click()
        heading(page).to_have_text("Recovery codes")
        page.get_by_role("link", name="Continue to the admin").click()
        page.wait_for_url(f"{service.address}/admin/review/appreview/")
        page.context.clear_cookies()
        page.goto(f"{service.address}/admin/review/appreview/")
        page.wait_for_url(f"{service.address}/admin/review/appreview/")  # its passkey was offered and taken at once
        watch.check()

    with running(ADMIN_SECOND_FACTOR="true") as service:
        service.provision(people=[{"email": reviewer, "password": PASSWORD, "roles": ["reviewer"]}])
        browser.visit(steps)


def test_someone_who_lost_their_only_passkey_comes_back_with_the_mailbox(
    live_service: Service, app: App, browser: Chromium
) -> None:
    email = "lost.passkey@example.com"

    def first_visit(page: Page) -> None:
        Device(page)
        page.goto(app.authorization_url())
        sign_up_by_passkey(page, live_service, email, "Lou")
        expect(page.get_by_text("it takes 7 days to get back into your account")).to_be_visible()

    def start(page: Page) -> None:
        watch = Watch(page.context)
        page.goto(f"{live_service.address}/account/password/reset/")
        reset_password(page, live_service, email)
        heading(page).to_have_text("Two-step verification")
        page.get_by_text("I have lost all of these").click()
        page.get_by_role("link", name="I need another way in").click()
        expect(page.get_by_text("We wait 7 days")).to_be_visible()
        start_recovery(page, live_service, email)
        watch.check()

    def come_back(page: Page) -> None:
        page.goto(f"{live_service.address}/account/password/reset/")
        reset_password(page, live_service, email)
        page.wait_for_url(f"{live_service.address}/account/**")
        page.goto(f"{live_service.address}/account/")
        expect(page.get_by_text("You sign in with: Password")).to_be_visible()

    browser.visit(first_visit)
    browser.visit(start)
    live_service.shell(
        "from accounts.models import AccountRecovery; from accounts.recovery.waiting import advance; "
        "from core import clock; AccountRecovery.objects.update(due_at=clock.now()); advance()"
    )
    browser.visit(come_back)
