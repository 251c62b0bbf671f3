"""The watch that the journeys rely on sees what it is there for."""

import pytest
from playwright.sync_api import Page

from tests.browser.watch import Watch
from tests.services.chromium import Chromium
from tests.services.service import Service

pytestmark = pytest.mark.browser


def test_the_page_checks_report_violations_and_script_errors(live_service: Service, browser: Chromium) -> None:
    def steps(page: Page) -> list[str]:
        watch = Watch(page.context)
        page.goto(f"{live_service.address}/account/login/")
        page.evaluate("document.body.setAttribute('style', 'color: red')")
        page.evaluate("setTimeout(() => { throw new Error('a fault of ours') })")
        page.wait_for_timeout(100)
        page.goto(f"{live_service.address}/no/such/page")
        with pytest.raises(AssertionError):
            watch.check()
        return watch.faults

    faults = browser.visit(steps)
    for part in ("policy violated: style-src-attr", "script: a fault of ours", "404: GET"):
        assert any(part in fault for fault in faults), faults
