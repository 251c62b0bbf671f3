"""Detours with an app waiting: a forgotten password, the back button, an impatient double click."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import FORGETFUL, HASTY
from tests.browser.steps import ALLOW, allow, arrive, expect_consent_page, sign_in, type_code
from tests.browser.watch import Watch
from tests.clients.app import App
from tests.services.chromium import Chromium
from tests.services.service import Service

pytestmark = pytest.mark.browser


def test_a_forgotten_password_is_reset(live_service: Service, app: App, browser: Chromium) -> None:
    new_password = "quiet lantern 57 meadow"

    def steps(page: Page) -> None:
        watch = Watch(page.context)
        page.goto(app.authorization_url())
        page.get_by_role("link", name="Forgot your password?").click()
        page.fill("input[name=email]", FORGETFUL)
        page.get_by_role("button", name="Send the code").click()
        type_code(page, live_service, FORGETFUL)
        page.fill("input[name=password1]", new_password)
        if page.locator("input[name=password2]").count():
            page.fill("input[name=password2]", new_password)
        page.get_by_role("button", name="Save the new password").click()
        expect_consent_page(page, app)
        allow(page)
        assert arrive(page, app)["email"] == FORGETFUL
        watch.check()

    def later_visit(page: Page) -> None:
        page.goto(app.authorization_url())
        sign_in(page, FORGETFUL, new_password)
        arrive(page, app)

    browser.visit(steps)
    browser.visit(later_visit)


def test_back_buttons_and_double_clicks_do_no_harm(app: App, browser: Chromium) -> None:
    def steps(page: Page) -> None:
        watch = Watch(page.context)
        page.goto(f"{app.origin}/")
        page.goto(app.authorization_url())
        sign_in(page, HASTY)
        expect_consent_page(page, app)
        page.go_back()  # to the sign-in page, which sends signed-in people on
        expect_consent_page(page, app)
        page.go_back()
        assert page.url == f"{app.origin}/"
        page.go_forward()
        expect_consent_page(page, app)
        page.reload()
        expect_consent_page(page, app)

        page.dblclick(ALLOW)
        # The second click may abort the navigation of the first one, for which `wait_for_url` would raise an error.
        expect(page).to_have_url(re.compile(f"^{re.escape(app.redirect_uri)}\\?"))
        page.wait_for_load_state("networkidle")
        answers = [app.answer()]
        while not app.answers.empty():
            answers.append(app.answer())
        # The browser shows the newest answer, and that one has to work, whichever click it came from.
        exchanged = [app.exchange(answer["code"]).status_code for answer in answers]
        assert exchanged[-1] == 200, answers
        assert exchanged.count(200) == 1, answers

        # Back to a question that is answered: the app gets a fresh code, which is as good as any.
        page.go_back()
        arrive(page, app)
        watch.check()

    browser.visit(steps)
