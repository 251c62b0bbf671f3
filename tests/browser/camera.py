"""Looks at pages: in every width and scheme nothing scrolls sideways, and axe-core finds nothing to fix."""

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
# The scheme in which axe-core checks each width. Widths differ in layout and schemes in colour: two checks cover both.
CHECKED: dict[int, Scheme] = {WIDE: "light", NARROW: "dark"}
# The admin's theme asks for the scheme only while it loads, and a page that answers a form can't be loaded again.
DRESS = """dark => document.querySelector("html[x-bind=themeBindings]")?.classList.toggle("dark", dark)"""
SIDEWAYS = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
# WCAG 2.2 AA, and what the makers of axe-core count as good practice besides. Frames hold mails, in which no script
# runs.
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
    """Looks at the page that is open now. SCREENSHOTS names a folder for its pictures; without it none are made."""

    page: Page
    watch: Watch
    axe: str  # axe-core's source

    def take(self, name: str, checks: Mapping[int, Scheme] = CHECKED) -> None:
        """Look at the open page in every width and scheme; axe-core looks at it in those of `checks`."""
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
        """Tell whether nothing scrolls sideways, once the page's scripts and fonts have come to rest."""
        deadline = time.monotonic() + REST_SECONDS
        while self.page.evaluate(SIDEWAYS) > 0:
            if time.monotonic() > deadline:
                return False
            self.page.wait_for_timeout(50)
        return True

    def check_access(self, name: str) -> None:
        """Have axe-core look at the page as it is. Its script comes from outside the page, so no policy forbids it."""
        if not self.page.evaluate("typeof axe !== 'undefined'"):
            self.page.evaluate(self.axe)
        violations: list[Any] = self.page.evaluate(AXE_RUN)
        assert not violations, f"{name}:\n" + "\n".join(
            f"{each['rule']}: {each['help']}\n  " + "\n  ".join(each["places"]) for each in violations
        )

    def visit(self, url: str, name: str, checks: Mapping[int, Scheme] = CHECKED) -> None:
        """Go to a page and look at it."""
        self.page.goto(url)
        self.take(name, checks)
