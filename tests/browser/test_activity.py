"""Someone else signs in: the owner gets an email, follows it, and ends that session."""

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.camera import Camera
from tests.browser.steps import sign_in
from tests.browser.watch import Watch
from tests.clients.person import PASSWORD
from tests.services.chromium import Chromium
from tests.services.service import Service

pytestmark = [pytest.mark.browser, pytest.mark.node]

OWNER, LOOKED_AT = "wanda@example.com", "willa@example.com"
STRANGER = "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0"


@pytest.fixture(scope="module", autouse=True)
def people(live_service: Service) -> None:
    people = [{"email": email, "password": PASSWORD, "given_name": "W"} for email in (OWNER, LOOKED_AT)]
    live_service.provision(people=people)


def test_the_owner_signs_out_an_intruder_from_the_mail(live_service: Service, browser: Chromium) -> None:
    def steps(program: Browser) -> None:
        with program.new_context() as own, program.new_context(user_agent=STRANGER) as strange:
            watch, here, there = Watch(own), own.new_page(), strange.new_page()
            here.goto(f"{live_service.address}/account/login/")
            sign_in(here, OWNER)
            here.wait_for_url("**/account/")
            there.goto(f"{live_service.address}/account/login/")
            sign_in(there, OWNER)
            there.wait_for_url("**/account/")

            [text] = live_service.mails(OWNER)
            assert "Someone signed in to your account with a password" in text
            assert "Firefox on Windows" in text
            link = re.search(r"^ {4}(http\S+)$", text, re.MULTILINE)
            assert link, text
            here.goto(link[1])
            expect(here.get_by_role("heading", level=1)).to_have_text("Secure your account")
            expect(here.get_by_text("One other browser is signed in")).to_be_visible()
            there.reload()
            expect(there.get_by_role("navigation", name="Account")).to_be_visible()  # the link alone did nothing

            here.get_by_role("button", name="Check the activity").click()
            expect(here.get_by_role("heading", name="from a new browser")).to_be_visible()
            here.goto(f"{live_service.address}/account/sessions/")
            here.get_by_role("button", name="Sign out Firefox on Windows").click()
            expect(here.get_by_text("Firefox on Windows is signed out.")).to_be_visible()
            there.reload()
            expect(there).to_have_url(re.compile("/account/login/"))
            here.reload()
            expect(here.get_by_role("heading", level=1)).to_have_text("Where you’re signed in")
            watch.check()

    browser.use(steps)


@pytest.mark.slow
def test_screens_of_the_activity_pages(live_service: Service, browser: Chromium, axe: str) -> None:
    def steps(page: Page) -> None:
        camera = Camera(page, Watch(page.context), axe)
        camera.visit(f"{live_service.address}/account/secure/", "secure-signed-out")
        page.get_by_role("link", name="Sign in", exact=True).last.click()
        sign_in(page, LOOKED_AT)
        page.wait_for_url(f"{live_service.address}/account/secure/")  # `next` ends the sign-in page's address alike
        camera.take("secure")
        camera.visit(f"{live_service.address}/account/activity/", "activity")
        camera.visit(f"{live_service.address}/account/activity/?before=1", "activity-none")

    def elsewhere(page: Page) -> None:
        page.goto(f"{live_service.address}/account/login/")
        sign_in(page, LOOKED_AT)
        page.wait_for_url("**/account/")
        camera = Camera(page, Watch(page.context), axe)
        camera.visit(f"{live_service.address}/account/sessions/", "sessions-two")
        camera.visit(f"{live_service.address}/account/secure/", "secure-two")

    browser.visit(steps)
    browser.visit(elsewhere, user_agent=STRANGER)
