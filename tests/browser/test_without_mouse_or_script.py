"""Signing in with the keyboard alone. test_way_back.py signs in without JavaScript."""

import pytest
from playwright.sync_api import Page

from tests.browser.conftest import KEYBOARD
from tests.browser.steps import ALLOW, arrive, expect_consent_page, tab_to
from tests.browser.watch import Watch
from tests.clients.app import App
from tests.clients.person import PASSWORD
from tests.services.chromium import Chromium

pytestmark = pytest.mark.browser


def test_the_keyboard_is_enough_to_sign_in(app: App, browser: Chromium) -> None:
    def steps(page: Page) -> None:
        watch = Watch(page.context)
        page.goto(app.authorization_url())
        tab_to(page, "input[name=login]")
        page.keyboard.type(KEYBOARD)
        tab_to(page, "input[name=password]")
        page.keyboard.type(PASSWORD)
        page.keyboard.press("Enter")
        expect_consent_page(page, app)
        tab_to(page, ALLOW)
        page.keyboard.press("Enter")
        assert arrive(page, app)["email"] == KEYBOARD
        watch.check()

    browser.visit(steps)


def test_the_first_tab_skips_to_the_content(app: App, browser: Chromium) -> None:
    def steps(page: Page) -> str:
        page.goto(app.authorization_url())
        # The field that has the focus at first is where most people want to be; the link stands before it all.
        page.evaluate("document.body.tabIndex = -1; document.body.focus()")
        page.keyboard.press("Tab")
        return str(page.evaluate("document.activeElement.getAttribute('href')"))

    assert browser.visit(steps) == "#main"
