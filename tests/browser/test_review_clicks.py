"""How many clicks an ordinary approval takes a reviewer, from the queue to the message that the app is approved."""

from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.camera import NARROW
from tests.browser.reviewer import Reviewer
from tests.clients.person import PASSWORD
from tests.services.chromium import Chromium
from tests.services.service import Service

pytestmark = [pytest.mark.browser, pytest.mark.node, pytest.mark.slow]

OWNER, REVIEWER = "owner.of.siskin@example.com", "reviewer.of.siskin@example.com"
# Open the review, start it, decide on the scope, confirm both parts of the checklist, approve.
CLICKS = 6
# Submissions that wait; said in the service's own process.
STAGE = """
from accounts.models import Account
from devportal.review.submission import developer_actions
from oidc.models import Client
from tests.devportal.review.reviewing import fill
owner = Account.objects.get(email={owner!r})
for name in {names!r}:
    client = Client.objects.get(project__name="Siskin", name=name)
    fill(client, owner, name=name)
    developer_actions.submit(client, owner)
"""
COUNT = """
const clicks = () => Number(sessionStorage.getItem("clicks"));
addEventListener("pointerdown", () => sessionStorage.setItem("clicks", clicks() + 1), true);
"""
NAMES = ["Siskin Notes", "Siskin Phone"]


@pytest.fixture(scope="module")
def service(live_service: Service) -> Service:
    people: list[dict[str, Any]] = [
        {"email": OWNER, "password": PASSWORD},
        {"email": REVIEWER, "password": PASSWORD, "roles": ["reviewer"]},
    ]
    clients = [{"name": name, "type": "web", "redirect_uris": ["https://app.example.com/callback"]} for name in NAMES]
    live_service.provision(people=people, projects=[{"name": "Siskin", "owner": OWNER, "clients": clients}])
    live_service.shell(STAGE.format(owner=OWNER, names=NAMES))
    return live_service


def clicks(page: Page) -> int:
    return int(page.evaluate("Number(sessionStorage.getItem('clicks'))"))


def test_an_ordinary_approval_takes_six_clicks(service: Service, browser: Chromium) -> None:
    def steps(chromium: Browser) -> None:
        with chromium.new_context(viewport={"width": 1280, "height": 800}) as context:
            page = context.new_page()
            as_reviewer = Reviewer(page, service, REVIEWER, NAMES[0])
            page.add_init_script(COUNT)
            page.goto(as_reviewer.queue)
            before = clicks(page)
            page.get_by_role("link", name=NAMES[0], exact=True).click()
            as_reviewer.start()
            form = as_reviewer.begin_step("Approve")
            expect(form).to_be_visible()
            as_reviewer.agree(form)
            form.get_by_role("button", name="Approve", exact=True).click()
            expect(page.get_by_text("The app is approved.")).to_be_visible()
            assert clicks(page) - before == CLICKS

    browser.use(steps)


def test_a_phone_shows_the_start_and_the_decisions_at_any_place(service: Service, browser: Chromium) -> None:
    def steps(chromium: Browser) -> None:
        with chromium.new_context(viewport={"width": NARROW, "height": 640}) as context:
            page = context.new_page()
            as_reviewer = Reviewer(page, service, REVIEWER, NAMES[1])
            as_reviewer.open_from_the_queue()
            bar = page.locator(".review-bar")
            bar.get_by_role("button", name="Start the review").click()
            expect(page.get_by_text("The review has started")).to_be_visible()
            bar.get_by_role("link", name="Reject", exact=True).click()
            form = page.locator("form[aria-labelledby=decide-reject]")
            expect(form.locator("[name=reasons]").first).to_be_in_viewport()
            assert page.evaluate("document.documentElement.scrollWidth") == NARROW

    browser.use(steps)
