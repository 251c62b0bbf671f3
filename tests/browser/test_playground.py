"""The playground in a real browser, against a running service: forms, redirects and calls within the process."""

import json

import pytest
from playwright.sync_api import Page, expect

from tests.browser.steps import sign_in
from tests.browser.watch import Watch
from tests.clients.person import PASSWORD
from tests.services.chromium import Chromium
from tests.services.service import Service

pytestmark = [pytest.mark.browser, pytest.mark.slow]

DANA = "dana.plays@example.com"


@pytest.mark.parametrize("scripts", [True, False])
def test_a_developer_follows_a_sign_in_in_the_playground(
    live_service: Service, browser: Chromium, scripts: bool
) -> None:
    client = {"name": f"Played {scripts}", "type": "web", "redirect_uris": ["https://app.example.com/cb"]}
    declared = live_service.provision(
        people=[{"email": DANA, "password": PASSWORD, "given_name": "Dana"}],
        projects=[{"name": f"Played {scripts}", "owner": DANA, "clients": [client]}],
    )
    project = declared["projects"][0]
    made = project["clients"][0]
    path = f"{live_service.address}/console/p/{project['id']}/clients/{made['client_id']}/playground"

    def steps(page: Page) -> None:
        watch = Watch(page.context)
        page.goto(path)
        sign_in(page, DANA, PASSWORD)
        page.goto(path)
        page.get_by_role("button", name="Add the playground’s URL").click()
        page.get_by_label("offline_access").check()
        page.get_by_role("button", name="Create the request").click()
        page.get_by_role("link", name="Open the URL and sign in").click()
        page.click("button[value=allow]")
        page.wait_for_url(path)
        page.get_by_role("button", name="Exchange the code").click()
        expect(page.get_by_role("heading", name="Refresh token")).to_be_visible()
        page.get_by_role("button", name="Refresh the tokens").click()
        expect(page.get_by_role("heading", name="The refresh", exact=True)).to_be_visible()
        said = page.locator("#call-1-answer").inner_text()
        assert json.loads(said[said.index("{") :])["email"] == DANA
        expect(page.get_by_text("fails", exact=True)).to_have_count(0)
        page.get_by_role("button", name="End this test").click()
        expect(page.get_by_text("The test has ended")).to_be_visible()
        watch.check()

    browser.visit(steps, java_script_enabled=scripts)
