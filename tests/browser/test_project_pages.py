"""Projects in the console: made, shared, transferred, deleted and restored in two browsers; every page is looked at."""

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.camera import Camera
from tests.browser.steps import sign_in
from tests.browser.watch import Watch
from tests.clients.person import PASSWORD
from tests.services.chromium import Chromium
from tests.services.service import Service

pytestmark = [pytest.mark.browser, pytest.mark.node, pytest.mark.slow]

OLGA, INES, NORA = (f"{name}@example.com" for name in ("olga.of-projects", "ines.of-projects", "nora.of-projects"))
LONG = f"{'someone.with.a.very.long.email' * 2}@{'long' * 12}.example"
NAME = "A product with a name that is as long as anyone might reasonably want to type it in here"


@pytest.fixture(scope="module")
def service(live_service: Service) -> Service:
    people = [{"email": email, "password": PASSWORD, "given_name": "Olga"} for email in (OLGA, INES, NORA)]
    client = {"name": "W" * 60, "type": "spa", "redirect_uris": ["https://app.example.com/callback"]}
    live_service.provision(people=people, projects=[{"name": "Kept", "owner": OLGA, "clients": [client]}])
    return live_service


def arrive(page: Page, service: Service, email: str) -> None:
    page.goto(f"{service.address}/console/")
    sign_in(page, email)
    expect(page.get_by_role("heading", level=1)).to_have_text("Projects")


def go(page: Page, name: str) -> None:
    """Press an entry of the project's menu."""
    page.get_by_role("navigation", name="Project").get_by_role("link", name=name, exact=True).click()


def test_a_project_from_creation_to_deletion(service: Service, browser: Chromium, axe: str) -> None:
    def steps(browser: Browser) -> None:
        with browser.new_context() as first, browser.new_context() as second:
            olga, ines = first.new_page(), second.new_page()
            hers, theirs = Camera(olga, Watch(first), axe), Camera(ines, Watch(second), axe)
            arrive(ines, service, INES)
            theirs.take("console-without-a-project")
            arrive(olga, service, OLGA)
            make(olga, hers)
            invite(olga, hers)
            ines.reload()
            theirs.take("console-with-an-invitation")
            ines.get_by_role("button", name=re.compile("Accept")).click()
            expect(ines.get_by_role("status")).to_contain_text("You now work on")
            theirs.take("project-of-a-viewer")
            go(ines, "Settings")
            theirs.take("project-settings-of-a-viewer")
            look(olga, hers)
            end(olga, hers)

    browser.use(steps)


def make(page: Page, camera: Camera) -> None:
    page.get_by_role("link", name="Create a project").click()
    camera.take("project-new")
    page.fill("input[name=name]", "0penport Notes")
    # Said while it is typed, before anything is sent.
    expect(page.get_by_text("can't contain")).to_be_visible()
    page.get_by_role("button", name="Create project").click()
    expect(page.get_by_text("can't contain")).to_be_visible()
    camera.take("project-new-refused")
    page.fill("input[name=name]", NAME)
    expect(page.get_by_text("can't contain")).to_have_count(0)
    page.get_by_role("button", name="Create project").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(NAME)
    camera.take("project-empty")


def invite(page: Page, camera: Camera) -> None:
    go(page, "Team")
    for email in (LONG, INES.upper()):
        page.fill("input[name=email]", email)
        page.get_by_role("button", name="Invite", exact=True).click()
        expect(page.get_by_role("status")).to_contain_text("is invited")
    camera.take("members")
    page.fill("input[name=email]", OLGA)
    page.get_by_role("button", name="Invite", exact=True).click()
    expect(page.get_by_text("is already a member")).to_be_visible()
    camera.take("members-refused")
    page.get_by_role("button", name=f"Withdraw the invitation of {LONG}").click()
    expect(page.get_by_role("status")).to_contain_text("is withdrawn")


def look(page: Page, camera: Camera) -> None:
    go(page, "Team")
    page.get_by_role("link", name=f"Change {INES}").click()
    camera.take("member")
    page.get_by_label("Developer").check()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("status")).to_contain_text("is now a developer")
    go(page, "Team")
    page.get_by_role("navigation", name="Team", exact=True).get_by_role("link", name="Activity").click()
    page.locator("main summary").first.click()
    camera.take("activity")
    page.get_by_label("Action", exact=True).select_option("keys")
    expect(page.get_by_text("No activity matches the filters")).to_be_visible()
    camera.take("activity-none")
    go(page, "Analytics")
    page.get_by_role("navigation", name="Analytics", exact=True).get_by_role("link", name="People").click()
    camera.take("people-without-a-client")
    go(page, "Settings")
    camera.take("project-settings")
    page.get_by_role("link", name="Transfer…").click()
    camera.take("project-transfer")
    page.get_by_role("button", name="Transfer now").click()
    expect(page.get_by_text("Choose a member.")).to_be_visible()
    go(page, "Settings")
    page.get_by_role("link", name="Leave…").click()
    expect(page.get_by_text("You are its only owner")).to_be_visible()
    camera.take("project-leave-the-last-owner")


def end(page: Page, camera: Camera) -> None:
    go(page, "Settings")
    page.get_by_role("link", name="Delete…").click()
    page.fill("input[name=typed]", "yes")
    page.get_by_role("button", name="Delete it now").click()
    expect(page.get_by_text("This is not the name")).to_be_visible()
    camera.take("project-delete")
    page.fill("input[name=typed]", NAME)
    page.get_by_role("button", name="Delete it now").click()
    expect(page.get_by_role("status")).to_contain_text("is deleted")
    camera.take("console-with-a-deleted-project")
    page.get_by_role("button", name=f"Restore {NAME}").click()
    expect(page.get_by_role("status")).to_contain_text("is restored")
    page.get_by_role("link", name="Console", exact=True).first.click()
    page.get_by_role("link", name="Kept").click()
    camera.take("project")
    go(page, "Analytics")
    page.get_by_role("navigation", name="Analytics", exact=True).get_by_role("link", name="People").click()
    camera.take("people")


def test_pages_work_without_scripts_and_mouse(service: Service, browser: Chromium) -> None:
    def steps(page: Page) -> None:
        arrive(page, service, NORA)
        page.fill("input[name=name]", "By hand")
        page.locator("input[name=name]").press("Enter")
        expect(page.get_by_role("heading", level=1)).to_have_text("By hand")
        page.get_by_role("link", name="Team").first.press("Enter")
        page.fill("input[name=email]", "someone@example.com")
        page.get_by_label("Viewer").press("ArrowDown")
        page.get_by_role("button", name="Invite", exact=True).press("Enter")
        expect(page.get_by_role("status")).to_contain_text("is invited")
        expect(page.get_by_role("listitem").filter(has_text="someone@example.com").last).to_contain_text("Developer")
        page.get_by_role("link", name="Settings").first.press("Enter")
        page.get_by_role("link", name="Delete…").press("Enter")
        page.fill("input[name=typed]", "By hand")
        page.locator("input[name=typed]").press("Enter")
        page.get_by_role("button", name="Restore By hand").press("Enter")
        expect(page.get_by_role("status")).to_contain_text("is restored")

    browser.visit(steps, java_script_enabled=False)
