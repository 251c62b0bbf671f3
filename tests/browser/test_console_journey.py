"""From sign-up to a working sign-in, as a new developer goes about it: with nothing but what the pages show.

Once with scripts and once without.
"""

import json
import re
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Response, expect

from tests.browser.steps import allow, sign_in, sign_up, tab_to, type_code
from tests.browser.watch import Watch
from tests.clients.person import PASSWORD
from tests.clients.quick_start import save, start
from tests.clients.terminal import Code, Terminal
from tests.services import keeper
from tests.services.chromium import Chromium
from tests.services.service import Service

pytestmark = [pytest.mark.browser, pytest.mark.slow]

# From the sign-up to a key that is refused, each page that the developer's browser shows.
MOST_PAGES = 16
# The logs and counts are written every few seconds.
WRITTEN_SECONDS = 40


@dataclass
class Developer:
    """Someone new at the console, and the person who tries their app."""

    service: Service
    context: BrowserContext
    other: BrowserContext
    folder: Path
    email: str
    person: str

    def __post_init__(self) -> None:
        self.watch = Watch(self.context)
        self.page = self.context.new_page()

    def registers(self) -> None:
        self.page.goto(f"{self.service.address}/console/")
        sign_up(self.page, self.email)
        type_code(self.page, self.service, self.email)
        expect(self.page.get_by_role("heading", level=1)).to_have_text("Projects")

    def makes_a_project(self) -> None:
        self.page.fill("input[name=name]", "Tide Tables")
        self.page.get_by_role("button", name="Create project").click()
        expect(self.page.get_by_role("heading", level=1)).to_have_text("Tide Tables")
        self.overview = self.page.url

    def makes_a_web_client(self) -> str:
        """Return the secret, which is shown once."""
        self.page.get_by_role("link", name="Create an app").first.click()
        self.page.fill("input[name=name]", "Tide Tables Web")
        self.page.check("input[name=type][value=web]")
        port = keeper.free_port()
        self.page.fill("input[name=redirect_uris] >> nth=0", f"http://localhost:{port}/callback")
        self.page.get_by_role("button", name="Create app").click()
        secret = self.page.inner_text("#secret").strip()
        assert secret
        self.page.get_by_role("link", name="I have stored it").click()
        return secret

    def runs_the_quick_start(self, secret: str) -> None:
        self.page.get_by_role("navigation", name="App Tide").get_by_role("link", name="Quick start").click()
        self.page.get_by_role("link", name="Python").click()
        self.page.wait_for_url("**/quick-start?language=python")
        commands = save(Code(self.page.content()).blocks, self.folder)
        with Terminal(self.folder) as terminal:
            assert start(terminal, commands, secret) == []
            origin = terminal.expect(r"Open (http://localhost:\d+)/")[1]
            visitor = self.other.new_page()
            visitor.goto(f"{origin}/")
            sign_in(visitor, self.person)
            allow(visitor)
            expect(visitor.locator("body")).to_contain_text("Hello, Ada Lovelace")
            terminal.expect(rf"Signed in: (\S+)[\s\S]*{re.escape(self.person)}")

    def runs_the_app_alone(self, secret: str) -> None:
        """Run the quick start as it is shown after the secret, and sign in to it in the same browser."""
        self.page.wait_for_url("**/quick-start*")
        commands = save(Code(self.page.content()).blocks, self.folder)
        quick_start = self.page.url
        with Terminal(self.folder) as terminal:
            assert start(terminal, commands, secret) == []
            self.page.goto(terminal.expect(r"Open (http://localhost:\d+)/")[1])
            allow(self.page)
            expect(self.page.locator("body")).to_contain_text("Hello, Mary")
        self.page.goto(quick_start)

    def makes_a_key_and_calls(self) -> str:
        """Return the lines for a terminal that the page shows with the key."""
        self.page.get_by_role("link", name="API keys").click()
        self.page.fill("input[name=name]", "Nightly script")
        self.page.check("input[name=permissions][value='account.read']")
        self.page.get_by_role("button", name="Create an API key").click()
        command = self.page.inner_text("#command")
        (self.folder / "api-key.env").write_text(self.page.inner_text("#env"), encoding="utf-8")
        self.page.get_by_role("link", name="I have stored it").click()
        answer = self.calls(command)
        assert (answer["email"], answer["email_verified"]) == (self.email, True)
        return command

    def calls(self, command: str) -> dict[str, object]:
        with Terminal(self.folder) as terminal:
            terminal.type(command)
            answer: dict[str, object] = json.loads(terminal.expect(r"(?m)^\{.*\}$")[0])
            return answer

    def revokes_the_key(self) -> None:
        if not self.page.url.endswith("/keys"):
            self.page.get_by_role("link", name="API keys").click()
        self.page.get_by_role("link", name="Revoke Nightly script").click()
        self.page.get_by_role("button", name="Revoke it now").click()
        expect(self.page.get_by_role("row", name="Nightly script")).to_contain_text("Revoked")

    def finds(self, link: str, *texts: str) -> None:
        """Wait until the page behind a link shows all of `texts`."""
        self.page.get_by_role("link", name=link, exact=True).first.click()
        deadline = time.monotonic() + WRITTEN_SECONDS
        while True:
            shown = self.page.inner_text("main")
            missing = [text for text in texts if text not in shown]
            if not missing:
                return
            assert time.monotonic() < deadline, f"{link} does not show {missing}:\n{shown}"
            time.sleep(1)
            self.page.reload()


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_a_developer_goes_from_sign_up_to_a_revoked_key(
    live_service: Service, browser: Chromium, tmp_path: Path, scripts: bool
) -> None:
    email, person = f"new-{scripts}@example.com".lower(), f"ada-{scripts}@example.com".lower()
    live_service.provision(
        people=[{"email": person, "password": PASSWORD, "given_name": "Ada", "family_name": "Lovelace"}]
    )

    def steps(chromium: Browser) -> None:
        with (
            chromium.new_context(java_script_enabled=scripts) as context,
            chromium.new_context(java_script_enabled=scripts) as other,
        ):
            developer = Developer(live_service, context, other, tmp_path, email, person)
            go(developer)
            developer.watch.check()

    browser.use(steps)


def go(developer: Developer) -> None:
    developer.registers()
    developer.makes_a_project()
    secret = developer.makes_a_web_client()
    developer.runs_the_quick_start(secret)
    command = developer.makes_a_key_and_calls()
    developer.page.goto(developer.overview)
    developer.page.get_by_role("link", name="Logs", exact=True).click()
    developer.finds("Requests", "Tide Tables Web", "Nightly script")
    developer.finds("Analytics", "/v1/me")
    developer.revokes_the_key()
    refusal = developer.calls(command)
    assert refusal["error"]["code"] == "invalid_api_key"  # type: ignore[index]
    developer.page.get_by_role("link", name="Logs", exact=True).click()
    developer.finds("Requests", "invalid_api_key")
    developer.finds("Analytics", "invalid_api_key")
    developer.page.goto(developer.overview)
    page: Page = developer.page
    for step in ("Create an app", "Sign in the first person", "Send a request to the API"):
        expect(page.locator("li", has_text=step).get_by_text("Done")).to_be_visible()


def test_a_new_developer_is_done_within_sixteen_pages(live_service: Service, browser: Chromium, tmp_path: Path) -> None:
    """With an app that runs, a call with a key, and that key refused: who signs in to the app is the developer."""
    email = "shortest@example.com"

    def steps(chromium: Browser) -> None:
        with chromium.new_context() as context:
            developer = Developer(live_service, context, context, tmp_path, email, email)
            shown: list[str] = []

            def note(answer: Response) -> None:
                is_page = answer.request.is_navigation_request() and answer.status == 200
                # The page after the consent form leads to the app at once.
                if is_page and live_service.owns(answer.url) and not answer.url.endswith("/connect/consent"):
                    shown.append(answer.url)

            developer.page.on("response", note)
            developer.registers()
            developer.makes_a_project()
            secret = developer.makes_a_web_client()
            developer.runs_the_app_alone(secret)
            command = developer.makes_a_key_and_calls()
            developer.revokes_the_key()
            assert developer.calls(command)["error"]["code"] == "invalid_api_key"  # type: ignore[index]
            assert len(shown) <= MOST_PAGES, "\n".join(shown)

    browser.use(steps)


def test_a_project_and_a_client_are_created_by_keyboard(live_service: Service, browser: Chromium) -> None:
    email = "keys-only@example.com"
    live_service.provision(people=[{"email": email, "password": PASSWORD}])

    def enter(page: Page, text: str = "") -> None:
        page.keyboard.type(text)
        page.keyboard.press("Enter")

    def steps(page: Page) -> None:
        page.goto(f"{live_service.address}/console/")
        sign_in(page, email)
        heading = page.get_by_role("heading", level=1)
        expect(heading).to_have_text("Projects")
        tab_to(page, "input[name=name]")
        enter(page, "Made by keys")
        expect(heading).to_have_text("Made by keys")
        tab_to(page, "main a[href$='/clients/new']")
        enter(page)
        expect(heading).to_have_text("Create an app")
        tab_to(page, "input[name=name]")
        page.keyboard.type("Keys Desktop")
        tab_to(page, "input[name=type]")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowDown")
        tab_to(page, "input[name=redirect_uris]")
        enter(page, "http://127.0.0.1:3002/")
        expect(heading).to_have_text("Quick start")

    browser.visit(steps)
