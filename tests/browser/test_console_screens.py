"""Every page of the console and of the docs, wide and narrow, light and dark (tests/browser/camera.py)."""

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import cycle
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from devportal.docs.pages import PAGES
from tests.browser.camera import CHECKED, Camera
from tests.browser.steps import allow, sign_in
from tests.browser.watch import Watch
from tests.clients.app import App, listening
from tests.clients.person import PASSWORD, Person
from tests.services.chromium import Chromium
from tests.services.service import Service

pytestmark = [pytest.mark.browser, pytest.mark.node, pytest.mark.slow]

OWNER, VIEWER, NEWCOMER, VISITOR = (
    f"{name}@example.com" for name in ("desk-owner", "desk-viewer", "desk-new", "desk-ada")
)
KNOWN_SECONDS = 60
LONG_NAME = "A rather long name for a project, as people who describe everything in it like to give theirs"


@dataclass
class Desk:
    """A project with a client of each type, keys, members, some sign-ins and some calls."""

    service: Service
    web: App
    project: str
    clients: dict[str, dict[str, Any]]

    def at(self, path: str = "", client: str = "") -> str:
        """Return the address of one of the project's pages, or of a client's."""
        where = f"clients/{self.clients[client]['client_id']}/" if client else ""
        return f"{self.service.address}/console/p/{self.project}/{where}{path}"


@pytest.fixture(scope="module")
def desk(live_service: Service) -> Iterator[Desk]:
    with listening(live_service, "Heron Web") as web:
        clients = [
            web.declaration(),
            {"name": "Heron Live", "type": "spa", "redirect_uris": ["http://localhost:3001/callback.html"]},
            {"name": "Heron Desktop", "type": "native", "redirect_uris": ["http://127.0.0.1:3002/"], "enabled": False},
        ]
        keys = [
            {"name": "Nightly", "owner": OWNER, "permissions": ["account.read"]},
            {"name": "Old", "owner": OWNER, "permissions": [], "expires": datetime(2020, 1, 1, tzinfo=UTC)},
        ]
        declared = live_service.provision(
            people=[{"email": email, "password": PASSWORD} for email in (OWNER, VIEWER, NEWCOMER, VISITOR)],
            projects=[
                {
                    "name": "Heron",
                    "owner": OWNER,
                    "members": [{"email": VIEWER, "role": "viewer"}],
                    "clients": clients,
                    "api_keys": keys,
                },
                {"name": LONG_NAME, "owner": OWNER, "suspended": True},
            ],
        )
        project = declared["projects"][0]
        web.take_credentials(declared)
        found = dict(zip(("web", "spa", "native"), project["clients"], strict=True))
        leave_traces(live_service, web, project["api_keys"][0]["key"])
        yield Desk(live_service, web, project["id"], found)


def leave_traces(service: Service, web: App, key: str) -> None:
    """Have the logs say something: a sign-in, refusals, calls."""
    Person(service, VISITOR).go(web.authorization_url())
    Person(service, VISITOR, decision="cancel").go(web.authorization_url(prompt="consent"))
    httpx.get(web.authorization_url(redirect_uri=f"{web.redirect_uri}/"))
    httpx.get(web.authorization_url(scope="openid account.read"))
    for credential in (key, key, f"{key[:-1]}x"):
        httpx.get(f"{service.address}/v1/me", headers={"Authorization": f"Bearer {credential}"})
    httpx.get(f"{service.address}/v1/me/plan", headers={"Authorization": f"Bearer {key}"})
    httpx.post(f"{service.address}/v1/me", headers={"Authorization": f"Bearer {key}"})


def arrive(page: Page, desk: Desk, email: str) -> None:
    page.goto(f"{desk.service.address}/console/")
    sign_in(page, email)
    expect(page.get_by_role("heading", level=1)).to_have_text("Projects")


def reload_until(page: Page, selector: str) -> Locator:
    """Return the first element of the page that matches, once what it shows is written."""
    found = page.locator(selector).first
    for _ in range(15):
        if found.count():
            break
        page.wait_for_timeout(1000)
        page.reload()
    return found


def first_entry(page: Page) -> str:
    """Return the address of the newest entry on the page of a log, once it is written."""
    return str(reload_until(page, ".log__link").evaluate("link => link.href"))


PROJECT_PAGES = (
    "", "settings", "transfer", "delete", "team", "team/activity", "analytics", "analytics/sign-ins",
    "analytics/people", "logs", "logs/requests", "logs/deliveries", "keys", "keys/new", "clients", "clients/new",
)  # fmt: skip
CLIENT_PAGES = {
    "web": (
        "", "events", "deliveries", "quick-start", "activity", "activity/analytics",
        "playground", "playground/events", "branding", "review", "type", "delete",
    ),
    # What differs between the types.
    "spa": ("", "quick-start", "playground"),
    "native": ("", "quick-start"),
}  # fmt: skip


def test_screens_of_a_project(desk: Desk, browser: Chromium, axe: str) -> None:
    def steps(page: Page) -> None:
        camera = Camera(page, Watch(page.context), axe)
        arrive(page, desk, OWNER)
        camera.take("console-home")
        for path in PROJECT_PAGES:
            camera.visit(desk.at(path), f"console-{path.replace('/', '-') or 'project'}")
        page.goto(desk.at("logs/requests?status=4xx"))
        camera.visit(first_entry(page), "console-request-entry")
        camera.visit(f"{desk.service.address}/console/projects/new", "console-project-new")

    browser.visit(steps)


def test_a_chart_shows_the_readers_hours_or_utc(desk: Desk, browser: Chromium) -> None:
    """In Phoenix, which is seven hours behind UTC all year."""

    def steps(whole: Browser) -> None:
        with whole.new_context(timezone_id="America/Phoenix") as context:
            page = context.new_page()
            arrive(page, desk, OWNER)
            page.goto(desk.at("analytics"))
            reload_until(page, "[data-bar]")
            label = page.locator("text[data-time]:visible").first
            hour = int(str(label.get_attribute("data-time"))[11:13])
            expect(label).to_have_text(f"{(hour - 7) % 24:02}:00")
            expect(page.get_by_text("Times below the bars are in UTC.")).to_be_hidden()
            page.get_by_role("button", name="UTC", exact=True).click()
            expect(label).to_have_text(f"{hour:02}:00")
            expect(page.get_by_text("Times below the bars are in UTC.").first).to_be_visible()

    browser.use(steps)


def test_a_bar_shows_a_card_with_its_values_until_escape(desk: Desk, browser: Chromium) -> None:
    def steps(page: Page) -> None:
        arrive(page, desk, OWNER)
        page.goto(desk.at("analytics"))
        reload_until(page, "[data-bar]")
        card = page.locator(".chart__card")
        for show in (page.locator("[data-bar]").last.hover, page.locator(".chart [tabindex='0']:visible").first.focus):
            page.mouse.move(0, 0)
            expect(card).to_have_count(0)
            show()
            expect(card).to_be_visible()
            page.keyboard.press("Escape")
            expect(card).to_have_count(0)

    browser.visit(steps)


@pytest.mark.parametrize("client", CLIENT_PAGES)
def test_screens_of_a_client(desk: Desk, browser: Chromium, axe: str, client: str) -> None:
    def steps(page: Page) -> None:
        camera = Camera(page, Watch(page.context), axe)
        arrive(page, desk, OWNER)
        for path in CLIENT_PAGES[client]:
            camera.visit(desk.at(path, client), f"client-{client}-{path.replace('/', '-') or 'settings'}")
        if "activity" in CLIENT_PAGES[client]:
            page.goto(desk.at("activity?outcome=refused", client))
            camera.visit(first_entry(page), f"client-{client}-sign-in-entry")

    browser.visit(steps)


def test_screens_with_errors_or_a_secret(desk: Desk, browser: Chromium, axe: str) -> None:
    def steps(page: Page) -> None:
        camera = Camera(page, Watch(page.context), axe)
        arrive(page, desk, OWNER)
        page.goto(desk.at("clients/new"))
        page.fill("input[name=name]", "Open port")
        page.fill("input[name=redirect_uris] >> nth=0", "http://example.com/#here")
        page.get_by_role("button", name="Create app").click()
        expect(page.locator(".field__errors").first).to_be_visible()
        camera.take("client-new-refused")
        page.goto(desk.at("playground", "web"))
        page.fill("textarea", desk.web.authorization_url(redirect_uri=f"{desk.web.redirect_uri}/"))
        page.get_by_role("button", name="Check the URL").click()
        expect(page.get_by_text(re.compile("slash at the end")).first).to_be_visible()
        camera.take("client-tester-difference")
        page.goto(desk.at("", "web"))
        page.get_by_role("button", name="Create a second secret").click()
        expect(page.locator("#secret")).to_be_visible()
        camera.take("client-secret-once")
        page.get_by_role("link", name="I have stored it").click()
        page.goto(desk.at("keys/new"))
        page.get_by_role("button", name="Create an API key").click()
        camera.take("key-new-refused")

    browser.visit(steps)


def test_screens_of_the_playground(desk: Desk, browser: Chromium, axe: str) -> None:
    def steps(page: Page) -> None:
        camera = Camera(page, Watch(page.context), axe)
        arrive(page, desk, OWNER)
        page.goto(desk.at("playground", "spa"))
        page.get_by_role("button", name="Add the playground’s URL").click()
        camera.take("playground-ready")
        page.get_by_role("button", name="Create the request").click()
        camera.take("playground-request")
        page.get_by_role("link", name="Open the URL and sign in").click()
        allow(page)
        page.wait_for_url("**/playground")
        camera.take("playground-code")
        page.get_by_role("button", name="Exchange the code").click()
        expect(page.get_by_role("button", name="End this test")).to_be_visible()
        camera.take("playground-tokens")

    browser.visit(steps)


def test_screens_for_a_viewer_and_for_a_new_account(desk: Desk, browser: Chromium, axe: str) -> None:
    def looks(page: Page) -> None:
        camera = Camera(page, Watch(page.context), axe)
        arrive(page, desk, VIEWER)
        for path in ("", "settings", "team", "keys", "clients"):
            camera.visit(desk.at(path), f"viewer-{path or 'project'}")
        for path in ("", "branding", "review"):
            camera.visit(desk.at(path, "web"), f"viewer-client-{path or 'settings'}")

    def begins(page: Page) -> None:
        camera = Camera(page, Watch(page.context), axe)
        arrive(page, desk, NEWCOMER)
        camera.take("console-home-empty")

    browser.visit(looks)
    browser.visit(begins)


def declare_weather(service: Service) -> None:
    """Declare an API, and wait until the service knows it."""
    scopes = [
        {"name": "weather.read", "title": "See the weather where you are", "description": "Reads the forecast."},
        {"name": "weather.places", "title": "Change your places", "sensitive": True, "api_keys": False},
    ]
    service.provision(
        apis=[
            {
                "slug": "weather",
                "name": "Orbit Weather",
                "identifier": "https://weather.example.com/a/rather/long/path/of/an/identifier",
                "description": "The weather of the next days, for every place.",
                "documentation_url": "https://weather.example.com/docs",
                "scopes": scopes,
            }
        ]
    )
    deadline = time.monotonic() + KNOWN_SECONDS
    while httpx.get(f"{service.address}/docs/apis/weather").status_code != 200:
        assert time.monotonic() < deadline
        time.sleep(0.5)


def test_screens_of_the_docs(live_service: Service, browser: Chromium, axe: str) -> None:
    declare_weather(live_service)

    def steps(page: Page) -> None:
        camera = Camera(page, Watch(page.context), axe)
        # Pages of the docs are made of the same parts, and some are long, so the two checks take turns.
        checks = cycle({width: scheme} for width, scheme in CHECKED.items())
        for name, each in PAGES.items():
            camera.visit(f"{live_service.address}/docs/{each.path}", f"docs-{name}", next(checks))
        camera.visit(f"{live_service.address}/docs/apis/weather", "docs-api")
        camera.visit(f"{live_service.address}/docs/search?q=redirect", "docs-search")
        camera.visit(f"{live_service.address}/docs/api/?endpoint=read_my_plan", "docs-try-it")
        camera.visit(f"{live_service.address}/docs/api/?api=weather&method=POST&path=/days", "docs-try-api")

    browser.visit(steps)
