"""What the browser's password manager learns about passkeys, and the passkey that it creates after a password."""

import json
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.steps import Device, sign_in
from tests.browser.test_factors import heading, set_up_app
from tests.browser.test_passkeys import NOBODY_CHOOSES
from tests.browser.watch import Watch
from tests.clients.person import PASSWORD
from tests.services.chromium import Chromium
from tests.services.service import Service
from tests.totp import totp

pytestmark = pytest.mark.browser
# Keeps what pages tell the password manager, instead of passing it on.
KEEP_SIGNALS = """
for (const name of ["signalUnknownCredential", "signalAllAcceptedCredentials", "signalCurrentUserDetails"]) {
  PublicKeyCredential[name] = async (details) => {
    const kept = JSON.parse(sessionStorage.getItem("kept") || "[]");
    sessionStorage.setItem("kept", JSON.stringify([...kept, [name, details]]));
  };
}
"""
# The virtual device has no password manager: it creates the passkey as if it had been asked for it.
CREATE_AT_ONCE = """
const create = navigator.credentials.create.bind(navigator.credentials);
navigator.credentials.create = (options) => {
  window.mediation = options.mediation;
  return create({ publicKey: options.publicKey });
};
PublicKeyCredential.getClientCapabilities = async () => ({ conditionalCreate: true });
"""


def signals(page: Page) -> list[Any]:
    found: list[Any] = json.loads(page.evaluate('sessionStorage.getItem("kept") || "[]"'))
    return found


def test_the_browser_learns_which_passkeys_were_added_and_removed(live_service: Service, browser: Chromium) -> None:
    email = "sina@example.com"
    live_service.provision(people=[{"email": email, "password": PASSWORD, "given_name": "Sina"}])

    def steps(page: Page) -> None:
        watch = Watch(page.context)
        page.add_init_script(NOBODY_CHOOSES + KEEP_SIGNALS)
        device = Device(page)
        page.goto(f"{live_service.address}/account/2fa/webauthn/add/")
        sign_in(page, email)
        page.get_by_role("button", name="Add it").click()
        heading(page).to_have_text("Recovery codes")
        page.goto(f"{live_service.address}/account/2fa/webauthn/")
        page.wait_for_function('(sessionStorage.getItem("kept") || "").includes("signalCurrentUserDetails")')
        [(_, accepted), (_, details)] = signals(page)
        assert len(accepted["allAcceptedCredentialIds"]) == 1
        assert (details["name"], details["displayName"]) == (email, "Sina")
        page.reload()
        assert len(signals(page)) == 2  # nothing has changed

        page.get_by_role("link", name="Remove").click()
        page.get_by_role("button", name="Remove it").click()
        page.wait_for_function('JSON.parse(sessionStorage.getItem("kept")).length === 3')
        assert signals(page)[-1][1]["allAcceptedCredentialIds"] == []

        page.context.clear_cookies()
        page.goto(f"{live_service.address}/account/login/")
        page.get_by_role("button", name="Sign in with a passkey").click()
        expect(page.get_by_text("No account here has this passkey")).to_be_visible()
        page.wait_for_function('(sessionStorage.getItem("kept") || "").includes("signalUnknownCredential")')
        told = signals(page)[-1]
        assert told[1]["credentialId"] == accepted["allAcceptedCredentialIds"][0]
        assert told[1]["rpId"] == accepted["rpId"]
        assert len(device.passkeys()) == 1
        watch.check()

    browser.visit(steps)


def test_the_browser_creates_a_passkey_after_a_sign_in_with_the_password(
    live_service: Service, browser: Chromium
) -> None:
    email = "conny@example.com"
    live_service.provision(people=[{"email": email, "password": PASSWORD, "given_name": "Conny"}])

    def steps(page: Page) -> None:
        watch = Watch(page.context)
        secret = set_up_app(page, live_service, email)
        page.context.clear_cookies()
        page.add_init_script(NOBODY_CHOOSES + CREATE_AT_ONCE)
        device = Device(page)
        page.goto(f"{live_service.address}/account/login/")
        sign_in(page, email)
        page.fill("input[name=code]", totp(secret, 1))
        with page.expect_response(
            lambda answer: "/conditional/" in answer.url and answer.request.method == "POST"
        ) as added:
            page.get_by_role("button", name="Sign in").first.click()
        assert added.value.status == 204
        assert page.evaluate("window.mediation") == "conditional"
        assert len(device.passkeys()) == 1
        page.goto(f"{live_service.address}/account/2fa/webauthn/")
        expect(page.locator("td").first).to_contain_text("Passkey")
        watch.check()

    browser.visit(steps)
