"""Apps whose callback redirects on to other origins: people end there, whichever form of ours led to the app."""

import contextlib
import re
from collections.abc import Callable, Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.steps import ALLOW, sign_in
from tests.browser.watch import Watch
from tests.clients.app import App, answering
from tests.clients.person import PASSWORD
from tests.services.chromium import Chromium
from tests.services.service import Service

pytestmark = pytest.mark.browser

OWNER = "olga.onward@example.com"
ODD = "\"'; url=https://a.example/, <b>&amp;%41"
FORM_POST = {"response_mode": "form_post"}


class Onward(BaseHTTPRequestHandler):
    """Redirects everything to one URL, or shows a page if there is none."""

    def __init__(self, following: str, *args: Any) -> None:
        self.following = following
        super().__init__(*args)

    def do_GET(self) -> None:
        body = b"" if self.following else b"<!DOCTYPE html><html lang=en><title>End</title><link rel=icon href=data:,>"
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(302 if self.following else 200)
        if self.following:
            self.send_header("Location", self.following)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        self.do_GET()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  (the library's name)
        """Print nothing."""


def make_onward(service: Service, origin: str) -> App:
    app = App(service, origin, f"Onward {origin.rpartition(':')[2]}")
    person = {"email": OWNER, "password": PASSWORD, "given_name": "Olga"}
    project = {"name": app.name, "owner": OWNER, "clients": [app.declaration()]}
    app.take_credentials(service.provision(people=[person], projects=[project]))
    return app


@pytest.fixture
def onward(live_service: Service) -> Iterator[tuple[App, str]]:
    """An app that redirects to another host and port, which redirects to a third; and where that ends."""
    with contextlib.ExitStack() as stack:
        end = f"http://localhost:{stack.enter_context(answering(partial(Onward, '')))}/end"
        between = f"http://127.0.0.1:{stack.enter_context(answering(partial(Onward, end)))}/between"
        origin = f"http://localhost:{stack.enter_context(answering(partial(Onward, between)))}"
        yield make_onward(live_service, origin), end


def allow(page: Page) -> None:
    page.click(ALLOW)


def cancel(page: Page) -> None:
    page.click("button[value=cancel]")


def choose(page: Page) -> None:
    page.get_by_role("button", name=re.compile(OWNER)).click()


def confirm(page: Page) -> None:
    page.fill("input[name=password]", PASSWORD)
    page.click("form:has(input[name=password]) button[type=submit]")


@pytest.mark.parametrize("scripts", [True, False])
def test_each_form_leads_to_where_the_app_leads(
    live_service: Service, onward: tuple[App, str], browser: Chromium, scripts: bool
) -> None:
    app, end = onward

    def go(page: Page, answer: Callable[[Page], None], **changes: str) -> None:
        page.goto(app.authorization_url(**changes))
        answer(page)
        if changes.get("response_mode") and not scripts:
            page.get_by_role("button", name="Continue").click()
        page.wait_for_url(end)

    def steps(page: Page) -> None:
        watch = Watch(page.context)
        page.goto(app.authorization_url())
        sign_in(page, OWNER)
        allow(page)
        page.wait_for_url(end)
        go(page, allow, prompt="consent")
        go(page, cancel, prompt="consent")
        go(page, allow, prompt="consent", **FORM_POST)
        go(page, cancel, prompt="consent", **FORM_POST)
        go(page, choose, prompt="select_account")
        go(page, confirm, prompt="login")
        go(page, confirm, prompt="login", **FORM_POST)
        go(page, lambda page: None)  # remembered consent

        page.goto(f"{live_service.address}/connect/logout?post_logout_redirect_uri={app.signed_out_uri}")
        page.click("button[value=sign-out]")
        page.get_by_role("link", name=f"Back to {app.origin.partition('://')[2]}").click()
        page.wait_for_url(end)
        go(page, lambda page: sign_in(page, OWNER))
        watch.check()

    browser.visit(steps, java_script_enabled=scripts)


@pytest.mark.parametrize("changes", [{}, FORM_POST])
def test_an_app_may_lead_to_another_program(live_service: Service, browser: Chromium, changes: dict[str, str]) -> None:
    """Chromium has no program for this scheme, so it stays; but it does not block the redirect."""
    target = "openport-test:done"

    def steps(page: Page, app: App) -> None:
        failed: list[str] = []
        blocked: list[str] = []
        page.on("requestfailed", lambda request: failed.append(request.url))
        page.on("console", lambda message: blocked.append(message.text))
        page.goto(app.authorization_url(**changes))
        sign_in(page, OWNER)
        page.click(ALLOW)
        for _ in range(100):
            # Leaving the sign-in page may abort its request for a passkey.
            if any(url.startswith((target, app.redirect_uri)) for url in failed):
                break
            page.wait_for_timeout(100)
        else:
            pytest.fail(f"the other program was not asked: {failed}")
        assert not [text for text in blocked if "form-action" in text]

    with answering(partial(Onward, target)) as port:
        app = make_onward(live_service, f"http://localhost:{port}")
        browser.visit(lambda page: steps(page, app))


def test_the_page_between_is_readable_and_traps_nobody(
    live_service: Service, onward: tuple[App, str], browser: Chromium
) -> None:
    app, end = onward

    def steps(page: Page) -> None:
        asked: list[str] = []

        def answer(route: Route) -> None:
            asked.append(route.request.url)
            assert "referer" not in route.request.headers
            route.fulfill(status=204)

        page.goto(end)
        page.goto(app.authorization_url(state=ODD))
        sign_in(page, OWNER)
        page.wait_for_selector(ALLOW)
        # The page stays where browsers don't let a page lead elsewhere, and here if the callback has no content.
        page.route(f"{app.redirect_uri}*", answer)
        page.click(ALLOW)
        expect(page).to_have_title(re.compile("^Back to the app"))
        expect(page.get_by_role("heading", level=1)).to_have_text("Taking you back to the app")
        page.wait_for_load_state("networkidle")
        assert parse_qs(urlsplit(asked[0]).query)["state"] == [ODD]
        page.unroute(f"{app.redirect_uri}*")
        page.get_by_role("link", name="Continue").click()
        page.wait_for_url(end)

    def back(page: Page) -> None:
        page.goto(end)
        page.goto(app.authorization_url())
        sign_in(page, OWNER)
        page.wait_for_url(end)
        page.go_back()
        expect(page).to_have_title(re.compile("already answered"))
        page.go_back()
        expect(page).to_have_url(end)

    browser.visit(steps)
    browser.visit(back)
