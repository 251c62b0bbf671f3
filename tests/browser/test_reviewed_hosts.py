"""An address elsewhere is added to a reviewed app: what developers read, and what people see (docs/review.md#hosts)."""

from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.browser.camera import Camera
from tests.browser.steps import allow, sign_in
from tests.browser.watch import Watch
from tests.clients.app import App, listening
from tests.clients.person import PASSWORD
from tests.services.chromium import Chromium
from tests.services.service import Service

pytestmark = [pytest.mark.browser, pytest.mark.node, pytest.mark.slow]

MAKER, KNOWN = "hosts-maker@example.com", "hosts-known@example.com"
NOT_REVIEWED = "Openport has reviewed Two Shores, but not with the host that it sends you to: 127.0.0.1"


@pytest.fixture(scope="module")
def app(live_service: Service) -> Iterator[App]:
    with listening(live_service, "Two Shores") as app:
        people = [{"email": email, "password": PASSWORD, "given_name": "Ada"} for email in (MAKER, KNOWN)]
        projects = [{"name": "Shores", "owner": MAKER, "clients": [app.declaration(verified=True)]}]
        app.take_credentials(live_service.provision(people=people, projects=projects))
        yield app


def elsewhere(app: App) -> str:
    """Return the address of the same app by another host, which nobody has reviewed."""
    return f"http://127.0.0.1:{urlsplit(app.origin).port}/callback"


def test_adding_a_host_warns_and_removes_the_badge_there(app: App, browser: Chromium, axe: str) -> None:
    def developer(page: Page) -> None:
        camera = Camera(page, Watch(page.context), axe)
        page.goto(f"{app.service.address}/account/login/")
        sign_in(page, MAKER)
        page.goto(f"{app.service.address}/console/")
        page.get_by_role("link", name="Shores").first.click()
        page.get_by_role("link", name="Two Shores").click()
        page.get_by_label("Redirect URL 2", exact=True).fill(elsewhere(app))
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_text("Not reviewed: 127.0.0.1. People who come from there")).to_be_visible()
        expect(page.get_by_text("Not at every host")).to_be_visible()
        camera.take("settings-host-outside-of-the-review")
        page.get_by_role("link", name="Submit this change for review").first.click()
        expect(page.get_by_role("heading", name="Hosts outside the review")).to_be_visible()
        camera.take("review-host-outside-of-the-review")

    def person(page: Page) -> None:
        camera = Camera(page, Watch(page.context), axe)
        page.goto(app.authorization_url())
        sign_in(page, KNOWN)
        expect(page.get_by_text("Reviewed by Openport")).to_be_visible()
        allow(page)
        page.wait_for_url(f"{app.redirect_uri}?*")
        page.goto(app.authorization_url(redirect_uri=elsewhere(app)))
        expect(page.get_by_text(NOT_REVIEWED)).to_be_visible()
        expect(page.get_by_text("Reviewed by Openport")).to_have_count(0)
        camera.take("consent-host-outside-of-the-review")
        allow(page)
        page.wait_for_url(f"{elsewhere(app)}?*")
        camera.visit(f"{app.service.address}/account/apps/", "connected-apps-host-outside-of-the-review")

    def newcomer(page: Page) -> None:
        camera = Camera(page, Watch(page.context), axe)
        page.goto(app.authorization_url(redirect_uri=elsewhere(app)))
        expect(page.get_by_text("Not reviewed by Openport at the host 127.0.0.1")).to_be_visible()
        camera.take("sign-in-host-outside-of-the-review")

    browser.visit(developer)
    browser.visit(person)
    browser.visit(newcomer)
