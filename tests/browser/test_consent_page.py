"""The consent page and what follows from it: values, what may be left out, Connected apps, pages that end a sign-in."""

import io
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from tests.browser.camera import Camera
from tests.browser.steps import allow, arrive, expect_consent_page, sign_in
from tests.browser.watch import Watch
from tests.clients.app import App, listening
from tests.clients.person import PASSWORD
from tests.services.chromium import Chromium
from tests.services.service import Service

pytestmark = [pytest.mark.browser, pytest.mark.node, pytest.mark.slow]

MAKER, MINIMAL, SEEN, CHOOSY, LEFT_BEHIND = (
    f"consent-{name}@example.com" for name in ("maker", "minimal", "seen", "choosy", "left")
)
EVERYTHING = "openid email profile offline_access account.read"
# Whether the bar with the buttons covers a part of what has the focus.
COVERED = """() => {
  const bar = document.querySelector(".decide"), focused = document.activeElement;
  if (bar.contains(focused) || !focused.closest("form")) return false;
  return focused.getBoundingClientRect().bottom > bar.getBoundingClientRect().top + 0.5;
}"""
PHOTO = "img[alt^='Your photo']"


@dataclass
class Apps:
    """Apps of two projects; `shadowed` is alone in the one that gets suspended."""

    service: Service
    choosy: App
    shadowed: App

    def at(self, path: str) -> str:
        return f"{self.service.address}{path}"

    def suspend(self, *, suspended: bool = True) -> None:
        clients = [self.shadowed.declaration(verified=True)]
        project = {"name": "Long shadows", "owner": MAKER, "suspended": suspended, "clients": clients}
        self.service.provision(projects=[project])


@pytest.fixture(scope="module")
def apps(live_service: Service) -> Iterator[Apps]:
    with listening(live_service, "Paper Garden") as choosy, listening(live_service, "Long Shadow") as shadowed:
        rights = {"approved_scopes": ["account.read"], "optional_scopes": ["offline_access", "account.read"]}
        people = [
            {"email": email, "password": PASSWORD, "given_name": "Ada", "family_name": "Lovelace"}
            for email in (MAKER, MINIMAL, SEEN, CHOOSY, LEFT_BEHIND)
        ]
        projects = [
            {"name": "Gardens", "owner": MAKER, "clients": [choosy.declaration(verified=True, **rights)]},
            {
                "name": "Long shadows",
                "owner": MAKER,
                "clients": [shadowed.declaration(verified=True, approved_scopes=["account.read"])],
            },
        ]
        declared = live_service.provision(people=people, projects=projects)
        for app in (choosy, shadowed):
            app.take_credentials(declared)
        yield Apps(live_service, choosy, shadowed)


def test_an_app_that_only_signs_in_says_nothing_more(apps: Apps, browser: Chromium, axe: str) -> None:
    def steps(page: Page) -> None:
        camera = Camera(page, Watch(page.context), axe)
        page.goto(apps.choosy.authorization_url(scope="openid"))
        sign_in(page, MINIMAL)
        expect(page.get_by_role("heading", level=1)).to_have_text("Sign in to Paper Garden")
        expect(page.locator(".access")).to_have_count(1)
        expect(page.locator(".access")).to_contain_text("Sign you in")
        expect(page.locator(".access")).to_contain_text("an id for you that other apps don't know, and nothing else")
        camera.take("consent-only-sign-in")
        allow(page)
        claims = arrive(page, apps.choosy)
        assert not {"email", "name", "picture"} & set(claims)

    browser.visit(steps)


def test_photo_and_plan_are_shown_where_the_app_would_see_them(apps: Apps, browser: Chromium, axe: str) -> None:
    def steps(page: Page) -> None:
        camera = Camera(page, Watch(page.context), axe)
        page.goto(apps.at("/account/login/"))
        sign_in(page, SEEN)
        page.wait_for_url(apps.at("/account/"))
        page.goto(apps.at("/account/profile"))
        page.set_input_files("input[type=file]", {"name": "me.png", "mimeType": "image/png", "buffer": photo()})
        page.get_by_role("button", name="Save").click()
        expect(page.locator(PHOTO).first).to_be_visible()

        page.goto(apps.shadowed.authorization_url(scope="openid profile account.read"))
        expect_consent_page(page, apps.shadowed)
        profile, plan = page.locator(".access").nth(1), page.locator(".access").nth(2)
        expect(profile).to_contain_text("Ada Lovelace")
        assert profile.locator("img").evaluate("image => image.complete && image.naturalWidth > 0")
        expect(plan).to_contain_text("See your email address, and your plan")
        expect(plan).to_contain_text("Plan: Free")
        expect(plan.get_by_text("Ada Lovelace")).to_have_count(0)  # a line above says so already
        camera.take("consent-photo-and-plan")
        allow(page)
        assert "/pictures/" in arrive(page, apps.shadowed)["picture"]
        camera.visit(apps.at("/account/apps/"), "connected-apps-with-values")
        expect(page.locator("article").get_by_text("Plan: Free")).to_be_visible()

    browser.visit(steps)


def photo() -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (200, 200), (180, 90, 60)).save(stream, "PNG")
    return stream.getvalue()


@pytest.mark.parametrize("screen", [(1280, 800), (360, 740)], ids=["wide", "phone"])
def test_cancel_and_allow_stay_in_sight_and_cover_no_focus(
    apps: Apps, browser: Chromium, screen: tuple[int, int]
) -> None:
    """WCAG 2.4.11: what has the focus is not hidden behind the buttons."""

    def steps(page: Page) -> None:
        page.goto(apps.choosy.authorization_url(scope=EVERYTHING))
        sign_in(page, SEEN)
        expect_consent_page(page, apps.choosy)
        buttons = [page.get_by_role("button", name=name, exact=True) for name in ("Cancel", "Allow")]
        for button in buttons:
            expect(button).to_be_in_viewport(ratio=1)
        boxes = [button.bounding_box() for button in buttons]
        assert len({(box["width"], box["height"]) for box in boxes if box}) == 1
        assert all(boxes)
        for key in ("Tab", "Shift+Tab"):
            for _ in range(15):
                page.keyboard.press(key)
                assert not page.evaluate(COVERED), page.evaluate("document.activeElement.outerHTML")

    browser.visit(steps, viewport={"width": screen[0], "height": screen[1]})


def test_left_out_scopes_are_not_granted_until_asked_again(apps: Apps, browser: Chromium, axe: str) -> None:
    app = apps.choosy

    def scopes_of(page: Page) -> set[str]:
        page.wait_for_url(f"{app.redirect_uri}?*")
        tokens = app.exchange(app.answer()["code"]).json()
        return set(tokens["scope"].split())

    def steps(page: Page) -> None:
        camera = Camera(page, Watch(page.context), axe)
        page.goto(app.authorization_url(scope=EVERYTHING))
        sign_in(page, CHOOSY)
        expect_consent_page(page, app)
        boxes = page.get_by_role("checkbox")
        expect(boxes).to_have_count(2)
        expect(page.get_by_role("checkbox", checked=True)).to_have_count(0)
        camera.take("consent-optional")
        page.get_by_label("Keep this access while you are away").check()
        allow(page)
        assert scopes_of(page) == {"openid", "email", "profile", "offline_access"}

        page.goto(app.authorization_url(scope=EVERYTHING))  # nothing is asked: what was left out is remembered
        assert "account.read" not in scopes_of(page)

        page.goto(apps.at("/account/apps/"))
        left_out = page.locator("article", has_text=app.name).locator(".optional")
        expect(left_out).to_contain_text("your plan")
        camera.take("connected-apps-left-out")
        left_out.get_by_role("button").click()
        expect(page.get_by_role("status").or_(page.locator(".alert--success")).first).to_contain_text("asked again")
        expect(page.locator(".optional")).to_have_count(0)

        page.goto(app.authorization_url(scope=EVERYTHING, prompt="consent"))
        expect(page.get_by_label("Keep this access while you are away")).to_be_checked()
        plan = page.get_by_label("See your plan")
        expect(plan).not_to_be_checked()
        plan.check()
        allow(page)
        assert "account.read" in scopes_of(page)

    browser.visit(steps)


def test_a_suspended_app_is_described_as_suspended(apps: Apps, browser: Chromium, axe: str) -> None:
    app = apps.shadowed

    def steps(page: Page) -> None:
        watch = Watch(page.context)
        watch.expect("/connect/authorize", 403)
        camera = Camera(page, watch, axe)
        page.goto(app.authorization_url())
        sign_in(page, LEFT_BEHIND)
        expect_consent_page(page, app)
        allow(page)
        arrive(page, app)
        apps.suspend()
        camera.visit(apps.at("/account/apps/"), "connected-apps-suspended")
        expect(page.locator("article")).to_contain_text(f"has suspended {app.name}")
        expect(page.locator("article")).to_contain_text("it gets no data from your account")
        camera.visit(app.authorization_url(), "unavailable-suspended")
        expect(page.locator("main")).to_contain_text(f"has suspended {app.name}")
        page.get_by_role("link", name="Back to your account").click()
        page.wait_for_url(apps.at("/account/"))

    browser.visit(steps)
    apps.suspend(suspended=False)


def test_an_error_page_names_the_app_and_leads_on(apps: Apps, browser: Chromium, axe: str) -> None:
    app = apps.choosy

    def steps(page: Page) -> None:
        watch = Watch(page.context)
        watch.expect("/connect/authorize", 400)
        camera = Camera(page, watch, axe)
        page.goto(app.authorization_url(redirect_uri="https://phisher.example.net/"))
        main = page.locator("main")
        expect(main).to_contain_text(f"Only the developer of {app.name} can fix this")
        assert "phisher.example.net" not in main.inner_text()
        expect(page.get_by_text("invalid_request")).to_be_hidden()
        camera.take("error-of-an-app")
        page.get_by_text("Details for the developer of the app").click()
        expect(page.get_by_text("invalid_request")).to_be_visible()
        expect(main).to_contain_text("does not exactly match")
        expect(main).to_contain_text("Request id")
        camera.take("error-of-an-app-details")
        page.get_by_role("link", name="Back to your account").click()
        expect(page.locator("input[name=login]")).to_be_visible()

    browser.visit(steps)
