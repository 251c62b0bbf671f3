"""The frame of the console's pages: headlines near the top, menus that fold, forms in two columns where it is wide."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, ViewportSize, expect

from core.time_zones import NAME
from tests.browser.steps import sign_in
from tests.clients.person import PASSWORD
from tests.services.chromium import Chromium
from tests.services.service import Service

pytestmark = [pytest.mark.browser, pytest.mark.slow]

DEVELOPER = "framer@example.com"
PHONE, TABLET, DESK = (ViewportSize(width=width, height=800) for width in (360, 768, 1280))
NEAR_THE_TOP = 200  # pixels


@pytest.fixture(scope="module")
def client(live_service: Service) -> str:
    """Return the address of a client with a long name."""
    web = {"name": "Starling for the Desk", "type": "web", "redirect_uris": ["https://app.example.com/callback"]}
    declared = live_service.provision(
        people=[{"email": DEVELOPER, "password": PASSWORD, "given_name": "Maker"}],
        projects=[{"name": "Starling and Friends", "owner": DEVELOPER, "clients": [web]}],
    )["projects"][0]
    return f"{live_service.address}/console/p/{declared['id']}/clients/{declared['clients'][0]['client_id']}/"


@pytest.fixture
def at(client: str) -> Callable[[Page, str], None]:
    """Go to a page beside the client's, signed in."""

    def go(page: Page, path: str) -> None:
        page.goto(client)
        if "/account/login/" in page.url:
            sign_in(page, DEVELOPER)
            page.wait_for_url(client)
        page.goto(f"{client}{path}")

    return go


def top(found: Locator) -> float:
    box = found.bounding_box()
    assert box is not None
    return box["y"]


def middle(found: Locator) -> float:
    box = found.bounding_box()
    assert box is not None
    return box["y"] + box["height"] / 2


@pytest.mark.parametrize("screen", [PHONE, TABLET], ids=["phone", "tablet"])
def test_headlines_are_near_the_top(at: Callable[[Page, str], None], browser: Chromium, screen: ViewportSize) -> None:
    def steps(page: Page) -> None:
        for path in ("", "playground", "activity", "../../", "../../keys", "../../logs/requests"):
            at(page, path)
            assert top(page.get_by_role("heading", level=1)) < NEAR_THE_TOP, path

    browser.visit(steps, viewport=screen)


def test_the_project_s_menu_opens_without_a_script(at: Callable[[Page, str], None], browser: Chromium) -> None:
    def steps(page: Page) -> None:
        at(page, "")
        keys = page.locator(".site-header").get_by_role("link", name="API keys")
        expect(keys).to_be_hidden()
        page.locator(".site-header summary", has_text="Project menu").click()
        keys.click()
        expect(page.get_by_role("heading", level=1)).to_have_text("API keys")

    browser.visit(steps, viewport=PHONE, java_script_enabled=False)


def test_fields_are_next_to_their_labels_on_wide_screens(at: Callable[[Page, str], None], browser: Chromium) -> None:
    def steps(page: Page) -> None:
        at(page, "")
        legend = page.locator("legend", has_text="Redirect URLs")
        field = page.locator("#id_redirect_uris_1")
        help_text = page.locator("#id_redirect_uris_helptext")
        assert abs(middle(legend) - middle(field)) < 10
        assert top(help_text) < top(page.get_by_role("button", name="Add a row of Redirect URLs"))
        page.set_viewport_size(TABLET)
        assert top(legend) < top(help_text) < top(field)

    browser.visit(steps, viewport=DESK)


def test_a_long_legend_parts_no_choices(live_service: Service, client: str, browser: Chromium) -> None:
    def steps(page: Page) -> None:
        page.goto(f"{live_service.address}/account/apps/")
        sign_in(page, DEVELOPER)
        first, second = page.locator("#which_ask"), page.locator("#which_last")
        assert 0 < top(second) - top(first) < 60
        assert abs(middle(first) - middle(page.get_by_text("Always ask me which account"))) < 10

    browser.visit(steps, viewport=DESK)


def test_copy_buttons_are_always_visible_beside_their_id(at: Callable[[Page, str], None], browser: Chromium) -> None:
    def steps(page: Page) -> None:
        at(page, "")
        shown = page.locator(".identifier:visible").filter(has=page.locator(".copy"))
        assert shown.count()
        for row in shown.all():
            assert row.locator(".copy").evaluate("button => getComputedStyle(button).opacity") == "1"
            code, button = row.locator("code").bounding_box(), row.locator(".copy").bounding_box()
            assert code is not None
            assert button is not None
            assert button["y"] < code["y"] + code["height"]
            assert button["x"] >= code["x"] + code["width"]

    browser.visit(steps, viewport=PHONE)


def test_only_links_in_running_text_are_underlined(at: Callable[[Page, str], None], browser: Chromium) -> None:
    line = "link => getComputedStyle(link).textDecorationLine"

    def steps(page: Page) -> None:
        at(page, "../../settings")
        page.locator("main").evaluate(
            "main => main.insertAdjacentHTML('beforeend', '<p>Read <a href=/docs/>it</a>.</p>')"
        )
        assert page.locator("main p a").last.evaluate(line) == "underline"
        entry = page.get_by_role("navigation", name="Project", exact=True).get_by_role("link").first
        assert entry.evaluate(line) == "none"

    browser.visit(steps, viewport=DESK)


def test_times_are_local_and_switch_to_utc(at: Callable[[Page, str], None], browser: Chromium) -> None:
    def steps(page: Page) -> None:
        at(page, "../../settings")
        shown = page.locator("main time").first
        expect(shown).to_have_text(re.compile(r"^(Today|Yesterday), \d\d:\d\d$"))
        utc = re.compile(r"^\d+ \w+ \d{4}, \d\d:\d\d UTC$")
        expect(shown).to_have_attribute("title", utc)
        switch = page.get_by_role("group", name="Times")
        switch.get_by_role("button", name="UTC").click()
        expect(shown).to_have_text(utc)
        page.reload()
        expect(shown).to_have_text(utc)
        switch.get_by_role("button", name="Local").click()
        expect(shown).to_have_text(re.compile("^(Today|Yesterday), "))

    browser.visit(steps, viewport=DESK, timezone_id="Asia/Kathmandu")


def test_without_a_script_the_zone_of_the_cookie_is_used(at: Callable[[Page, str], None], browser: Chromium) -> None:
    """The script stored it at an earlier visit. tests/core/test_time_zones.py has unknown zones."""

    def steps(page: Page) -> None:
        at(page, "../../settings")
        page.context.add_cookies([{"name": NAME, "value": "Asia/Kathmandu", "url": page.url}])
        page.reload()
        expect(page.locator("main time").first).to_have_text(re.compile(r"^(Today|Yesterday), \d\d:\d\d$"))
        expect(page.get_by_role("group", name="Times")).to_be_hidden()

    browser.visit(steps, viewport=DESK, java_script_enabled=False)


@pytest.mark.parametrize("width", [360, 900, 1280])
def test_a_long_name_without_spaces_breaks(live_service: Service, browser: Chromium, width: int) -> None:
    client = {"name": "q" * 100, "type": "web", "redirect_uris": ["https://app.example.com/callback"]}
    declared = live_service.provision(
        people=[{"email": DEVELOPER, "password": PASSWORD, "given_name": "Maker"}],
        projects=[{"name": "p" * 100, "owner": DEVELOPER, "clients": [client]}],
    )["projects"][0]
    project = f"{live_service.address}/console/p/{declared['id']}/"
    settings = f"{project}clients/{declared['clients'][0]['client_id']}/"

    def steps(page: Page) -> None:
        page.goto(settings)
        sign_in(page, DEVELOPER)
        for url in (settings, f"{settings}delete", project, f"{project}clients", f"{project}sign-ins"):
            page.goto(url)
            assert page.evaluate("document.documentElement.scrollWidth") <= width, url
        page.goto(settings)
        if width == 900:
            last = page.get_by_role("link", name="Review", exact=True).bounding_box()
            assert last is not None
            assert last["x"] + last["width"] <= width

    browser.visit(steps, viewport=ViewportSize(width=width, height=800))
