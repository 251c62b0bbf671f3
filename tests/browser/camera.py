"""Check pages in every width and color scheme: nothing scrolls sideways, and axe-core finds no violations."""

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from playwright.sync_api import Page, expect

from tests.browser.watch import Watch

WIDE, NARROW = 1280, 360
WIDTHS = (WIDE, 900, 768, NARROW)
HEIGHT = 800
REST_SECONDS = 5
Scheme = Literal["light", "dark"]
SCHEMES: tuple[Scheme, ...] = ("light", "dark")
# The scheme in which axe-core checks each width. Two checks are enough: widths differ in layout, and schemes in colors.
CHECKED: dict[int, Scheme] = {WIDE: "light", NARROW: "dark"}
# The admin's theme only reads the scheme when a page loads, and the response to a form can't be loaded again.
DRESS = """dark => document.querySelector("html[x-bind=themeBindings]")?.classList.toggle("dark", dark)"""
SIDEWAYS = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
# The rules of WCAG 2.2 AA, and the best practices of axe-core. Frames are not checked: they contain mails, where no
# script can run.
AXE_RUN = """
async () => {
  const found = await axe.run(document, {
    runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    resultTypes: ["violations"],
    iframes: false,
  });
  return found.violations.map((rule) => ({
    rule: rule.id, help: rule.help, places: rule.nodes.map((node) => `${node.target} ${node.failureSummary}`),
  }));
}
"""


@dataclass
class Camera:
    """Checks the open page. It takes screenshots if the variable SCREENSHOTS names a folder for them."""

    page: Page
    watch: Watch
    axe: str  # axe-core's source

    def take(self, name: str, checks: Mapping[int, Scheme] = CHECKED) -> None:
        """Check the open page in every width; axe-core checks it in the widths and schemes of `checks`."""
        self.page.wait_for_load_state()
        expect(self.page.locator("h1")).to_have_count(1)
        folder = os.environ.get("SCREENSHOTS")
        for width in WIDTHS:
            checked = checks.get(width)
            self.page.set_viewport_size({"width": width, "height": HEIGHT})
            assert self.fits(), f"{name} scrolls sideways at {width} px"
            for scheme in SCHEMES if folder else (checked,) if checked else ():
                self.page.emulate_media(color_scheme=scheme)
                self.page.evaluate(DRESS, scheme == "dark")
                if folder:
                    self.page.screenshot(path=Path(folder) / f"{name}-{width}-{scheme}.png", full_page=True)
                if scheme == checked:
                    self.check_access(f"{name} at {width} px, {scheme}")
        self.page.set_viewport_size({"width": WIDE, "height": HEIGHT})
        self.page.emulate_media(color_scheme=SCHEMES[0])
        self.page.evaluate(DRESS, arg=False)
        self.watch.check()

    def fits(self) -> bool:
        """Return whether the page does not scroll sideways. Its scripts and fonts have some seconds to finish."""
        deadline = time.monotonic() + REST_SECONDS
        while self.page.evaluate(SIDEWAYS) > 0:
            if time.monotonic() > deadline:
                return False
            self.page.wait_for_timeout(50)
        return True

    def check_access(self, name: str) -> None:
        """Check the page with axe-core. Playwright injects the script, so the page's policy does not block it."""
        if not self.page.evaluate("typeof axe !== 'undefined'"):
            self.page.evaluate(self.axe)
        violations: list[Any] = self.page.evaluate(AXE_RUN)
        assert not violations, f"{name}:\n" + "\n".join(
            f"{each['rule']}: {each['help']}\n  " + "\n  ".join(each["places"]) for each in violations
        )

    def visit(self, url: str, name: str, checks: Mapping[int, Scheme] = CHECKED) -> None:
        """Go to a page and check it."""
        self.page.goto(url)
        self.take(name, checks)
