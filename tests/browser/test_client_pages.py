"""The console's pages of clients and keys: what their scripts add, and everything without them."""

import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Dialog, Page, expect

from tests.browser.camera import Camera
from tests.browser.steps import sign_in
from tests.browser.watch import Watch
from tests.clients.person import PASSWORD
from tests.services.chromium import Chromium
from tests.services.service import Service

pytestmark = [pytest.mark.browser, pytest.mark.node, pytest.mark.slow]

DEVELOPER = "maker@example.com"
URI = "https://app.example.com/callback"


@pytest.fixture(scope="module")
def project(live_service: Service) -> str:
    """Return the address of a project that has one web client."""
    web = {"name": "Starling Web", "type": "web", "redirect_uris": [URI]}
    declared = live_service.provision(
        people=[{"email": DEVELOPER, "password": PASSWORD, "given_name": "Maker"}],
        projects=[{"name": "Starling", "owner": DEVELOPER, "clients": [web]}],
    )
    return f"{live_service.address}/console/p/{declared['projects'][0]['id']}"


@pytest.fixture
def at(project: str) -> Callable[[Page, str], None]:
    """Go to a page of the project, signed in."""

    def go(page: Page, path: str) -> None:
        page.goto(f"{project}/{path}")
        if "/account/login/" in page.url:
            sign_in(page, DEVELOPER)
            page.wait_for_url(f"{project}/{path}")

    return go


def rows(page: Page, name: str = "redirect_uris") -> list[str]:
    return [field.input_value() for field in page.locator(f"input[name={name}]").all()]


def said_of(page: Page, number: int) -> str:
    return page.locator(f"#id_redirect_uris_{number}_says").inner_text()


def test_the_client_form_checks_input_while_typing(
    at: Callable[[Page, str], None], browser: Chromium, axe: str
) -> None:
    def steps(page: Page) -> None:
        camera = Camera(page, Watch(page.context), axe)
        at(page, "clients/new")
        page.fill("input[name=name]", "0penp0rt tools")
        expect(page.locator("#id_name_says")).to_contain_text("A name can't contain")
        page.fill("input[name=name]", "Starling Desk")
        expect(page.locator("#id_name_says")).to_have_text("")
        page.fill("#id_redirect_uris_1", "http://app.example.com/")
        expect(page.locator("#id_redirect_uris_1_says")).to_have_text(
            "http is allowed only for localhost and 127.0.0.1."
        )
        page.fill("#id_redirect_uris_1", URI)
        page.get_by_role("button", name="Add a row of Redirect URLs").click()
        page.fill("#id_redirect_uris_2", f"{URI}/")
        expect(page.locator("#id_redirect_uris_1_says")).to_contain_text("only by a trailing slash")
        page.get_by_role("button", name="Add a row of Redirect URLs").click()
        assert page.evaluate("document.activeElement.id") == "id_redirect_uris_3"
        page.keyboard.type("myapp://x")
        expect(page.locator("#id_redirect_uris_3_says")).to_contain_text("Custom schemes are not accepted")
        camera.take("client-new-typed")
        page.get_by_role("button", name="Remove Redirect URL 3").click()
        page.get_by_role("button", name="Remove Redirect URL 1").click()
        assert rows(page) == [f"{URI}/"]
        expect(page.locator("#id_redirect_uris_1_says")).to_have_text("")
        page.check("#id_type_native")
        page.get_by_role("button", name="Create app").click()
        expect(page.locator(".alert--success")).to_contain_text("Starling Desk is created.")
        assert page.url.endswith("/quick-start")

    browser.visit(steps)


def test_the_enter_key_saves_and_asks_for_no_rows(at: Callable[[Page, str], None], browser: Chromium) -> None:
    def steps(page: Page) -> None:
        at(page, "clients?q=Starling+Web")
        page.get_by_role("link", name="Starling Web").click()
        page.fill("#id_redirect_uris_2", f"{URI}/entered")
        page.press("#id_redirect_uris_2", "Enter")
        expect(page.locator(".alert--success")).to_contain_text("Saved.")
        assert rows(page)[:2] == [URI, f"{URI}/entered"]

    for script in (True, False):
        browser.visit(steps, java_script_enabled=script)


def test_the_page_of_a_secret_asks_before_it_is_left(
    at: Callable[[Page, str], None], browser: Chromium, axe: str
) -> None:
    def steps(page: Page) -> None:
        camera = Camera(page, Watch(page.context), axe)
        asked: list[str] = []

        def stay(dialog: Dialog) -> None:
            asked.append(dialog.type)
            dialog.dismiss()

        at(page, "clients?q=Starling+Web")
        page.get_by_role("link", name="Starling Web").click()
        camera.take("client-secrets")
        page.get_by_role("button", name="Create a second secret").click()
        secret = page.locator("#secret").inner_text()
        assert re.fullmatch(r"op_secret_[A-Za-z0-9]{43}", secret)
        camera.take("secret-once")
        with page.expect_download() as started:
            page.get_by_role("button", name="Download").click()
        assert started.value.suggested_filename == "client.env"
        assert f"CLIENT_SECRET={secret}\n" in Path(started.value.path()).read_text()

        page.on("dialog", stay)
        here = page.url
        with page.expect_event("dialog"):
            page.get_by_role("link", name="Console").first.click()
        assert (asked, page.url) == (["beforeunload"], here)
        page.get_by_role("link", name="I have stored it").click()
        page.wait_for_url("**/quick-start")
        assert asked == ["beforeunload"]

    browser.visit(steps)


def test_settings_ask_before_a_change_is_left_behind(at: Callable[[Page, str], None], browser: Chromium) -> None:
    def steps(page: Page) -> None:
        asked: list[str] = []

        def stay(dialog: Dialog) -> None:
            asked.append(dialog.type)
            dialog.dismiss()

        page.on("dialog", stay)
        at(page, "clients?q=Starling+Web")
        page.get_by_role("link", name="Starling Web").click()
        page.get_by_label("Optional: email").check()
        with page.expect_event("dialog"):
            page.get_by_role("button", name="Turn off").click()
        assert asked == ["beforeunload"]
        page.get_by_role("button", name="Save", exact=True).last.click()
        expect(page.locator(".alert--success")).to_contain_text("Saved.")
        expect(page.get_by_label("Optional: email")).to_be_checked()
        assert asked == ["beforeunload"]

    browser.visit(steps)


def test_clients_and_keys_without_javascript(at: Callable[[Page, str], None], browser: Chromium) -> None:
    def steps(page: Page) -> None:
        at(page, "clients/new")
        page.fill("input[name=name]", "Starling Plain")
        page.check("#id_type_web")
        page.fill("#id_redirect_uris_1", "http://app.example.com/")
        page.get_by_role("button", name="Add a row of Redirect URLs").click()
        assert len(rows(page)) == 1 + 2
        assert "http is allowed only" in said_of(page, 1)
        page.fill("#id_redirect_uris_1", "")
        page.fill("#id_redirect_uris_2", URI)
        page.get_by_role("button", name="Create app").click()
        expect(page.locator("h1")).to_have_text("Starling Plain is created")
        assert page.locator("#secret").inner_text().startswith("op_secret_")
        assert not page.get_by_role("button", name="Download").is_visible()
        page.get_by_role("link", name="I have stored it").click()

        page.get_by_role("navigation", name="App").get_by_role("link", name="Playground").click()
        page.fill("[name=url]", f"redirect_uri={URI}&scope=openid")
        page.get_by_role("button", name="Check the URL").click()
        expect(page.locator(".alert--error")).to_contain_text("No app with this client_id is registered.")
        page.get_by_role("navigation", name="App").get_by_role("link", name="Settings").click()
        page.get_by_role("button", name="Turn off").click()
        expect(page.locator(".alert--success")).to_contain_text("within 30 seconds")
        page.get_by_role("link", name="Delete", exact=True).click()
        page.fill("[name=typed]", "Starling Plain")
        page.get_by_role("button", name="Delete it now").click()
        expect(page.locator(".alert--success")).to_contain_text("Starling Plain is deleted.")

        at(page, "keys/new")
        page.fill("[name=name]", "Nightly report")
        page.get_by_role("button", name="Create an API key").click()
        assert page.locator("#secret").inner_text().startswith("op_key_")
        page.get_by_role("link", name="I have stored it").click()
        page.get_by_role("link", name="Revoke Nightly report").click()
        page.get_by_role("button", name="Revoke it now").click()
        expect(page.locator("tbody tr")).to_contain_text("Revoked")

    browser.visit(steps, java_script_enabled=False)


def test_screens_of_clients_and_keys(at: Callable[[Page, str], None], browser: Chromium, axe: str) -> None:
    def steps(page: Page) -> None:
        camera = Camera(page, Watch(page.context), axe)
        for path, name in (("clients", "clients"), ("clients?q=zzz", "clients-none"), ("clients/new", "client-new")):
            at(page, path)
            camera.take(name)
        page.get_by_role("button", name="Create app").click()
        camera.take("client-new-refused")
        at(page, "clients?q=Starling+Web")
        page.get_by_role("link", name="Starling Web").click()
        camera.take("client-settings")
        settings = page.url
        page.goto(f"{settings}?add={URI}/proposed")
        camera.take("client-settings-proposed")
        page.get_by_role("navigation", name="App").get_by_role("link", name="Playground").click()
        page.fill("[name=url]", f"client_id={settings.rstrip('/').rpartition('/')[2]}&redirect_uri={URI}/")
        page.get_by_role("button", name="Check the URL").click()
        camera.take("client-tester")
        for path in ("type", "delete"):
            page.goto(f"{settings}{path}")
            camera.take(f"client-{path}")
        page.goto(settings)
        page.get_by_role("link", name="Revoke …").first.click()
        camera.take("client-secret-end")
        at(page, "keys/new")
        camera.take("key-new")
        page.fill("[name=name]", "Looked at")
        page.get_by_role("button", name="Create an API key").click()
        camera.take("key-once")
        page.get_by_role("link", name="I have stored it").click()
        camera.take("keys")
        page.get_by_role("link", name="Revoke Looked at").click()
        camera.take("key-revoke")

    browser.visit(steps)


def test_a_signed_out_developer_finds_a_warning_and_no_focus_on_save(
    at: Callable[[Page, str], None], project: str, browser: Chromium, axe: str
) -> None:
    def steps(page: Page) -> None:
        watch = Watch(page.context)
        watch.expect("/connect/authorize", 400)
        camera = Camera(page, watch, axe)
        at(page, "clients?q=Starling+Web")
        page.get_by_role("link", name="Starling Web").click()
        client_id = page.locator("#client-id").inner_text()
        page.context.clear_cookies()
        sent = urlencode({"client_id": client_id, "redirect_uri": "https://app.starling.test/callback"})
        page.goto(f"{project.partition('/console/')[0]}/connect/authorize?{sent}")
        expect(page.locator("mark")).to_have_count(0)
        page.get_by_role("link", name="sign in to see what is wrong").click()
        page.fill("input[name=login]", DEVELOPER)
        page.fill("input[name=password]", PASSWORD)
        page.press("input[name=password]", "Enter")
        expect(page.locator("#for-developers")).to_be_visible()
        expect(page.locator("body")).to_contain_text("The host app.starling.test has nothing in common")
        camera.take("sign-in-error-foreign-host")
        page.get_by_role("link", name="Add this URL to the app").click()
        expect(page.locator("body")).to_contain_text("app.starling.test has nothing in common")
        assert page.evaluate("document.activeElement.textContent.trim()") != "Save"
        camera.take("client-settings-foreign-host")

    browser.visit(steps)
