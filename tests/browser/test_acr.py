"""An app asks for more than a password: the person is led to it, sets it up if need be, and comes back."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from oidc.models.clients import MULTI_FACTOR, PHISHING_RESISTANT
from tests.browser.camera import Camera
from tests.browser.steps import Device, allow, arrive, sign_in
from tests.browser.watch import Watch
from tests.clients.app import App, listening
from tests.clients.person import PASSWORD
from tests.services.chromium import Chromium
from tests.services.service import Service
from tests.totp import totp

pytestmark = pytest.mark.browser

NEWCOMER, DECLINES, CODES, LEAST, PICTURED = (
    f"{name}@example.com" for name in ("vera", "dora", "theo", "lena", "vault-pictures")
)


def required(value: str) -> str:
    return json.dumps({"id_token": {"acr": {"essential": True, "values": [value]}}})


@pytest.fixture(scope="module")
def apps(live_service: Service) -> Iterator[tuple[App, App]]:
    """An app that asks when it likes, and one with a least level."""
    with listening(live_service, "Vault") as asking, listening(live_service, "Strongroom") as strict:
        people = [
            {"email": email, "password": PASSWORD, "given_name": "Vera"}
            for email in (NEWCOMER, DECLINES, CODES, LEAST, PICTURED)
        ]
        clients = [asking.declaration(verified=True), strict.declaration(verified=True, least_acr=MULTI_FACTOR)]
        projects = [{"name": "Vault", "owner": NEWCOMER, "clients": clients}]
        declared = live_service.provision(people=people, projects=projects)
        for app in (asking, strict):
            app.take_credentials(declared)
        yield asking, strict


def heading(page: Page, text: str) -> None:
    expect(page.get_by_role("heading", level=1)).to_have_text(text)


def set_up_passkey(page: Page, email: str, app: App) -> None:
    """From the page that asks for a passkey, through adding one, back to the app that waits."""
    page.get_by_role("link", name="Set up a passkey").click()
    if page.locator("input[name=login]").count():
        sign_in(page, email)
    page.fill("input[name=name]", "Laptop")
    page.get_by_role("button", name="Add it").click()
    page.get_by_role("link", name=f"Continue to {app.name}").click()


def test_people_with_only_a_password_set_up_a_passkey(apps: tuple[App, App], browser: Chromium) -> None:
    app, _ = apps

    def first_visit(page: Page) -> list[dict[str, Any]]:
        watch, device = Watch(page.context), Device(page)
        page.goto(app.authorization_url(claims=required("phr")))
        sign_in(page, NEWCOMER)
        heading(page, "Vault asks for a passkey")
        set_up_passkey(page, NEWCOMER, app)
        allow(page)
        told = arrive(page, app)
        assert told["acr"] == PHISHING_RESISTANT
        assert "mfa" in told["amr"]
        page.goto(app.authorization_url(claims=required("phr")))  # done in this session
        assert arrive(page, app)["acr"] == PHISHING_RESISTANT
        watch.check()
        return device.passkeys()

    def second_visit(page: Page) -> None:
        watch, device = Watch(page.context), Device(page)
        device.take(passkeys)
        page.goto(app.authorization_url())  # the virtual device gives its one passkey at once
        assert "acr" not in arrive(page, app)
        page.goto(app.authorization_url(claims=required("phr"), prompt="login"))
        heading(page, "Vault asks for a passkey")
        page.get_by_role("button", name="Use your passkey or security key").click()
        assert arrive(page, app)["acr"] == PHISHING_RESISTANT
        watch.check()

    passkeys = browser.visit(first_visit)
    assert len(passkeys) == 1
    browser.visit(second_visit)


def test_declining_returns_to_the_app(apps: tuple[App, App], browser: Chromium) -> None:
    app, _ = apps

    def steps(page: Page) -> None:
        watch = Watch(page.context)
        page.goto(app.authorization_url(claims=required("phr")))
        sign_in(page, DECLINES)
        heading(page, "Vault asks for a passkey")
        page.get_by_role("button", name="Cancel").click()
        page.wait_for_url(f"{app.redirect_uri}?*")
        answer = app.answer()
        assert answer["error"] == "unmet_authentication_requirements"
        assert answer["state"]
        watch.check()

    browser.visit(steps)


def test_an_authenticator_app_meets_the_request(apps: tuple[App, App], browser: Chromium) -> None:
    app, _ = apps

    def steps(page: Page) -> None:
        watch = Watch(page.context)
        page.goto(app.authorization_url(acr_values=MULTI_FACTOR))
        sign_in(page, CODES)
        allow(page)
        assert "acr" not in arrive(page, app)  # a wish makes nobody set anything up
        page.goto(app.authorization_url(claims=required(MULTI_FACTOR)))
        heading(page, "Vault asks for two-step verification")
        page.get_by_role("link", name="Set up an authenticator app").click()
        if page.locator("input[name=login]").count():
            sign_in(page, CODES)
        secret = page.inner_text("#authenticator_secret").strip()
        page.fill("input[name=code]", totp(secret))
        page.get_by_role("button", name="Turn it on").click()
        heading(page, "Recovery codes")
        page.get_by_role("link", name="Continue to Vault").click()
        assert arrive(page, app)["acr"] == MULTI_FACTOR
        page.goto(app.authorization_url(claims=required(MULTI_FACTOR), prompt="login"))
        page.get_by_role("link", name="Start with your password").click()
        sign_in(page, CODES)
        page.get_by_role("link", name="Use a code").click()
        page.fill("input[name=code]", totp(secret, steps_ahead=1))
        page.get_by_role("button", name="Continue").click()
        assert arrive(page, app)["acr"] == MULTI_FACTOR
        watch.check()

    browser.visit(steps)


def test_an_app_with_a_required_level_says_so(apps: tuple[App, App], browser: Chromium) -> None:
    _, app = apps

    def steps(page: Page) -> None:
        watch = Watch(page.context)
        Device(page)
        page.goto(app.authorization_url())
        sign_in(page, LEAST)
        heading(page, "Strongroom asks for two-step verification")
        expect(page.get_by_text("Strongroom requires this from everyone who signs in.")).to_be_visible()
        set_up_passkey(page, LEAST, app)
        allow(page)
        assert arrive(page, app)["acr"] == PHISHING_RESISTANT
        watch.check()

    browser.visit(steps)


@pytest.mark.node
@pytest.mark.slow
def test_screens_that_ask_for_a_stronger_sign_in(apps: tuple[App, App], browser: Chromium, axe: str) -> None:
    """Wide and narrow, light and dark (tests/browser/camera.py)."""
    app, strict = apps

    def steps(page: Page) -> None:
        camera = Camera(page, Watch(page.context), axe)
        Device(page)
        page.goto(app.authorization_url(claims=required("phr")))
        sign_in(page, PICTURED)
        heading(page, "Vault asks for a passkey")
        camera.take("asks-for-a-passkey-to-set-up")
        camera.visit(strict.authorization_url(), "asks-for-a-second-step-to-set-up")
        page.goto(app.authorization_url(claims=required("phr")))
        set_up_passkey(page, PICTURED, app)
        camera.visit(app.authorization_url(claims=required("phr"), prompt="login"), "asks-for-a-passkey")
        camera.visit(app.authorization_url(acr_values="phr", prompt="login"), "would-like-a-passkey")
        camera.visit(strict.authorization_url(prompt="login"), "asks-for-a-second-step")

    browser.visit(steps)
