"""The guides for browser apps, in a browser."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Error, Page

from tests.browser.watch import Watch
from tests.clients.person import PASSWORD
from tests.clients.quick_start import check_installable
from tests.guides.packages import copy_modules, pinned
from tests.guides.reading import OpenGuide
from tests.guides.runs import record_run
from tests.guides.tokens import count_refresh_tokens
from tests.services.chromium import Chromium

pytestmark = [pytest.mark.slow, pytest.mark.node, pytest.mark.browser]
OPEN_SECONDS = 60


@pytest.mark.parametrize("name", ["react", "svelte", "vue"])
def test_browser_app(name: str, guide: Callable[..., OpenGuide], browser: Chromium) -> None:
    lock = Path(__file__).parent / name
    app = guide(name)
    app.save()
    install, run = app.commands
    check_installable(install, lock)
    (app.folder / "package.json").write_text('{"name": "my-app", "private": true}')  # as `npm init -y` does
    copy_modules(lock, app.folder)
    app.run(run)
    browser.visit(lambda page: walk_in_browser(app, page))
    record_run(name, pinned(lock, name, "oidc-client-ts", "vite"))


def open_first(page: Page, url: str) -> None:
    """Open a page of a server that accepts connections, but may not keep them while it starts."""
    deadline = time.monotonic() + OPEN_SECONDS
    while True:
        try:
            page.goto(url)
        except Error:
            if time.monotonic() > deadline:
                raise
            page.wait_for_timeout(500)
        else:
            return


def walk_in_browser(app: OpenGuide, page: Page) -> None:
    """Sign in, call the API, refresh twice, sign out here and there, and decline once."""
    open_first(page, f"{app.origin}/")
    watch = Watch(page.context)
    begin(app, page)
    answer(page, "allow")
    page.wait_for_selector(":text('Hello, Ada Lovelace')")
    assert page.url == f"{app.origin}/"
    assert app.person.email in me(page)

    issued = count_refresh_tokens(app.service, app.client["client_id"])
    for times in (1, 2):
        with page.expect_response("**/connect/token") as token:
            page.click("button:text('Refresh')")
        assert token.value.ok
        assert count_refresh_tokens(app.service, app.client["client_id"]) == issued + times
    assert app.person.email in me(page)
    watch.check()

    page.click("button:text('Sign out')")
    page.wait_for_selector("button:text('Sign in')")
    page.wait_for_url(f"{app.origin}/")
    begin(app, page)  # asks for the password: the person was signed out at the service too
    page.wait_for_selector(":text('Hello, Ada Lovelace'), button[value=allow]")

    page.context.clear_cookies()
    page.evaluate("sessionStorage.clear()")
    page.goto(f"{app.origin}/")
    page.route("**/connect/authorize?*", lambda route: route.continue_(url=f"{route.request.url}&prompt=consent"))
    begin(app, page)
    answer(page, "cancel")
    page.wait_for_selector(":text('Not signed in: access_denied')")


def begin(app: OpenGuide, page: Page) -> None:
    page.click("button:text('Sign in')")
    page.fill("input[name=login]", app.person.email)
    page.fill("input[name=password]", PASSWORD)
    page.click("button[type=submit]:has-text('Sign in')")


def answer(page: Page, decision: str) -> None:
    page.click(f"button[value={decision}]")


def me(page: Page) -> str:
    page.click("button:text('Profile')")
    return page.inner_text("pre")
