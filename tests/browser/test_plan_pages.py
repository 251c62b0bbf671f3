"""A family in three browsers: its owner invites by mail, someone accepts and leaves, and every page is looked at."""

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.camera import Camera
from tests.browser.steps import sign_in
from tests.browser.watch import Watch
from tests.clients.person import PASSWORD
from tests.services.chromium import Chromium
from tests.services.service import Service

pytestmark = [pytest.mark.browser, pytest.mark.node, pytest.mark.slow]

OWNER, SISTER, INVITED, ALONE = (f"{name}@example.com" for name in ("grace", "sister-of-grace", "invited", "alone"))
LONG = f"{'someone.with.a.very.long.email' * 2}@{'long' * 12}.example"


@pytest.fixture(scope="module")
def service(live_service: Service) -> Service:
    people = [
        {"email": email, "password": PASSWORD, "given_name": name, "family_name": "Hopper"}
        for email, name in ((OWNER, "Grace"), (SISTER, "Mary"), (INVITED, "Vincent"), (ALONE, "Al"))
    ]
    limit = {"status": "granted_with_limit", "limit": 200, "unit": "GB"}
    plan = {"id": "shared", "display_name": "Shared", "rank": 5, "apps": ["notes"], "entitlements": {"storage": limit}}
    family = {"owner": OWNER, "members": [SISTER], "subscription": {"plan": "shared", "state": "Active"}}
    live_service.provision(
        people=people, plans=[plan], families=[family], organizations=[{"name": "Acme", "members": [SISTER]}]
    )
    return live_service


def arrive(page: Page, service: Service, email: str) -> None:
    page.goto(f"{service.address}/account/plan")
    sign_in(page, email)
    expect(page.get_by_role("heading", level=1)).to_have_text("Plan")


def test_the_plan_page_and_a_family_invitation(service: Service, browser: Chromium, axe: str) -> None:
    def steps(browser: Browser) -> None:
        with browser.new_context() as first, browser.new_context() as second, browser.new_context() as third:
            owner, invited, sister = (context.new_page() for context in (first, second, third))
            owners = Camera(owner, Watch(first), axe)
            others = Camera(invited, Watch(second), axe)
            sisters = Camera(sister, Watch(third), axe)

            arrive(owner, service, OWNER)
            owner.fill("input[name=email]", LONG)
            owner.get_by_role("button", name="Invite", exact=True).click()
            expect(owner.get_by_role("status")).to_contain_text("has been invited")
            owner.fill("input[name=email]", INVITED.upper())
            owner.keyboard.press("Enter")
            expect(owner.get_by_role("status")).to_contain_text(f"{INVITED} has been invited")
            owners.take("plan-of-the-owner")
            owner.fill("input[name=email]", SISTER)
            owner.get_by_role("button", name="Invite", exact=True).click()
            expect(owner.get_by_text("is already a member")).to_be_visible()
            owners.take("plan-invitation-refused")
            owner.goto(f"{service.address}/account/plan")
            owner.get_by_role("button", name=f"Withdraw the invitation of {LONG}").click()
            expect(owner.get_by_role("status")).to_contain_text("has been withdrawn")

            (mail,) = service.mails(INVITED)
            assert OWNER in mail
            arrive(invited, service, INVITED)
            others.take("plan-with-an-invitation")
            invited.get_by_role("button", name="Accept").click()
            expect(invited.get_by_role("status")).to_contain_text(f"family ({OWNER})")
            others.take("plan-of-a-member")

            arrive(sister, service, SISTER)
            sisters.take("plan-with-a-seat")
            sister.get_by_role("link", name="Leave Acme").click()
            sisters.take("leave-a-group")
            sister.get_by_role("button", name="Leave now").click()
            expect(sister.get_by_role("status")).to_contain_text("You have left Acme")

            owner.reload()
            owner.get_by_role("link", name=f"Remove {INVITED}").click()
            owners.take("remove-a-member")
            owner.get_by_role("button", name="Remove now").click()
            expect(owner.get_by_role("status")).to_contain_text("no longer in your family")
            invited.reload()
            expect(invited.get_by_text("No paid plan")).to_be_visible()

    browser.use(steps)


def test_the_plan_page_without_a_family(service: Service, browser: Chromium, axe: str) -> None:
    def steps(page: Page) -> None:
        camera = Camera(page, Watch(page.context), axe)
        arrive(page, service, ALONE)
        camera.take("plan-alone")

    browser.visit(steps)
